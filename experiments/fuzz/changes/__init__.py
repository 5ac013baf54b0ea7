"""How files of each kind are changed."""

from typing import TYPE_CHECKING

from ....core.lazy import exports

if TYPE_CHECKING:
    from .arrays import change_npy, change_safetensors, make_npy, make_safetensors
    from .believed import RESULT, RESULTS, change_gzipped
    from .bundles import INSIDE
    from .cells import change_cell, drop_column
    from .edits import CannotEdit, Edit, of
    from .folders import ANY_FOLDER
    from .json import change_json, trap_json
    from .json_lines import ANY_LINES, IMPOSSIBLE
    from .mlir import ANY_MLIR, TRAPS_MLIR, TRAPS_SPEC, double_line, drop_line, every_number, number
    from .onnx import change_onnx, make_model
    from .raw import ANY, trap_text
    from .tables import ANY_TABLE, without_a_knob
    from .zips import ANY_ZIP, be_a_bomb
else:
    __getattr__ = exports(__name__)

__all__ = [
    "ANY",
    "ANY_FOLDER",
    "ANY_LINES",
    "ANY_MLIR",
    "ANY_TABLE",
    "ANY_ZIP",
    "IMPOSSIBLE",
    "INSIDE",
    "RESULT",
    "RESULTS",
    "TRAPS_MLIR",
    "TRAPS_SPEC",
    "CannotEdit",
    "Edit",
    "be_a_bomb",
    "change_cell",
    "change_gzipped",
    "change_json",
    "change_npy",
    "change_onnx",
    "change_safetensors",
    "double_line",
    "drop_column",
    "drop_line",
    "every_number",
    "make_model",
    "make_npy",
    "make_safetensors",
    "number",
    "of",
    "trap_json",
    "trap_text",
    "without_a_knob",
]
