"""What hosts may answer."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from frontrunner.benchmarks.cluster.messages import Answer, wrong_answer
from frontrunner.benchmarks.compiling import CompileReply, CompileRequest
from frontrunner.benchmarks.measuring import MeasureRequest, Timing, executable_digest

COMPILE = CompileRequest("", (), None, Path("a.vmfb"))
MEASURE = MeasureRequest(Path("a.vmfb"), 0.1, math.inf, False)
FILE = b"an executable"
DONE = CompileReply(digest=executable_digest(FILE))


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (COMPILE, Answer(DONE, file=FILE)),
        (COMPILE, Answer(CompileReply(error="no"))),
        (COMPILE, Answer(CompileReply(linker_killed=True))),
        (COMPILE, Answer(raised=RuntimeError("no"))),
        (MEASURE, Answer(Timing((1.0, 2.0)))),
        (MEASURE, Answer(Timing(wrong="another result"))),
        (MEASURE, Answer(lacking=("a",))),
        (None, Answer()),
    ],
)
def test_answers(request_: Any, answer: Answer) -> None:
    assert wrong_answer(request_, answer) == ""


@pytest.mark.parametrize(
    ("request_", "answer", "says"),
    [
        (COMPILE, Answer(), "NoneType is not what a compiler says"),
        (COMPILE, Answer(DONE), "there is no executable"),
        (COMPILE, Answer(DONE, file=b"another"), "is another one than it says"),
        (MEASURE, Answer("soon"), "str is no times"),
        (MEASURE, Answer(Timing()), "are no times"),
        (MEASURE, Answer(Timing((1.0, -1.0))), "are no times"),
        (MEASURE, Answer(Timing((math.nan,))), "are no times"),
        (MEASURE, Answer(Timing(("soon",))), "are no times"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_answer(request_: Any, answer: Answer, says: str) -> None:
    assert says in wrong_answer(request_, answer)
