"""What any program needs: errors, files, limits, child processes, lazy imports.

It knows nothing of tuning, imports nothing else of the package, and needs only Python 3.10 (the
pool of child processes also joblib): bundles carry it.
"""

from typing import TYPE_CHECKING

from .lazy import exports

if TYPE_CHECKING:
    from .child_pool import ChildPool
    from .children import (
        CHILD_FAILED,
        Child,
        ChildDied,
        ChildKilled,
        ChildTimeout,
        child_errors,
        started_ahead,
    )
    from .decoding import MAX_EXACT_INT, decode, describe_error, refusing_damage
    from .errors import (
        CompilerCrashedError,
        FrontrunnerError,
        InputError,
        KilledError,
        NoRoomError,
        Notify,
        NotTunableError,
        Progress,
        ResumableError,
        UnknownFlagError,
        UnknownTargetError,
        WorkError,
        first_line,
        shorten,
    )
    from .files import (
        RUNS_FOLDER,
        atomic_folder,
        check_inside,
        check_no_links,
        check_utf_8,
        escape_undecodable,
        is_full,
        is_utf_8,
        lock_folder,
        make_folder,
        make_output_folder,
        read_json,
        read_without_bom,
        remove_drafts,
        write_atomically,
        write_error,
    )
    from .json_lines import KEEP_VALID_HINT, JsonLinesFile, read_whole_lines
    from .limits import (
        CELL_BYTES,
        DEFAULT_MAX_BYTES,
        TooLarge,
        check_file,
        check_regular,
        check_table_size,
        format_size,
        gunzip,
        limit_bytes,
        max_bytes,
        open_zip,
        parse_json,
        parse_size,
        read_limited,
        remedy_for,
        unzip,
    )
    from .machine import (
        Load,
        allowed_cpus,
        describe_kill,
        free_memory,
        physical_cores,
        processor_name,
        usable_cores,
    )
    from .plug_ins import brought_by, entries_of, load_named_values, load_plug_in
    from .temporary import check_free_space, in_temporary_folder, temporary_folder
    from .threads import merge_in_threads
    from .tools import run_program, run_tool
    from .versions import installed_version, iree_versions
else:
    __getattr__ = exports(__name__)

__all__ = [
    "CELL_BYTES",
    "CHILD_FAILED",
    "DEFAULT_MAX_BYTES",
    "KEEP_VALID_HINT",
    "MAX_EXACT_INT",
    "RUNS_FOLDER",
    "Child",
    "ChildDied",
    "ChildKilled",
    "ChildPool",
    "ChildTimeout",
    "CompilerCrashedError",
    "FrontrunnerError",
    "InputError",
    "JsonLinesFile",
    "KilledError",
    "Load",
    "NoRoomError",
    "NotTunableError",
    "Notify",
    "Progress",
    "ResumableError",
    "TooLarge",
    "UnknownFlagError",
    "UnknownTargetError",
    "WorkError",
    "allowed_cpus",
    "atomic_folder",
    "brought_by",
    "check_file",
    "check_free_space",
    "check_inside",
    "check_no_links",
    "check_regular",
    "check_table_size",
    "check_utf_8",
    "child_errors",
    "decode",
    "describe_error",
    "describe_kill",
    "entries_of",
    "escape_undecodable",
    "first_line",
    "format_size",
    "free_memory",
    "gunzip",
    "in_temporary_folder",
    "installed_version",
    "iree_versions",
    "is_full",
    "is_utf_8",
    "limit_bytes",
    "load_named_values",
    "load_plug_in",
    "lock_folder",
    "make_folder",
    "make_output_folder",
    "max_bytes",
    "merge_in_threads",
    "open_zip",
    "parse_json",
    "parse_size",
    "physical_cores",
    "processor_name",
    "read_json",
    "read_limited",
    "read_whole_lines",
    "read_without_bom",
    "refusing_damage",
    "remedy_for",
    "remove_drafts",
    "run_program",
    "run_tool",
    "shorten",
    "started_ahead",
    "temporary_folder",
    "unzip",
    "usable_cores",
    "write_atomically",
    "write_error",
]
