"""Command lines and blocks that no test can run in seconds, and why; they are parsed."""

from __future__ import annotations

# By a regular expression that finds the line, or text of a block.
UNRUN = {
    # A device or a host that is not here.
    r"frontrunner tune .*--target (gfx942|sm_80|adreno|vulkan)\b(?!.*--compile-only)": "a GPU",
    r"frontrunner tune .*--target adreno --compile-only": "slow; tests/search/vulkan compiles it",
    r"frontrunner tune-model .*--target gfx942": "a GPU",
    r"frontrunner bundle ingest my.bundle": "what a GPU measured",
    r"frontrunner bundle pack .*--target sm_80": "is for a GPU; that of the CPU is run",
    r"python my.bundle": "a GPU",
    r"frontrunner .*--cluster (host|\d+\.\d+\.\d+\.\d+):8786": "hosts; tests/benchmarks/cluster",
    r"frontrunner worker ": "serves until it is ended; tests/benchmarks/cluster",
    # Until somebody ends them.
    r"frontrunner watch ": "serves until it is ended; tests/experiments/watching",
    r"frontrunner ui": "serves until it is ended; tests/experiments/observing/test_registry",
    r"frontrunner calibrate ": "minutes; tests/experiments/calibrating",
    # Minutes, whatever the options.
    r"frontrunner tune-model ": "minutes; tests/experiments/network_tuning",
    r"iree-compile my_model.mlir @runs": "what tune-model leaves",
    # What one sets up for oneself.
    r"^(uvx|pipx|pip) (.* frontrunner\b|install \.$)": "tests/test_wheel installs the wheel",
    r"frontrunner completion ": "writes where the shell looks; tests/cli/test_completion",
    r"frontrunner .*(--register|models:/)": "a registry; tests/experiments/observing/test_registry",
    r"frontrunner leaderboard": "minutes; tests/experiments/leaderboard",
    # Other people's programs and files.
    r"frontrunner (train|evaluate) (convolution|catbench|spmm)": "files that are elsewhere",
    r"frontrunner evaluate data.csv": "a table of the reader's; tests/cli/test_evaluate",
    r"^(git|mkdir|for|cp|done|cd|npm) ?": "fetches or lays out other people's files",
    r"python -m (dispatch_tuner|model_tuner)": "another program",
    r"import torch": "torch, which tests do without; tests/experiments/importing",
    r'ranker_checks\("mine"': "a ranker of the reader's; that of examples/ranker_plugin is checked",
}
