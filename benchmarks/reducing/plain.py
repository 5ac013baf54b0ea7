"""A dispatch as a function of its root op alone, for what was given in another form."""

from __future__ import annotations

import re

from ...search import Dispatch, Operand, Problem, kind_of

_ZERO = {True: "0", False: "0.0"}


def root_function(dispatch: Dispatch) -> str:
    """MLIR of what the root op computes, if it is sums of products; else empty."""
    problem = dispatch.problem
    if len(kind_of(problem).summed_loops(problem)) != 1 or len(problem.operands) != 3:
        return ""
    lhs, rhs, out = (_tensor(problem, operand) for operand in problem.operands)
    a, b, c = (operand.dtype for operand in problem.operands)
    whole = c.startswith("i")
    loops = ", ".join('"parallel"' if d.parallel else '"reduction"' for d in problem.dims)
    maps = ", ".join(dispatch.indexing_maps)
    kind = "i" if whole else "f"
    wider = "arith.extsi" if whole else "arith.extf"
    widened = [
        f"      %{name}w = {wider} %{name} : {dtype} to {c}" if dtype != c else ""
        for name, dtype in (("x", a), ("y", b))
    ]
    x, y = (f"%{name}w" if line else f"%{name}" for name, line in zip("xy", widened, strict=True))
    name = re.sub(r"\W", "_", problem.kind)
    lines = [
        f"func.func @{name}(%lhs: {lhs}, %rhs: {rhs}) -> {out} {{",
        f"  %zero = arith.constant {_ZERO[whole]} : {c}",
        f"  %empty = tensor.empty() : {out}",
        f"  %init = linalg.fill ins(%zero : {c}) outs(%empty : {out}) -> {out}",
        f"  %result = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{loops}]}}",
        f"    ins(%lhs, %rhs : {lhs}, {rhs}) outs(%init : {out}) {{",
        f"    ^bb0(%x: {a}, %y: {b}, %sum: {c}):",
        *filter(None, widened),
        f"      %product = arith.mul{kind} {x}, {y} : {c}",
        f"      %more = arith.add{kind} %sum, %product : {c}",
        f"      linalg.yield %more : {c}",
        f"  }} -> {out}",
        f"  return %result : {out}",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _tensor(problem: Problem, operand: Operand) -> str:
    return f"tensor<{''.join(f'{size}x' for size in problem.extents(operand))}{operand.dtype}>"
