"""Files from others, mutated and opened: nothing may run, be written elsewhere or be believed.

    python -m frontrunner.experiments.fuzz --seed S --count N [--kinds a,b] [--keep DIR] [--jobs J]

| module | does |
| --- | --- |
| `stock` | makes one good file or folder of each kind |
| `kinds` | says what each kind is made of, how it is changed and which commands open it |
| `changes` | changes files: `edits`, `raw`, `json`, `json_lines`, `zips`, `tables`, `mlir`, ... |
| `traps` | texts that would write or execute, were they believed |
| `case` | makes the case of a seed and a number |
| `worker` | runs cases in processes forked from one in which all is imported |
| `sandbox` | runs one command under limits, and tells what it did |
| `judge` | tells what is wrong with that |"""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .stock import PRODUCT, make_cache
else:
    __getattr__ = exports(__name__)

__all__ = ["PRODUCT", "make_cache"]
