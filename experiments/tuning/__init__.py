"""Tuning runs on one dispatch: options, folder, session, finalists, result."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .api import resume, tune
    from .compile_result import CompileResult
    from .folder import RunFolder, read_run_files, run_files, unwritable_error, write_text
    from .journal import Journal, LoggedOutcomes, read_outcomes
    from .manifest import RunManifest, RunSetup, check_cluster, check_flags, version_mismatch
    from .options import MOST_CANDIDATES, TuneOptions, dispatch_name
    from .preparation import digest_of_file, notify_of, prepare, usual_ranker
    from .result import SPEC, TuneResult, expectation_comment
    from .runs import make_usual_runner, resume_run, start_run
    from .stages import Stage
    from .stored import StoredResult
else:
    __getattr__ = exports(__name__)

__all__ = [
    "MOST_CANDIDATES",
    "SPEC",
    "CompileResult",
    "Journal",
    "LoggedOutcomes",
    "RunFolder",
    "RunManifest",
    "RunSetup",
    "Stage",
    "StoredResult",
    "TuneOptions",
    "TuneResult",
    "check_cluster",
    "check_flags",
    "digest_of_file",
    "dispatch_name",
    "expectation_comment",
    "make_usual_runner",
    "notify_of",
    "prepare",
    "read_outcomes",
    "read_run_files",
    "resume",
    "resume_run",
    "run_files",
    "start_run",
    "tune",
    "unwritable_error",
    "usual_ranker",
    "version_mismatch",
    "write_text",
]
