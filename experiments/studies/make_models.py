"""Makes the models that `make models` tunes: public architectures, with random weights.

    python -m frontrunner.experiments.studies.make_models OUT [NAME...]

Needs the extra `torch`. Writes OUT/<name>.mlir and OUT/<name>.irpa.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional
from transformers import (
    BertConfig,
    ConvNextConfig,
    LlamaConfig,
    LlamaModel,
    MobileNetV2Config,
    RegNetConfig,
    ResNetConfig,
    ViTConfig,
    WhisperConfig,
)
from transformers.models.whisper.modeling_whisper import WhisperEncoder

from ..importing import export_module, transformers_module

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


class DecoderStep(nn.Module):
    """One token through a GPT-2-like decoder whose keys and values of the past are inputs."""

    def __init__(self, layers: int, width: int, heads: int, vocabulary: int, past: int) -> None:
        super().__init__()
        self.heads = heads
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(past + 1, width)
        self.blocks = nn.ModuleList(DecoderLayer(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(
        self, token: torch.Tensor, place: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """
        Args:
            token, place: 1 x 1.
            keys, values: layers x heads x past x width of a head.

        Returns:
            Logits, and the token's own keys and values.
        """
        x = self.tokens(token) + self.places(place)
        own_keys, own_values = [], []
        for block, past_keys, past_values in zip(self.blocks, keys, values, strict=True):
            x, key, value = block(x, past_keys, past_values)
            own_keys.append(key)
            own_values.append(value)
        return self.head(self.norm(x)), torch.stack(own_keys), torch.stack(own_values)


class DecoderLayer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before = nn.LayerNorm(width)
        self.project = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.between = nn.LayerNorm(width)
        self.grow = nn.Linear(width, 4 * width)
        self.shrink = nn.Linear(4 * width, width)

    def forward(
        self, x: torch.Tensor, past_keys: torch.Tensor, past_values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        parts = self.project(self.before(x)).chunk(3, dim=-1)
        query, key, value = (p.view(self.heads, 1, -1) for p in parts)
        keys = torch.cat([past_keys, key], dim=1)
        values = torch.cat([past_values, value], dim=1)
        seen = functional.scaled_dot_product_attention(query[None], keys[None], values[None])
        x = x + self.out(seen.reshape(1, 1, -1))
        x = x + self.shrink(functional.gelu(self.grow(self.between(x)), approximate="tanh"))
        return x, key, value


def decoder() -> Network:
    """A GPT-2-like decoder's step: 12 layers, 768 wide, 255 tokens in its cache."""
    torch.manual_seed(0)
    layers, width, heads, past = 12, 768, 12, 255
    step = DecoderStep(layers, width, heads, 32000, past)
    cache = torch.zeros(layers, heads, past, width // heads)
    index = torch.zeros(1, 1, dtype=torch.long)
    return Network(step, [index, index, cache, cache])


class UnetBlock(nn.Module):
    """A residual block and a transformer block with cross-attention, as in Stable Diffusion."""

    def __init__(self, channels: int, time: int, words: int, heads: int) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.GroupNorm(32, channels), nn.SiLU(), nn.Conv2d(channels, channels, 3, padding=1)
        )
        self.time = nn.Sequential(nn.SiLU(), nn.Linear(time, channels))
        self.second = nn.Sequential(
            nn.GroupNorm(32, channels), nn.SiLU(), nn.Conv2d(channels, channels, 3, padding=1)
        )
        self.norm = nn.GroupNorm(32, channels)
        self.itself = CrossAttention(channels, channels, heads)
        self.text = CrossAttention(channels, words, heads)
        self.last = nn.LayerNorm(channels)
        self.grow = nn.Linear(channels, 8 * channels)
        self.shrink = nn.Linear(4 * channels, channels)

    def forward(self, x: torch.Tensor, time: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        x = x + self.second(self.first(x) + self.time(time)[:, :, None, None])
        y = self.norm(x).flatten(2).transpose(1, 2)
        y = self.itself(y, None)
        y = self.text(y, text)
        values, gates = self.grow(self.last(y)).chunk(2, dim=-1)
        y = y + self.shrink(values * functional.gelu(gates))
        return x + y.transpose(1, 2).reshape(x.shape)


class CrossAttention(nn.Module):
    def __init__(self, channels: int, other: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(channels)
        self.query = nn.Linear(channels, channels, bias=False)
        self.key = nn.Linear(other, channels, bias=False)
        self.value = nn.Linear(other, channels, bias=False)
        self.out = nn.Linear(channels, channels)

    def forward(self, x: torch.Tensor, other: torch.Tensor | None) -> torch.Tensor:
        """
        Args:
            other: what is attended to; `x` itself if None.
        """
        own = self.norm(x)
        other = own if other is None else other
        query, key, value = (
            part.unflatten(2, (self.heads, -1)).transpose(1, 2)
            for part in (self.query(own), self.key(other), self.value(other))
        )
        seen = functional.scaled_dot_product_attention(query, key, value)
        return x + self.out(seen.transpose(1, 2).flatten(2))


def unet() -> Network:
    """A block of a diffusion UNet: 320 channels at 32 x 32, 77 words."""
    torch.manual_seed(0)
    block = UnetBlock(channels=320, time=1280, words=768, heads=8)
    inputs = [torch.zeros(1, 320, 32, 32), torch.zeros(1, 1280), torch.zeros(1, 77, 768)]
    return Network(block, inputs)


class Encoder(nn.Module):
    """Whisper's encoder, of which the last hidden state is kept."""

    def __init__(self, config: WhisperConfig) -> None:
        super().__init__()
        self.encoder = WhisperEncoder(config)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        kept: torch.Tensor = self.encoder(features)[0]
        return kept


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


class Decoder(nn.Module):
    """Llama's decoder under a causal mask that is given, without one of its own."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.model = LlamaModel(config)

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        kept: torch.Tensor = self.model(input_ids=tokens, attention_mask=mask, use_cache=False)[0]
        return kept


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


_MAKERS = (
    *(bert, vit, resnet, decoder, mobilenet, unet, whisper, convnext, regnet, llama),
    bert_of_any_length,
)
MODELS: dict[str, Callable[[], Network]] = {make.__name__: make for make in _MAKERS}


def main(arguments: list[str]) -> None:
    folder, *names = arguments
    for name in names or MODELS:
        network = MODELS[name]()
        out = Path(folder) / f"{name}.mlir"
        made = export_module(network.module, network.inputs, out, network.dynamic_shapes)
        print(f"{made.mlir}: {made.weights.stat().st_size / 1e6:.0f} MB of weights")


if __name__ == "__main__":
    main(sys.argv[1:])
