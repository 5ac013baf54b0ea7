"""What is fuzzed: files of each kind, how they are changed, and the commands that open them."""

from __future__ import annotations

from dataclasses import dataclass

from .changes import (
    ANY,
    ANY_FOLDER,
    ANY_LINES,
    ANY_MLIR,
    ANY_TABLE,
    ANY_ZIP,
    IMPOSSIBLE,
    INSIDE,
    RESULT,
    RESULTS,
    TRAPS_MLIR,
    TRAPS_SPEC,
    Edit,
    change_cell,
    change_gzipped,
    change_json,
    change_npy,
    change_onnx,
    change_safetensors,
    double_line,
    drop_column,
    drop_line,
    every_number,
    number,
    of,
    trap_json,
    trap_text,
    without_a_knob,
)
from .changes import be_a_bomb as unpack_to_much
from .stock import RECORD


@dataclass(frozen=True)
class Command:
    """A command line.

    Attributes:
        writes: entries of the working folder that it may make or change; MLflow's are among them.
        rows: whether exit code 1 stands for rows that failed, and needs no error.
    """

    line: str
    writes: tuple[str, ...] = ()
    rows: bool = False


@dataclass(frozen=True)
class Way:
    """A file or folder of the stock that is changed in one of some ways, and then opened.

    Attributes:
        files: of the stock, which the command needs.
        target: what is changed, within them, as a pattern that matches something.
        weight: how often it is drawn, as a share.
    """

    files: tuple[str, ...]
    target: str
    edits: tuple[Edit, ...]
    commands: tuple[Command, ...]
    weight: float = 1.0


_JSON = of(*[change_json] * 5, *[trap_json] * 2, *ANY[:5])
_LINES = of(*ANY_LINES, *ANY[:4], *IMPOSSIBLE)
_PROFILE_LINES = of(*ANY_LINES, *ANY[:4])
_RESULTS = of(*ANY_LINES, *ANY[:4], *IMPOSSIBLE, *RESULTS)
_TABLE = of(*ANY_TABLE, *ANY[:6])
_QUEUE = (*_TABLE, *of(*[without_a_knob] * 2))
_RESULT = (*_JSON, *of(*RESULT * 2))
_MLIR = of(*ANY_MLIR, *TRAPS_MLIR)
_SPEC = of(*ANY_MLIR, *TRAPS_SPEC, *TRAPS_SPEC)
_ZIP = of(*ANY_ZIP, *ANY[:5])
_FOREIGN = of(*[change_json] * 6, trap_json, *ANY)
_FOREIGN_GZ = of(change_gzipped)
_BUNDLE = (*INSIDE, *INSIDE, *_ZIP, *of(*[unpack_to_much] * 2))
_ANY = of(*ANY)
_TEXT = of(*[number] * 3, every_number, drop_line, double_line, trap_text, trap_text, *ANY)
_CELLS = of(*[change_cell] * 8, drop_column, double_line, drop_line, number, *ANY)
_TRACKED = ("mlflow.db", "mlruns")


def _resume(folder: str) -> Command:
    return Command(f"tune --resume {folder}", (folder, *_TRACKED))


def _resume_model(folder: str) -> Command:
    return Command(f"tune-model --resume {folder}", (folder, *_TRACKED))


_TUNE_COMPILE = "tune {} --compile-only --budget 1 --pool 6 --out tuned"
_PROFILE = Command("profile generated --providers none", ("generated",), rows=True)
_EVALUATE = "evaluate {} --no-mlflow --out evaluated --rankers {}"
_TRAIN = "train {} --ranker forest --set trees=3 --out trained.predictor"


def _folder(name: str, files: dict[str, tuple[Edit, ...]], *commands: Command) -> tuple[Way, ...]:
    """Any file of a folder, or the folder itself."""
    ways = [Way((name,), f"{name}/{file}", edits, commands) for file, edits in files.items()]
    return (*ways, Way((name,), name, ANY_FOLDER, commands, 2.0))


def _parts(folder: str, file: str, edits: tuple[Edit, ...], weight: float = 1.0) -> Way:
    command = _resume_model if folder.startswith("model") else _resume
    return Way((folder,), f"{folder}/{file}", edits, (command(folder),), weight)


def _recorded(file: str, edits: tuple[Edit, ...], rankers: str, weight: float = 1.0) -> Way:
    trained = Command(_TRAIN.format(file), ("trained.predictor",))
    evaluated = Command(_EVALUATE.format(file, rankers), ("evaluated",))
    first = Command(f"explain {file} --ranker heuristic") if rankers == "heuristic" else trained
    return Way((file,), file, edits, (first, trained, trained, evaluated), weight)


def _table(changed: str, edits: tuple[Edit, ...]) -> Way:
    """A table and what its columns are, of which one is changed."""
    files = ("table.csv", "map.toml")
    given = "table.csv --columns map.toml"
    trained = Command(_TRAIN.format(given), ("trained.predictor",))
    evaluated = Command(_EVALUATE.format(given, "genetic"), ("evaluated",))
    return Way(files, changed, edits, (trained, trained, evaluated))


_RUN_FILES = {"run.json": _JSON, "source.mlir": _MLIR}
_BUNDLED = ("mm.bundle", "results.jsonl")
_INGEST = Command("bundle ingest mm.bundle results.jsonl --out ingested", ("ingested",))
_INGEST_RECORDING = Command(
    "bundle ingest mm.bundle results.jsonl --out ingested.parquet", ("ingested.parquet",)
)
_RUN_ON = Command("bundle run mm.bundle --out results.jsonl", ("results.jsonl",))
_RUN_ANEW = Command("bundle run mm.bundle --out fresh.jsonl --budget 1", ("fresh.jsonl",))


def _predicted(file: str) -> tuple[Way, ...]:
    files = (file, "mm.parquet", "mm.mlir")
    commands = (
        Command(f"explain mm.parquet --ranker {file}"),
        Command(f"explain mm.parquet --ranker {file}"),
        Command(f"explain mm.mlir --pool 6 --ranker {file}"),
        Command(_EVALUATE.format("mm.parquet", f"heuristic,{file}"), ("evaluated",)),
        Command(_TUNE_COMPILE.format(f"mm.mlir --ranker {file}"), ("tuned", *_TRACKED)),
    )
    return (Way(files, file, _ZIP, commands),)


def _dispatched(file: str, edits: tuple[Edit, ...]) -> tuple[Way, ...]:
    quick = (Command(f"space {file}"), Command(f"explain {file} --pool 6 --ranker heuristic"))
    tuned = Command(_TUNE_COMPILE.format(file), ("tuned", *_TRACKED))
    model = Command(f"tune-model {file} --minutes 0.01 --out tuned", ("tuned", *_TRACKED))
    return (
        Way((file,), file, edits, quick, 3.0),
        Way((file,), file, edits, (tuned,)),
        Way((file,), file, edits, (model,), 0.5),
    )


_LINK = Command("link spec.mlir")
_LINK_TWO = Command("link other.mlir spec.mlir --out linked.mlir", ("linked.mlir",))
_LINK_MODEL = Command("link spec.mlir --model mm.mlir")
_SPEC_MODEL = Command(
    "tune-model mm.mlir --spec spec.mlir --minutes 0.01 --out tuned", ("tuned", *_TRACKED)
)
_SPECS = ("spec.mlir", "other.mlir", "mm.mlir")
_GENERATE = Command(
    "generate matmul --m 32 --n 64 --k 64 --configurations 1 --out generated", ("generated",)
)
_GENERATE_ANEW = Command(_GENERATE.line + " --force", ("generated",))
_ONNX = Command("tune-model model.onnx --minutes 0.01 --out tuned", ("tuned", *_TRACKED))

_BEGUN = ("mm.mlir", "recording")
_WORK = "recording/.mm.work"
_RECORD_ON = Command(f"{RECORD} --out recording", ("recording",))
_COMMANDS = Command("generate all --from-commands commands.txt --out made", ("made",))
_GIVEN = Command(
    "tune-model mm.mlir --input @a.npy --input @b.npy --minutes 0.01 --out tuned",
    ("tuned", *_TRACKED),
)
_WEIGHTS = Command(
    "tune-model weighted.mlir --parameters model=w.safetensors --minutes 0.01 --out tuned",
    ("tuned", *_TRACKED),
)

KINDS: dict[str, tuple[Way, ...]] = {
    "tuning": (
        *_folder("run", _RUN_FILES, _resume("run")),
        *_folder("begun", _RUN_FILES, _resume("begun")),
    ),
    "compile-only": _folder("uncompiled", _RUN_FILES, _resume("uncompiled")),
    "model": (
        *_folder("model", {"model.json": _JSON, "plan.json": _JSON}, _resume_model("model")),
        *_folder(
            "model-begun",
            {"model.json": _JSON, "plan.json": _JSON, "runs/*/run.json": _JSON},
            _resume_model("model-begun"),
        ),
    ),
    "log": (
        _parts("run", "outcomes.jsonl", _LINES, 2.0),
        _parts("begun", "outcomes.jsonl", _LINES),
        _parts("uncompiled", "outcomes.jsonl", _PROFILE_LINES),
    ),
    "queue": (
        _parts("run", "queue.parquet", _QUEUE),
        _parts("uncompiled", "queue.parquet", _QUEUE, 2.0),
        _parts("begun", "queue.parquet", _QUEUE, 0.5),
    ),
    "result": (
        _parts("run", "result.json", _RESULT, 2.0),
        _parts("compiled", "result.json", _JSON),
        _parts("model", "result.json", _JSON),
        _parts("model-begun", "runs/*/result.json", _RESULT, 0.5),
    ),
    "spec": (
        Way(_SPECS, "spec.mlir", _SPEC, (_LINK, _LINK_TWO, _LINK_MODEL, _LINK_MODEL), 4.0),
        Way(_SPECS, "spec.mlir", _SPEC, (_SPEC_MODEL,), 0.7),
        Way(("generated",), "generated/*/*.spec.mlir", _SPEC, (_PROFILE,)),
    ),
    "dispatch": _dispatched("mm.mlir", _MLIR),
    "recording": (
        _recorded("mm.parquet", _TABLE, "heuristic"),
        Way(
            ("mm.mlir", "recordings"),
            "recordings/mm.parquet",
            _TABLE,
            (Command(f"{RECORD} --out recordings --format t4", ("recordings",)),),
            0.3,
        ),
        Way(_BEGUN, f"{_WORK}/chosen.parquet", _QUEUE, (_RECORD_ON,), 0.4),
        Way(_BEGUN, f"{_WORK}/candidates.bundle", _BUNDLE, (_RECORD_ON,), 0.4),
        Way(_BEGUN, f"{_WORK}/results.jsonl", _RESULTS, (_RECORD_ON,), 0.2),
        Way(_BEGUN, f"{_WORK}/compile_s.json", _JSON, (_RECORD_ON,), 0.2),
        Way(_BEGUN, "recording", ANY_FOLDER, (_RECORD_ON,), 0.2),
    ),
    "t4": (
        _recorded("mm.t4.json", _FOREIGN, "genetic"),
        _recorded("mm.t4.json.gz", _FOREIGN_GZ, "genetic"),
    ),
    "cache": (_recorded("cache.json", _FOREIGN, "genetic"),),
    "table": (
        _table("table.csv", _CELLS),
        _table("map.toml", _TEXT),
        _recorded("spmm_2630.csv", _CELLS, "genetic"),
        _recorded("2080-add_output.csv", _CELLS, "genetic"),
    ),
    "ktt": (_recorded("ktt.json", _FOREIGN, "genetic"),),
    "predictor": (*_predicted("shipped.predictor"), *_predicted("forest.predictor")),
    "bundle": (
        Way(_BUNDLED, "mm.bundle", _BUNDLE, (_INGEST, _INGEST, _INGEST_RECORDING, _RUN_ON), 4.0),
        Way(_BUNDLED, "mm.bundle", _BUNDLE, (_RUN_ANEW,)),
    ),
    "results": (
        Way(_BUNDLED, "results.jsonl", _RESULTS, (_INGEST, _INGEST_RECORDING, _RUN_ON)),
    ),
    "generated": (
        Way(("generated",), "generated/*/operation.json", _JSON, (_PROFILE, _GENERATE)),
        Way(("generated",), "generated/*/configurations.json", _JSON, (_PROFILE, _GENERATE)),
        Way(("generated",), "generated/*/matmul*.mlir", _MLIR, (_PROFILE, _GENERATE)),
        Way(("generated",), "generated", ANY_FOLDER, (_PROFILE, _GENERATE, _GENERATE_ANEW), 2.0),
    ),
    "profile-log": (
        Way(("generated",), "generated/profile.jsonl", _PROFILE_LINES, (_PROFILE,), 3.0),
        Way(("generated",), "generated/profile.parquet", _ANY, (_PROFILE,), 0.5),
    ),
    "commands": (Way(("commands.txt",), "commands.txt", _TEXT, (_COMMANDS,)),),
    "weights": (
        Way(("mm.mlir", "a.npy", "b.npy"), "a.npy", of(change_npy), (_GIVEN,)),
        Way(("weighted.mlir", "w.safetensors"), "w.safetensors", of(change_safetensors),
            (_WEIGHTS,)),
    ),
    "onnx": (Way(("model.onnx",), "model.onnx", of(change_onnx), (_ONNX,)),),
}  # fmt: skip
