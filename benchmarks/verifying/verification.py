"""Whether outputs are right: against the compiler's default, and against what it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .call import Call
from .formula import Sample
from .inputs import Array

# Beyond, even a few outputs take longer than 0.1 s.
MOST_TERMS = 1 << 17


class Verification:
    """Compares outputs with those of the compiler's default, all of them.

    Where the call has a formula, outputs also have to be near what it gives in float64, unless the
    default's are not: then it is another formula, or the default is wrong. The latter is what is
    said of a candidate that agrees with the formula and not with the default.

    Args:
        inputs: that the outputs are of.
        expected: the default's outputs.
        seed: of the sample that is computed.
    """

    def __init__(
        self, call: Call, inputs: Sequence[Array], expected: Sequence[Array], seed: int
    ) -> None:
        self._call, self._expected = call, expected
        pairs = zip(call.outputs, expected, strict=True)
        self._sizes = [call.tolerance(t).size_of(values) for (_, t), values in pairs]
        dtypes = [dtype for _, dtype in call.inputs]
        self._sample: Sample | None = None
        if call.formula is not None and call.formula.terms <= MOST_TERMS:
            self._sample = call.formula.sample(inputs, dtypes, seed)
        self.default_is_exact = self._find_inexact(expected) is None

    def find_mismatch(self, outputs: Sequence[Array]) -> str | None:
        """None if outputs are right, else where they are wrong."""
        wrong, inexact = self._find_difference(outputs), self._find_inexact(outputs)
        if self.default_is_exact:
            return wrong or inexact
        if wrong is not None and inexact is None:
            return f"{wrong} by the default, which is wrong: float64 agrees with the former"
        return wrong

    def _find_difference(self, outputs: Sequence[Array]) -> str | None:
        compared = zip(self._call.outputs, outputs, self._expected, self._sizes, strict=True)
        found = (
            self._call.tolerance(t).find_mismatch(a, b, size=size)
            for (_, t), a, b, size in compared
        )
        return next((wrong for wrong in found if wrong is not None), None)

    def _find_inexact(self, outputs: Sequence[Array]) -> str | None:
        """As `find_mismatch`, of the sample; None where there is none."""
        if self._sample is None:
            return None
        ((_, dtype),) = self._call.outputs
        tolerance = replace(self._call.tolerance(dtype), roundings=self._sample.roundings)
        return self._sample.find_mismatch(outputs[0], tolerance)
