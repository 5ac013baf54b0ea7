"""What any program needs: errors, files, limits, child processes, lazy imports.

It knows nothing of tuning, imports nothing else of the package, and needs only Python 3.10 (the
pool of child processes also joblib): bundles carry it.
"""

from typing import TYPE_CHECKING

from .lazy import exports

if TYPE_CHECKING:
    from .child_pool import ChildPool
    from .children import CHILD_FAILED, Child, ChildDied, ChildKilled, ChildTimeout
    from .decoding import LARGEST, decode, in_words
    from .errors import (
        CompilerCrashedError,
        FrontrunnerError,
        InputError,
        KilledError,
        NotTunableError,
        UnknownTargetError,
        WorkError,
        first_line,
        shorten,
    )
    from .files import (
        RUNS,
        check_inside,
        check_own,
        make_folder,
        new_folder,
        only_process,
        place_folder,
        read_json,
        read_text_file,
        readable,
        remove_drafts,
        write_whole,
    )
    from .json_lines import KEEP_VALID, LineFile, parse_lines
    from .limits import (
        DEFAULT_MAX_BYTES,
        TooLarge,
        check_cells,
        check_file,
        check_regular,
        gunzip,
        limited,
        max_bytes,
        open_zip,
        parse_json,
        parse_size,
        read_limited,
        remedy_for,
        size_text,
        unzip,
    )
    from .machine import describe_kill, free_memory, physical_cores, usable_cores
    from .plug_ins import brought_by, load_plug_in
    from .temporary import check_room, in_temporary_folder, temporary_folder
    from .threads import in_threads
    from .tools import run_tool
    from .versions import iree_versions
else:
    __getattr__ = exports(__name__)

__all__ = [
    "CHILD_FAILED",
    "DEFAULT_MAX_BYTES",
    "KEEP_VALID",
    "LARGEST",
    "RUNS",
    "Child",
    "ChildDied",
    "ChildKilled",
    "ChildPool",
    "ChildTimeout",
    "CompilerCrashedError",
    "FrontrunnerError",
    "InputError",
    "KilledError",
    "LineFile",
    "NotTunableError",
    "TooLarge",
    "UnknownTargetError",
    "WorkError",
    "brought_by",
    "check_cells",
    "check_file",
    "check_inside",
    "check_own",
    "check_regular",
    "check_room",
    "decode",
    "describe_kill",
    "first_line",
    "free_memory",
    "gunzip",
    "in_temporary_folder",
    "in_threads",
    "in_words",
    "iree_versions",
    "limited",
    "load_plug_in",
    "make_folder",
    "max_bytes",
    "new_folder",
    "only_process",
    "open_zip",
    "parse_json",
    "parse_lines",
    "parse_size",
    "physical_cores",
    "place_folder",
    "read_json",
    "read_limited",
    "read_text_file",
    "readable",
    "remedy_for",
    "remove_drafts",
    "run_tool",
    "shorten",
    "size_text",
    "temporary_folder",
    "unzip",
    "usable_cores",
    "write_whole",
]
