"""Tuning runs on one dispatch: options, folder, session, finalists, result."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .folder import RunFiles, RunFolder, read_run_files, run_files, unwritable, write_text
    from .interrupted import RunInterrupted, resumable
    from .journal import Journal
    from .manifest import other_versions
    from .options import TuneOptions
    from .preparation import Prepared, digest_of_file, prepare
    from .result import SPEC, TuneResult, expectation
    from .runs import resume, tune
    from .stored import StoredResult
else:
    __getattr__ = exports(__name__)

__all__ = [
    "SPEC",
    "Journal",
    "Prepared",
    "RunFiles",
    "RunFolder",
    "RunInterrupted",
    "StoredResult",
    "TuneOptions",
    "TuneResult",
    "digest_of_file",
    "expectation",
    "other_versions",
    "prepare",
    "read_run_files",
    "resumable",
    "resume",
    "run_files",
    "tune",
    "unwritable",
    "write_text",
]
