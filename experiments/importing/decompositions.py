"""What operations of torch are made of that the compiler does not take, or makes slow code of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from iree.turbine import aot


def decompositions() -> dict[Any, Callable[..., Any]]:
    """By operation, as `torch.export.ExportedProgram.run_decompositions` takes them."""
    # Only there once `transformers` has made a model with experts.
    grouped = getattr(torch.ops.transformers, "grouped_mm_fallback", None)
    return {
        **aot.decompositions.current_aot_decompositions(),
        **({grouped.default: _grouped_product} if grouped else {}),
        torch.ops.aten.adaptive_avg_pool2d.default: _pool,
        torch.ops.aten._weight_norm.default: _weight_norm,
        torch.ops.aten.diff.default: _diff,
        torch.ops.aten.histc.default: _histogram,
        torch.ops.aten.new_ones.default: _ones,
        torch.ops.aten.__and__.Tensor: torch.bitwise_and,
    }


def _pool(values: Any, size: Sequence[int]) -> Any:
    """The mean where a pool is of all that there is.

    The compiler computes windows with divisions, and masks them: 40 % of a RegNet's time.
    """
    return values.mean((-2, -1), keepdim=True) if list(size) == [1, 1] else NotImplemented


def _diff(values: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences; decoders tell packed sequences apart by them, and the compiler has them not."""
    parts = [part for part in (prepend, values, append) if part is not None]
    found = torch.cat(parts, dim)
    for _ in range(n):
        count = found.shape[dim] - 1
        found = found.narrow(dim, 1, count) - found.narrow(dim, 0, count)
    return found


def _histogram(values: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """Counts; models with several experts count the tokens of each, and the compiler cannot."""
    if min == max:  # the limits are those of the values
        return NotImplemented
    place = ((values - min) * (bins / (max - min))).floor()
    place = torch.where(values == max, bins - 1, place)
    return (place.reshape(-1, 1) == torch.arange(bins)).to(values.dtype).sum(0)


def _grouped_product(rows: Any, weights: Any, ends: Any) -> Any:
    """Each row by the weights of its expert; where each expert's rows end is known by then only.

    The compiler takes no sizes that depend on values. So all rows go through all experts, or, where
    there are no more rows than experts, each has its expert's weights fetched.
    """
    count, experts = rows.shape[0], weights.shape[0]
    expert = (torch.arange(count).reshape(-1, 1) >= ends).sum(1)
    if count <= experts:
        return torch.bmm(rows.unsqueeze(1), weights[expert]).squeeze(1)
    every = torch.matmul(rows.unsqueeze(0), weights)
    chosen = (expert == torch.arange(experts).reshape(-1, 1)).unsqueeze(-1)
    return torch.where(chosen, every, 0).sum(0)


def _ones(
    like: Any,
    size: Sequence[int],
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Any:
    """Of masks, which the compiler would fold to a number of one bit, and not take."""
    return torch.full(size, 1, dtype=dtype or like.dtype, device=device)


def _weight_norm(direction: Any, length: Any, dim: int = 0) -> Any:
    """Weights of a normalised convolution, such as wav2vec 2.0's, which the compiler has not."""
    others = [d for d in range(direction.dim()) if d != dim]
    return direction * (length / direction.norm(2, others, keepdim=True))
