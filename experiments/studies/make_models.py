"""Makes the models that `make models` tunes: public architectures, with random weights.

    python -m frontrunner.experiments.studies.make_models OUT [NAME...]

Needs the extra `torch`. Writes OUT/<name>.mlir and OUT/<name>.irpa.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from transformers import (
    BertConfig,
    ConvNextConfig,
    EfficientNetConfig,
    LlamaConfig,
    MambaConfig,
    MobileNetV2Config,
    Qwen2Config,
    RegNetConfig,
    ResNetConfig,
    SegformerConfig,
    SwinConfig,
    ViTConfig,
    Wav2Vec2Config,
    WhisperConfig,
)

from ...core import InputError
from ..importing import export_module, transformers_module
from .command_line import NOTHING_TO_DO, run_study
from .torch_modules import Decoder, DecoderStep, Encoder, UnetBlock

IMAGE = (1, 3, 224, 224)


@dataclass(frozen=True)
class Network:
    """A module, and tensors of the shapes and types that it is called with.

    Attributes:
        dynamic_shapes: sizes that stay up to the caller, as `torch.export.export` takes them.
    """

    module: nn.Module
    inputs: Sequence[torch.Tensor]
    dynamic_shapes: object = None


def bert() -> Network:
    """A BERT-like encoder: 6 layers, 384 wide, 128 tokens (MiniLM's shape)."""
    config = BertConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
    )
    return Network(transformers_module(config), [torch.zeros(1, 128, dtype=torch.long)])


def bert_of_any_length() -> Network:
    """As `bert`, of 2 to 512 tokens."""
    made = bert()
    # The module takes any number of inputs: they are one argument.
    tokens = {1: torch.export.Dim("tokens", min=2, max=512)}
    return Network(made.module, made.inputs, ((tokens,),))


def vit() -> Network:
    """A vision transformer: 197 tokens, 12 layers, 384 wide (DeiT-small's shape)."""
    config = ViTConfig(
        hidden_size=384, num_hidden_layers=12, num_attention_heads=6, intermediate_size=1536
    )
    return Network(transformers_module(config), [torch.zeros(IMAGE)])


def resnet() -> Network:
    """ResNet-18 at 224."""
    config = ResNetConfig(
        embedding_size=64, hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2], layer_type="basic"
    )
    return Network(transformers_module(config), [torch.zeros(IMAGE)])


def mobilenet() -> Network:
    """MobileNetV2 at 224: depthwise and pointwise convolutions."""
    return Network(transformers_module(MobileNetV2Config()), [torch.zeros(IMAGE)])


def decoder() -> Network:
    """A GPT-2-like decoder's step: 12 layers, 768 wide, 255 tokens in its cache."""
    torch.manual_seed(0)
    layers, width, heads, past = 12, 768, 12, 255
    step = DecoderStep(layers, width, heads, 32000, past)
    cache = torch.zeros(layers, heads, past, width // heads)
    index = torch.zeros(1, 1, dtype=torch.long)
    return Network(step, [index, index, cache, cache])


def unet() -> Network:
    """A block of a diffusion UNet: 320 channels at 32 x 32, 77 words."""
    torch.manual_seed(0)
    block = UnetBlock(channels=320, time=1280, words=768, heads=8)
    inputs = [torch.zeros(1, 320, 32, 32), torch.zeros(1, 1280), torch.zeros(1, 77, 768)]
    return Network(block, inputs)


def whisper() -> Network:
    """Whisper-tiny's encoder: 4 layers, 384 wide, 1000 mel frames, which it halves."""
    torch.manual_seed(0)
    config = WhisperConfig(
        d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536,
        max_source_positions=500,
    )  # fmt: skip
    return Network(Encoder(config), [torch.zeros(1, 80, 1000)])


def convnext() -> Network:
    """A small ConvNeXt at 224: 2-2-4-2 blocks, 64 to 512 wide."""
    config = ConvNextConfig(depths=[2, 2, 4, 2], hidden_sizes=[64, 128, 256, 512])
    return Network(transformers_module(config), [torch.zeros(IMAGE)])


def regnet() -> Network:
    """A small RegNet at 224: grouped convolutions, 48 to 440 wide."""
    config = RegNetConfig(
        embedding_size=32, hidden_sizes=[48, 104, 208, 440], depths=[2, 4, 6, 2], groups_width=8
    )
    return Network(transformers_module(config), [torch.zeros(IMAGE)])


def llama() -> Network:
    """A small Llama over 96 tokens: 6 layers, 512 wide, eight heads of which four share a key."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=8000, hidden_size=512, intermediate_size=1408, num_hidden_layers=6,
        num_attention_heads=8, num_key_value_heads=2,
    )  # fmt: skip
    tokens = torch.zeros(1, 96, dtype=torch.long)
    mask = torch.full((1, 1, 96, 96), torch.finfo(torch.float32).min).triu(1)
    return Network(Decoder(config), [tokens, mask])


def efficientnet() -> Network:
    """EfficientNet at 224: depthwise convolutions up to 5x5, with channels that are re-weighted."""
    config = EfficientNetConfig(
        width_coefficient=1.0, depth_coefficient=1.0, image_size=224, hidden_dim=1280
    )
    return Network(transformers_module(config), [torch.zeros(IMAGE)])


def swin() -> Network:
    """A small Swin transformer at 224: attention within windows of 49 tokens, 64 to 512 wide."""
    config = SwinConfig(embed_dim=64, depths=[2, 2, 4, 2], num_heads=[2, 4, 8, 16])
    return Network(transformers_module(config), [torch.zeros(IMAGE)])


def segformer() -> Network:
    """SegFormer-B0's encoder at 224: long queries, fewer keys, depthwise convolutions between."""
    return Network(transformers_module(SegformerConfig()), [torch.zeros(IMAGE)])


def wav2vec2() -> Network:
    """A small wav2vec 2.0 over a second: convolutions over time, 6 layers, 384 wide."""
    config = Wav2Vec2Config(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=6, intermediate_size=1536
    )
    return Network(transformers_module(config), [torch.zeros(1, 16000)])


def qwen2() -> Network:
    """A small Qwen2 over 96 tokens, with the causal mask of its own."""
    config = Qwen2Config(
        vocab_size=8000, hidden_size=512, intermediate_size=1408, num_hidden_layers=6,
        num_attention_heads=8, num_key_value_heads=2, use_cache=False,
    )  # fmt: skip
    return Network(transformers_module(config), [torch.zeros(1, 96, dtype=torch.long)])


def mamba() -> Network:
    """A small Mamba over 64 tokens: 4 layers, 256 wide, a scan in place of attention."""
    config = MambaConfig(vocab_size=8000, hidden_size=256, num_hidden_layers=4, use_cache=False)
    return Network(transformers_module(config), [torch.zeros(1, 64, dtype=torch.long)])


_MAKERS = (
    *(bert, vit, resnet, decoder, mobilenet, unet, whisper, convnext, regnet, llama),
    *(efficientnet, swin, segformer, wav2vec2, qwen2, mamba),
    bert_of_any_length,
)
MODELS: dict[str, Callable[[], Network]] = {make.__name__: make for make in _MAKERS}


def main(arguments: Sequence[str]) -> None:
    if not arguments:
        raise InputError(NOTHING_TO_DO, "name a folder for the models")
    folder, *names = arguments
    if unknown := sorted({*names} - {*MODELS}):
        raise InputError(f"there is no model {unknown[0]!r}", f"models: {', '.join(MODELS)}")
    for name in names or MODELS:
        network = MODELS[name]()
        out = Path(folder) / f"{name}.mlir"
        made = export_module(network.module, network.inputs, out, network.dynamic_shapes)
        print(f"{made.mlir}: {made.weights.stat().st_size / 1e6:.0f} MB of weights")


if __name__ == "__main__":
    run_study(main, __doc__)
