"""Modules of torch that `make_models` exports, where `transformers` has none that exports so."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional
from transformers import LlamaConfig, LlamaModel, WhisperConfig
from transformers.models.whisper.modeling_whisper import WhisperEncoder


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


class Encoder(nn.Module):
    """Whisper's encoder, of which the last hidden state is kept."""

    def __init__(self, config: WhisperConfig) -> None:
        super().__init__()
        self.encoder = WhisperEncoder(config)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        kept: torch.Tensor = self.encoder(features)[0]
        return kept


class Decoder(nn.Module):
    """Llama's decoder under a causal mask that is given, without one of its own."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.model = LlamaModel(config)

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        kept: torch.Tensor = self.model(input_ids=tokens, attention_mask=mask, use_cache=False)[0]
        return kept
