"""Examples that `--help` ends with, by command. A test holds that they take these options."""

from __future__ import annotations

import click

EXAMPLES = {
    "tune": (
        "tune matmul.mlir --budget 64",
        "tune matmul.mlir conv.mlir --minutes 5 --out runs/both",
        "tune layers.mlir --function attention",
        "tune matmul.mlir --target gfx942 --compile-only",
        "tune --resume runs/matmul-1 --budget 128",
    ),
    "tune-model": (
        "tune-model model.mlir --parameters model=model.irpa",
        "tune-model model.onnx --input 1x128xi64=7 --minutes 30",
        "tune-model model.mlir --input 1xseqxi64 --dim seq=64,128",
        "tune-model --resume runs/model-1",
    ),
    "generate matmul": (
        "generate matmul --m 64:1024:128 --n 512 --k 512",
        "generate matmul --preset bert --dtypes f16,f16,f32",
    ),
    "generate batch_matmul": ("generate batch_matmul --batch 12 --m 128 --n 128 --k 64",),
    "generate splitk": ("generate splitk --m 16 --n 16 --k 8192 --split-k-slices 4,8",),
    "generate fused": ("generate fused --m 128 --n 768 --k 768 --fuse bias,gelu",),
    "generate conv": ("generate conv --height 56 --channels 64 --filters 64 --window 3",),
    "generate attention": ("generate attention --heads 12 --queries 128 --head-dim 64",),
    "generate all": ("generate all --preset bert,llama --out dispatches",),
    "profile": (
        "profile dispatches",
        "profile dispatches --dispatches matmul --out times.csv",
    ),
    "space": (
        "space matmul.mlir",
        "space matmul.mlir --target sm_80 --limit 5",
        "space matmul.mlir --out candidates.parquet",
    ),
    "rankers": ("rankers", "rankers --models predictors"),
    "link": (
        "link runs/a-1/spec.mlir runs/b-1/spec.mlir --out both.mlir",
        "link both.mlir --model model.mlir",
    ),
    "record": ("record dispatches/*/*.mlir --out recordings",),
    "train": (
        "train recordings --ranker lightgbm --out mine.predictor",
        "train recordings --out mine.predictor --register mine",
    ),
    "calibrate": ("calibrate --minutes 15 --out mine.predictor",),
    "insights": ("insights recordings --out pictures",),
    "explain": (
        "explain matmul.mlir --top 3",
        "explain matmul.mlir --ranker mine.predictor --set vec_n=16",
    ),
    "evaluate": (
        "evaluate recordings --rankers heuristic,lightgbm,cpu:prior=1.0",
        "evaluate recordings --rankers forest:trees=30 --holdout device",
    ),
    "leaderboard": (
        "leaderboard recordings",
        "leaderboard recordings --rankers lightgbm,kt_genetic --seeds 1",
    ),
    "report": ("report runs/matmul-1", "report runs/a-1 runs/b-1 --out both.html"),
    "watch": ("watch runs/matmul-1 --open",),
    "ui": ("ui", "ui --port 5001 --open"),
    "worker": (
        "worker --serve 127.0.0.1:8786 --device local-task --jobs 4",
        "worker --join 10.0.0.1:8786 --device hip://0",
    ),
    "devices": ("devices --cluster 127.0.0.1:8786",),
    "bundle pack": ("bundle pack matmul.mlir --target gfx942 --out matmul.bundle",),
    "bundle run": ("bundle run matmul.bundle --device hip://0 --out results.jsonl",),
    "bundle ingest": ("bundle ingest matmul.bundle results.jsonl --out runs/matmul-1",),
    "fuzz": ("fuzz matmul.mlir --target host --target gfx942 --minutes 10",),
    "doctor": ("doctor", "doctor --json"),
    "completion": (
        "completion zsh > ~/.zfunc/_frontrunner",
        "completion fish > ~/.config/fish/completions/frontrunner.fish",
    ),
}


def add_examples(name: str, command: click.Command) -> None:
    """Has `--help` of a command, or of those of a group, end with its examples."""
    if isinstance(command, click.Group):
        for inner, one in command.commands.items():
            add_examples(f"{name} {inner}", one)
    elif name in EXAMPLES:
        lines = "\n".join(f"  frontrunner {line}" for line in EXAMPLES[name])
        command.epilog = f"\b\nExamples:\n{lines}"
