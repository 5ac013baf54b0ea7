"""Exports small models of many architectures of `transformers`, and compares them with torch.

    python -m frontrunner.experiments.studies.architectures [NAME...]

Needs the extra `torch`. Prints a Markdown table: whether each compiles, and how far what it
computes is from what torch does.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from ...core import FrontrunnerError, WorkError, run_tool
from ...search.reading import read_network
from ..importing import export_module, transformers_module
from .command_line import run_study

_WIDTH, _HEADS, _LAYERS, _WORDS, _TOKENS = 384, 6, 3, 8000, 64
_USUAL = {"hidden_size": _WIDTH, "num_hidden_layers": _LAYERS, "num_attention_heads": _HEADS}
_BERT_LIKE = {**_USUAL, "vocab_size": _WORDS, "intermediate_size": 4 * _WIDTH}
_LLAMA_LIKE = {**_BERT_LIKE, "num_key_value_heads": 2, "use_cache": False}
_SHORT = {"vocab_size": _WORDS, "use_cache": False}
_BACKBONE = {"hidden_sizes": [64, 128], "depths": [1, 1], "layer_type": "basic"}

# By the prefix of its `Config`, and its task if it has a head for one: parameters, and the shape of
# its input; token ids if it is empty.
IMAGE, SOUND = (1, 3, 224, 224), (1, 16000)
ARCHITECTURES: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "Albert": (_BERT_LIKE, ()),
    "Beit": (_USUAL, IMAGE),
    "Bert": (_BERT_LIKE, ()),
    "BertForMaskedLM": (_BERT_LIKE, ()),
    "Bloom": ({**_SHORT, "hidden_size": _WIDTH, "n_layer": _LAYERS, "n_head": _HEADS}, ()),
    "CLIPText": (_BERT_LIKE, ()),
    "ConvNext": ({"depths": [1, 1, 2, 1]}, IMAGE),
    "DebertaV2": ({**_BERT_LIKE, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}, ()),
    "Dinov2": (_USUAL, IMAGE),
    "EfficientNet": (
        {"hidden_dim": 1280, "width_coefficient": 1.0, "depth_coefficient": 1.0},
        IMAGE,
    ),
    "Electra": ({"vocab_size": _WORDS, "num_hidden_layers": _LAYERS}, ()),
    "GPT2": ({**_SHORT, "n_embd": _WIDTH, "n_layer": _LAYERS, "n_head": _HEADS}, ()),
    "Gemma": ({**_LLAMA_LIKE, "head_dim": 64}, ()),
    "Gemma2ForCausalLM": ({**_LLAMA_LIKE, "head_dim": 64}, ()),
    "Levit": ({}, IMAGE),
    "LlamaForCausalLM": (_LLAMA_LIKE, ()),
    "Mamba": ({**_SHORT, "hidden_size": _WIDTH, "num_hidden_layers": _LAYERS}, ()),
    "Mistral": (_LLAMA_LIKE, ()),
    "MixtralForCausalLM": ({**_LLAMA_LIKE, "num_local_experts": 4}, ()),
    "MobileNetV2": ({}, IMAGE),
    "OPT": ({**_BERT_LIKE, "use_cache": False, "word_embed_proj_dim": _WIDTH}, ()),
    "OlmoForCausalLM": (_LLAMA_LIKE, ()),
    "Phi": ({**_BERT_LIKE, "use_cache": False}, ()),
    "PoolFormer": ({}, IMAGE),
    "Qwen2": (_LLAMA_LIKE, ()),
    "Qwen2Moe": ({**_LLAMA_LIKE, "num_experts": 4, "moe_intermediate_size": 512}, ()),
    "Qwen3ForCausalLM": ({**_LLAMA_LIKE, "head_dim": 64}, ()),
    "RegNet": ({"hidden_sizes": [32, 64, 128, 256], "depths": [1, 1, 2, 1]}, IMAGE),
    "ResNet": (_BACKBONE, IMAGE),
    "Roberta": (_BERT_LIKE, ()),
    "Segformer": ({}, IMAGE),
    "Swin": ({"embed_dim": 48, "depths": [1, 1, 2, 1], "num_heads": [2, 4, 8, 16]}, IMAGE),
    "ViTForImageClassification": (_USUAL, IMAGE),
    "Wav2Vec2": ({**_USUAL, "intermediate_size": 4 * _WIDTH}, SOUND),
}


def main(names: Sequence[str]) -> None:
    print("| architecture | |\n| --- | --- |")
    for name in names or ARCHITECTURES:
        with tempfile.TemporaryDirectory() as folder:
            print(f"| {name} | {_told(name, Path(folder))} |", flush=True)


def _told(name: str, folder: Path) -> str:
    """How far the compiled model is from torch, or what it fails with."""
    parameters, shape = ARCHITECTURES[name]
    architecture, *task = re.split("For(?=[A-Z])", name)
    config = getattr(transformers, f"{architecture}Config")(**parameters)
    module = transformers_module(config, task="".join(task))
    torch.manual_seed(1)
    example = torch.randn(shape) if shape else torch.randint(10, _WORDS, (1, _TOKENS))
    with torch.no_grad():
        expected = module(example).numpy()
    try:
        found = _computed(module, example, folder)
    except FrontrunnerError as failure:
        return f"fails: {failure!s:.160}"
    # With random weights, deep models may compute values so small that they are none.
    error, largest = np.abs(found - expected).max(), np.abs(expected).max()
    return f"differs by {error:.1e} at most; values up to {largest:.1e}"


def _computed(module: torch.nn.Module, example: torch.Tensor, folder: Path) -> Any:
    exported = export_module(module, [example], folder / "model.mlir")
    built, given, found = (folder / name for name in ("model.vmfb", "in.npy", "out.npy"))
    np.save(given, example.numpy())
    tools, target = Path(sys.executable).parent, read_network(exported.mlir).target
    _run(tools / "iree-compile", exported.mlir, *target.flags, "-o", built)
    _run(
        *(tools / "iree-run-module", "--device=local-task", "--function=main"),
        *(f"--module={built}", f"--parameters=model={exported.weights}"),
        *(f"--input=@{given}", f"--output=@{found}"),
    )
    return np.load(found)


def _run(*line: object) -> None:
    done = run_tool(line)
    if done.code:
        raise WorkError(done.err.strip().partition("\n")[0])


if __name__ == "__main__":
    run_study(main, __doc__)
