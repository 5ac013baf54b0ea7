"""What makes command lines right but for one thing, and what is wrong with two things together."""

from __future__ import annotations

# Arguments and options that commands cannot do without.
NEEDED: dict[str, tuple[str, ...]] = {
    "tune": ("good.mlir",),
    "tune-model": ("good.mlir",),
    "space": ("good.mlir",),
    "link": ("spec.mlir",),
    "record": ("good.mlir", "--out", "recordings"),
    "train": ("recording.parquet", "--out", "new.predictor"),
    "calibrate": ("--out", "new.predictor"),
    "insights": ("recording.parquet",),
    "explain": ("good.mlir",),
    "evaluate": ("recording.parquet",),
    "report": ("recording.parquet",),
    "watch": ("recording.parquet",),
    "profile": ("dispatches",),
    "devices": ("--cluster", "127.0.0.1:1"),
    "bundle pack": ("good.mlir", "--out", "new.bundle"),
    "bundle run": ("old.bundle",),
    "bundle ingest": ("old.bundle", "results.jsonl", "--out", "new"),
    "fuzz": ("good.mlir",),
    "completion": ("bash",),
    "generate matmul": ("--m", "8", "--n", "8", "--k", "8", "--out", "sweep"),
    "generate batch_matmul": ("--batch", "2", "--m", "8", "--n", "8", "--k", "8", "--out", "sweep"),
    "generate splitk": ("--m", "8", "--n", "8", "--k", "8", "--out", "sweep"),
    "generate fused": ("--m", "8", "--n", "8", "--k", "8", "--out", "sweep"),
    "generate conv": (
        "--height", "8", "--channels", "8", "--filters", "8", "--out", "sweep",
    ),
    "generate attention": (
        "--heads", "2", "--queries", "8", "--head-dim", "8", "--out", "sweep",
    ),
    "generate all": ("--preset", "bert", "--out", "sweep"),
}  # fmt: skip
# The word among these that names what is read.
PLAUSIBLE = {name: words[0] for name, words in NEEDED.items() if not words[0].startswith("-")}
_TARGETS = ("--target no_such_cpu", "--target sm_nine", "--iree-flag=--no-such-flag")
_RANKERS = ("--ranker no_such_ranker", "--ranker models:/", "--ranker existing.txt")
# Options with words that nothing answers to.
BAD_WORDS: dict[str, tuple[str, ...]] = {
    "tune": (
        *_TARGETS, *_RANKERS, "--device no_such_device", "--pipeline NoSuchPipeline",
        "--extra no_such_knob", "--stages existing.txt", "--function no_such_function",
        "--resume folder", "--resume no_such_run", "--ranker lightgbm",
    ),
    "tune-model": (
        *_TARGETS, *_RANKERS, "--device no_such_device", "--parameters no_such_archive",
        "--options existing.txt", "--resume folder", "--input 3xq9", "--spec existing.txt",
    ),
    "space": (*_TARGETS, "--pipeline NoSuchPipeline", "--extra no_such_knob", "--out x.csv"),
    "explain": (*_RANKERS, "--target no_such_cpu", "--set no_such_knob=3", "--set nothing"),
    "record": (
        *_TARGETS, "--rankers no_such_ranker", "--rankers models:/x", "--device no_such_device",
        "--function no_such_function", "--extra no_such_knob",
    ),
    "calibrate": ("--target no_such_cpu", "--device no_such_device"),
    "evaluate": ("--rankers no_such_ranker", "--rankers forest:no_such=3", "--rankers ,"),
    "train": ("--ranker no_such_ranker", "--ranker heuristic", "--set no_such=3"),
    "profile": ("--providers no_such_library", "--dispatches (", "--out x.txt"),
    "bundle pack": (*_TARGETS, *_RANKERS, "--pipeline NoSuchPipeline"),
    "fuzz": ("--target no_such_cpu",),
    "worker": ("--join nonsense", "--device no_such_device --serve 127.0.0.1:0"),
    "rankers": ("--models existing.txt",),
    "generate matmul": ("--m 8:4:2", "--m 0", "--dtypes f99", "--fuse no_such_step"),
    "generate conv": ("--groups 3", "--window 0", "--stride x"),
    "generate attention": ("--heads -1", "--dtypes f32,f32,f32,f32"),
    "generate all": ("--preset no_such_model",),
}  # fmt: skip
# Options that cannot be meant together.
CONTRADICTIONS: dict[str, tuple[str, ...]] = {
    "tune": (
        "--compile-only --device local-task", "--compile-only --patience 3", "--keep-valid",
        "--compile-only --cluster 127.0.0.1:1", "--resume folder --ranker cpu",
        "--resume folder --seed 3", "good.mlir",
    ),
    "tune-model": ("--resume folder --minutes 3", "--resume folder --seed 3"),
    "explain": ("--candidate 1 --top 2", "--row 3", "--set vec_n=4 --set vec_n=8"),
    "link": ("--target host", "--default-specs", "--iree-flag=--x", "--dump folder"),
    "evaluate": ("--cluster 127.0.0.1:1 --jobs 2",),
    "train": ("--seed 3 --set seed=4",),
    "profile": ("--compile-only --device local-task", "--compile-only --providers numpy"),
    "record": ("good.mlir", "--rankers cpu --top 0"),
    "worker": ("", "--join 127.0.0.1:1 --serve 127.0.0.1:1"),
    "generate matmul": ("--preset bert", "--ranker cpu", "--pool 9"),
    "generate all": ("--from-commands existing.txt",),
}  # fmt: skip
# Whole command lines that would write where something else is.
OVERWRITES: dict[str, tuple[str, ...]] = {
    "tune": ("good.mlir --out full", "good.mlir --out existing.txt",
             "good.mlir --keep-failures full"),
    "tune-model": ("good.mlir --out full", "good.mlir --out existing.txt"),
    "space": ("good.mlir --out existing.parquet", "good.mlir --out folder"),
    "link": ("spec.mlir --out existing.txt", "spec.mlir --model good.mlir --dump full"),
    "record": ("good.mlir --out existing.txt",),
    "train": ("recording.parquet --out existing.txt", "recording.parquet --out folder"),
    "calibrate": ("--out existing.txt", "--out folder"),
    "evaluate": ("recording.parquet --out full",),
    "insights": ("recording.parquet --out existing.txt",),
    "report": ("recording.parquet --out existing.html", "recording.parquet --out folder"),
    "bundle pack": ("good.mlir --out existing.txt", "good.mlir --out folder"),
    "bundle run": ("old.bundle --out existing.txt", "old.bundle --out folder"),
    "bundle ingest": ("old.bundle results.jsonl --out full",
                      "old.bundle results.jsonl --out existing.parquet"),
    "fuzz": ("good.mlir --out full",),
    "generate matmul": ("--m 8 --n 8 --k 8 --out existing.txt",),
}  # fmt: skip
