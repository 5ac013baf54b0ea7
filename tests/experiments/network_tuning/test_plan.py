"""Which dispatches are worth tuning: profiles are made up, dispatches are read by the compiler."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from frontrunner.benchmarks.libraries.peak import Peak
from frontrunner.benchmarks.networks.profiling import DispatchTime
from frontrunner.core import InputError, NotTunableError
from frontrunner.core.children import Child
from frontrunner.core.errors import KilledError
from frontrunner.experiments.network_tuning.planning import plan as hot
from frontrunner.experiments.network_tuning.planning.plan import OTHERS, Plan, make_plan, read_plan
from frontrunner.experiments.network_tuning.queued import tuned_alone
from frontrunner.search import Dispatch, Target
from frontrunner.search.reading import dispatches as reading
from frontrunner.search.reading import read_dispatch
from frontrunner.search.reading.networks import NetworkDispatch

DATA = Path(__file__).parents[2] / "data"
TARGET = Target("llvm-cpu", "znver4", "host", 1, 32, 16, (1, 2, 3))
# What each dispatch of the model is; two are of the same problem.
FILES = {
    "a": DATA / "matmul.mlir",
    "b": DATA / "matvec.mlir",
    "c": DATA / "matmul.mlir",
    "s": DATA / "bad_softmax.mlir",
    "d": DATA / "none.mlir",
    "e": DATA / "attention.mlir",
}
DISPATCHES = {
    name: NetworkDispatch(
        name, "" if name == "d" else "text", "dynamic shapes" if name == "d" else ""
    )
    for name in FILES
}


@cache
def read(path: Path, target: str) -> Dispatch | InputError:
    try:
        return read_dispatch(path, target)
    except InputError as error:
        return error


def reread(path: Path, target: str, child: Child | None = None, **_: object) -> Dispatch:
    found = read(path, target)
    if isinstance(found, InputError):
        raise found
    return found


@pytest.fixture(autouse=True)
def _read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "read_dispatch", reread)


def plan(
    times: dict[str, float], coverage: float = 1.0, peak: Peak | None = None, count: float = 1.0
) -> Plan:
    profile = [DispatchTime(name, count, time) for name, time in times.items()]
    return make_plan(profile, DISPATCHES, FILES, coverage, TARGET, peak)


def test_what_is_no_dispatch_hides_none() -> None:
    """Where each is timed by itself, most of the time may be nobody's."""
    made = plan({OTHERS: 92.0, "a": 5.0, "b": 3.0}, coverage=0.9)
    assert {m for h in made.hot for m in h.members} == {"a", "b"}
    assert sum(h.share for h in made.hot) == pytest.approx(0.08)
    assert [(r.name, r.reason) for r in made.rest] == [
        (OTHERS, "the runtime does not tell what each takes")
    ]


def test_where_nothing_is_tuned_in_the_model_the_first_have_time() -> None:
    made = plan({"a": 50.0, "b": 40.0, "e": 10.0})
    assert len(made.hot) == 3
    assert tuned_alone(made, 130.0, in_model=False) == made.hot[:2]
    assert tuned_alone(made, 1.0, in_model=False) == made.hot[:1]
    # Another session takes the next ones.
    assert tuned_alone(made, 1.0, in_model=False, done=made.hot[:1]) == made.hot[:2]


def test_what_has_no_space_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot, "has_space", lambda dispatch: dispatch.problem.kind != "attention")
    made = plan({"a": 50.0, "e": 50.0})
    assert [h.members for h in made.hot] == [("a",)]
    assert [r.reason for r in made.rest] == [
        "nothing is known to tune of attention like it on host"
    ]

    def refused(dispatch: Dispatch) -> bool:
        if dispatch.problem.kind == "attention":
            raise NotTunableError("znver4 has no f8E4M3FN, which q is in", "use a wider type")
        return True

    monkeypatch.setattr(hot, "has_space", refused)
    made = plan({"a": 50.0, "e": 50.0})
    assert [h.members for h in made.hot] == [("a",)]
    assert [r.reason for r in made.rest] == ["znver4 has no f8E4M3FN, which q is in"]


def test_equal_problems_are_one_and_the_most_promising_comes_first() -> None:
    made = plan({"a": 10.0, "b": 50.0, "c": 45.0, "s": 70.0, "d": 20.0, "x": 5.0})
    assert [h.members for h in made.hot] == [("c", "a"), ("b",)]
    first = made.hot[0]
    assert (first.name, first.file) == ("matmul", FILES["c"])
    assert first.time_us == first.headroom_us == 55.0
    assert first.share == pytest.approx(55 / 200)
    assert [(r.name, r.share) for r in made.rest] == [("s", 0.35), ("d", 0.1), ("x", 0.025)]
    reasons = [r.reason for r in made.rest]
    assert "computes linalg.softmax" in reasons[0]
    assert str(DATA) not in reasons[0]
    assert reasons[1:] == ["dynamic shapes", "it is not dispatched by a function"]


def test_dispatches_of_any_size_are_one_and_all_of_their_time_is_to_be_had() -> None:
    """A spec matches both; what the peak would need depends on sizes that differ by call."""
    found = read(FILES["a"], "host")
    assert isinstance(found, Dispatch)
    root = found.problem.with_dynamic(["m"])
    dispatches = {
        name: NetworkDispatch(name, "text", "", True, root, one_size=False) for name in "abc"
    }
    profile = [DispatchTime(name, 1.0, us) for name, us in (("a", 60.0), ("c", 30.0), ("b", 10.0))]
    made = make_plan(profile, dispatches, FILES, 1.0, TARGET, Peak(1e3, 1e3))
    (one,) = made.hot
    assert (one.members, one.dynamic) == (("a", "c"), ("m",))
    assert one.problem.startswith("contraction_?x")
    assert one.headroom_us == one.time_us == 90.0
    assert one.least_us == 0.0
    assert [(rest.name, rest.reason) for rest in made.rest] == [("b", hot.ANOTHER)]
    assert read_plan(json.loads(json.dumps(made.to_dict(), default=str))) == made
    unread = dispatches | {"c": NetworkDispatch("c", "text", "", True)}
    assert [m.reason for m in make_plan(profile, unread, FILES, 1.0, TARGET, None).rest] == (
        [hot.ANOTHER] * 2
    )
    # One with a size that is known is another spec's.
    static = dispatches | {"c": NetworkDispatch("c", "text")}
    assert len(make_plan(profile, static, FILES, 1.0, TARGET, None).hot) == 2


def test_the_peak_says_what_dispatches_need_that_always_have_one_size() -> None:
    found = read(FILES["a"], "host")
    assert isinstance(found, Dispatch)
    root = found.problem.with_dynamic(["m"])
    always = NetworkDispatch("a", "text", "", True, root)
    profile = [DispatchTime("a", 2.0, 60.0), DispatchTime("c", 1.0, 30.0)]
    peak = Peak(1e9, 1e9)
    for other, known in ((always, True), (replace(always, one_size=False), False)):
        made = make_plan(profile, {"a": always, "c": other}, FILES, 1.0, TARGET, peak)
        (one,) = made.hot
        assert one.dynamic == ("m",)
        needed = 3 * peak.least_us(found.problem.flops, found.problem.bytes_touched)
        assert one.least_us == (pytest.approx(needed) if known else 0.0)


def test_attention_that_one_matcher_takes_is_one() -> None:
    """It asks for all that the op is."""
    found = read(DATA / "attention.mlir", "host")
    assert isinstance(found, Dispatch)
    other = replace(found, source="around it is something else")
    masked = replace(found, root=f"{found.root} masked")
    shares = [DispatchTime(name, 1.0, us) for name, us in (("a", 5.0), ("b", 3.0), ("c", 1.0))]
    groups = hot._groups(shares, {"a": found, "b": other, "c": masked})
    assert [[share.name for share, _ in group] for group in groups] == [["a", "b"], ["c"]]


def test_of_reductions_what_one_matcher_takes_is_one() -> None:
    """It does not see the order of loops, nor what is computed, but whether something is fused."""
    rows, fused = (read(DATA / name, "host") for name in ("max_of_rows.mlir", "norm.mlir"))
    assert isinstance(rows, Dispatch) and isinstance(fused, Dispatch)
    columns = replace(rows, indexing_maps=("another", *rows.indexing_maps[1:]))
    shares = [DispatchTime(name, 1.0, us) for name, us in (("a", 5.0), ("b", 3.0), ("c", 1.0))]
    groups = hot._groups(shares, {"a": rows, "b": fused, "c": columns})
    assert [[share.name for share, _ in group] for group in groups] == [["a", "c"], ["b"]]


def test_of_products_that_one_matcher_takes_the_one_with_fused_ops_is_tuned() -> None:
    """Its space is the stricter one, whichever takes most time."""
    bare, fused = (read(DATA / name, "host") for name in ("matmul.mlir", "matmul_fused.mlir"))
    assert isinstance(bare, Dispatch) and isinstance(fused, Dispatch)
    assert bare.problem.label == fused.problem.label
    times = [DispatchTime("bare", 1.0, 9.0), DispatchTime("fused", 1.0, 1.0)]
    (members,) = hot._groups(times, {"bare": bare, "fused": fused})
    assert [share.name for share, _ in members] == ["fused", "bare"]


def test_coverage_is_of_the_time_that_is_left() -> None:
    # 100 of 110 are the first 90 %; where those are tuned, the rest matters more.
    assert len(plan({"a": 100.0, "b": 10.0}, 0.9).hot) == 2
    made = plan({"a": 100.0, "b": 1.0}, 0.9)
    assert [h.members for h in made.hot] == [("a",)]
    assert [r.reason for r in made.rest] == ["beyond the first 90% of the time"]
    # What cannot be tuned is not expected to become faster.
    assert not plan({"s": 100.0, "b": 10.0}, 0.9).hot


def test_headroom_is_what_the_peak_leaves() -> None:
    slow, fast = Peak(1e30, 1e30), Peak(1e3, 1e3)
    # At its peak already, or seemingly beyond: still worth a little time.
    assert plan({"a": 100.0}, peak=fast).hot[0].headroom_us == pytest.approx(5.0)
    assert plan({"a": 100.0}, peak=slow).hot[0].headroom_us == pytest.approx(100.0)
    problem = reread(FILES["a"], "host").problem
    half = Peak(problem.flops / 25e-6, 1e30)
    assert plan({"a": 100.0}, peak=half).hot[0].headroom_us == pytest.approx(75.0)
    assert plan({"a": 100.0}, peak=half, count=2).hot[0].headroom_us == pytest.approx(50.0)


@pytest.mark.parametrize(
    ("name", "share"), [("matmul", 0.55), ("batch_matmul", 0.8), ("conv_nhwc", 0.8)]
)
def test_what_is_expected_is_how_near_the_peak_a_kind_comes(name: str, share: float) -> None:
    """However far from it the compiler's default is."""
    files = dict.fromkeys(FILES, DATA / f"{name}.mlir")
    problem = reread(files["a"], "host").problem
    for time_us in (60.0, 600.0):
        peak = Peak(problem.flops / 25e-6, 1e30)
        made = make_plan([DispatchTime("a", 1.0, time_us)], DISPATCHES, files, 1.0, TARGET, peak)
        assert made.hot[0].expected_us == pytest.approx(time_us - 25 / share)


def test_where_no_peak_is_known_half_is_expected() -> None:
    assert [h.expected_us / h.time_us for h in plan({"a": 9.0, "e": 9.0}).hot] == [0.5, 0.5]


def test_of_attention_less_than_the_peak_is_to_be_had() -> None:
    problem = reread(FILES["e"], "host").problem
    tenth = Peak(problem.flops / 10e-6, 1e30)
    (one,) = plan({"e": 100.0}, peak=tenth).hot
    assert one.least_us == pytest.approx(10.0)
    assert one.headroom_us == one.expected_us == pytest.approx(100 - 10 / 0.2)


@pytest.mark.parametrize(
    ("name", "image", "share"),
    [
        ("conv_nhwc", 16, 1.0),
        ("conv_nhwc", 7, 0.35),
        ("conv_nhwc", 8, 0.35),
        ("conv_nhwc", 9, 1.0),
        ("conv_depthwise", 7, 1.0),
        ("matmul", 7, 1.0),
    ],
)
def test_convolutions_of_small_images_do_not_come_to_the_peak(
    name: str, image: int, share: float
) -> None:
    problem = reread(DATA / f"{name}.mlir", "host").problem
    sizes = {"oh": image, "ow": image, "m": image}
    dims = tuple(replace(d, size=sizes.get(d.name, d.size)) for d in problem.dims)
    assert hot.reached(replace(problem, dims=dims)) == share


def test_groups_that_stay_scalar_do_not_come_to_the_peak() -> None:
    problem = reread(DATA / "conv_grouped.mlir", "host").problem
    assert hot.reached(problem) == 1.0
    dims = tuple(replace(d, size=d.size * 16) if d.name == "fh" else d for d in problem.dims)
    assert hot.reached(replace(problem, dims=dims)) == 0.05


@pytest.mark.parametrize("kills", [1, 2])
def test_a_killed_reader_is_no_reason_to_leave_a_dispatch_out(
    kills: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def killed(path: Path, target: str, child: Child | None = None, **_: object) -> Dispatch:
        asked.append(path)
        if len(asked) <= kills:
            raise KilledError("the compiler was killed by SIGKILL while it read it")
        return reread(path, target, child)

    monkeypatch.setattr(reading, "read_dispatch", killed)
    if kills == 1:
        assert [h.members for h in plan({"a": 10.0}).hot] == [("a",)]
    else:
        with pytest.raises(KilledError, match="killed by SIGKILL"):
            plan({"a": 10.0})
    assert len(asked) == 2


def test_what_takes_no_time_is_no_part_of_it() -> None:
    """Though a sum in another order is another one."""
    assert hot._most({"a": 0.1, "b": 0.2, "c": 0.3, "z": 0.0}, 1.0) == ["c", "b", "a"]


@pytest.mark.parametrize("times", [{}, {"a": 0.0}, {"s": 0.0}])
def test_times_of_nothing(times: dict[str, float]) -> None:
    made = plan(times)
    assert made.hot == ()
    assert [row.name for row in made.rest] == [*times]


def test_there_and_back() -> None:
    made = plan({"a": 10.0, "s": 7.0})
    assert read_plan(json.loads(json.dumps(made.to_dict(), default=str))) == made
