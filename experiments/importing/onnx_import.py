"""Models that come as ONNX: imported by the compiler's own tool, weights into an archive."""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from ...benchmarks.networks import Archives
from ...core import (
    ChildTimeout,
    InputError,
    KilledError,
    check_file,
    describe_kill,
    extra_hint,
    last_line,
    run_tool,
)

IMPORTER = "iree.compiler.tools.import_onnx"
TIMEOUT = 1800.0
# That the importer gives to weights.
SCOPE = "model"


@contextmanager
def as_mlir(model: Path, archives: Archives) -> Iterator[tuple[Path, Archives]]:
    """A model as MLIR, and all its archives; the files of an import last as long as this.

    Args:
        archives: that its weights are in, beside those that an ONNX model holds.

    Raises:
        InputError: it is not an ONNX model, or the extra is not installed.
        KilledError: the importer was killed from outside.
    """
    if model.suffix.lower() != ".onnx":
        yield model, archives
        return
    if find_spec("onnx") is None:
        raise InputError(f"{model} needs onnx", extra_hint("onnx"))
    # Importing takes five times as much memory.
    check_file(model, "give an ONNX model")
    with tempfile.TemporaryDirectory() as name:
        mlir, weights = Path(name) / "model.mlir", Path(name) / "model.irpa"
        line = [
            # -P: the current folder may hold modules of the names that it imports.
            # Absolute, for a name may begin as options do.
            *(sys.executable, "-P", "-m", IMPORTER, str(model.absolute()), "-o", str(mlir)),
            *("--externalize-params", f"--params-scope={SCOPE}", "--save-params-to", str(weights)),
        ]
        try:
            done = run_tool(line, TIMEOUT)
        except ChildTimeout:
            raise InputError(f"importing {model} took over {TIMEOUT:.0f} s") from None
        if done.code == -signal.SIGKILL:
            raise KilledError(f"importing {model} was {describe_kill()}")
        if done.code or not mlir.exists():
            last = last_line(done.err)
            raise InputError(
                f"{model} is not an ONNX model that can be imported: {last}",
                "see that iree-import-onnx takes it",
            )
        own = ((SCOPE, weights),) if weights.exists() else ()
        yield mlir, (*archives, *own)
