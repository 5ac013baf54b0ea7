"""Options of the compiler for whole models: how fast each makes one is made up."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from frontrunner.benchmarks.measuring import DROP_ROUNDS
from frontrunner.benchmarks.measuring.outcome import OK, CompileOutcome
from frontrunner.benchmarks.networks.profiling import DispatchTime
from frontrunner.benchmarks.networks.runner import NetworkFailed, Speedup
from frontrunner.core import InputError
from frontrunner.core.errors import KilledError
from frontrunner.experiments.network_tuning import bases, choosing
from frontrunner.experiments.network_tuning.bases import Base, BaseMaker
from frontrunner.experiments.network_tuning.choosing import choose, choose_base
from frontrunner.experiments.network_tuning.finishing import Finish, finish, is_behind
from frontrunner.experiments.network_tuning.planning.folder import NetworkFolder
from frontrunner.experiments.network_tuning.planning.options import NetworkOptions
from frontrunner.experiments.network_tuning.planning.plan import HotDispatch, Plan, SkippedDispatch
from frontrunner.experiments.network_tuning.planning.variants import (
    PLAIN,
    OptionVariant,
    TriedVariants,
    VariantOutcome,
)
from frontrunner.experiments.network_tuning.trial import TrialResult
from frontrunner.experiments.network_tuning.trying import try_variants
from frontrunner.search import Target
from frontrunner.search.reading.networks import Network, NetworkDispatch

TARGET = Target("llvm-cpu", "znver3", "host", 2, 32, 16, (1, 2, 3))
CONVOLUTION = NetworkDispatch("main_dispatch_0_conv_7x7x64x3x3", "", "dynamic shapes")
AWAY = SimpleNamespace(shares_cores=False, fingerprint="away")
A, B, C, D = (OptionVariant(name, (f"--{name}",)) for name in "abcd")


@dataclass
class World:
    """A model whose executables are named for their flags, and for the spec.

    Attributes:
        times: by the names of flags, and `spec`, in the order of their names; 100 for others.
        wrong: those that compute something else.
        refused: those with which it does not compile.
        unmarked: those of which no dispatch is marked.
        same: those that change nothing.
        twins: those that make the same program as others.
    """

    folder: Path
    times: dict[str, float] = field(default_factory=dict)
    wrong: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    unmarked: set[str] = field(default_factory=set)
    same: set[str] = field(default_factory=set)
    twins: dict[str, str] = field(default_factory=dict)
    noise: float = 0.01
    made: list[str] = field(default_factory=list)
    starter: str | None = None

    def base(self, variant: OptionVariant) -> Base:
        name = "".join(sorted(flag.strip("-") for flag in variant.flags)) or "plain"
        digest = "plain" if name in self.same else self.twins.get(name, name)
        compiled = CompileOutcome(OK, self.folder / name, digest)
        return Base(variant, Network(TARGET, "", (), (), (CONVOLUTION,)), compiled)

    at_a_time = 2
    options = NetworkOptions(Path("m.mlir"))

    def make(self, variants: Sequence[OptionVariant], plain: Base) -> dict[OptionVariant, Any]:
        return {one: self.make_one(one) for one in variants}

    def make_one(self, variant: OptionVariant) -> Base | InputError:
        base = self.base(variant)
        name = base.compiled.executable.name
        self.made.append(name)
        if name in self.refused:
            return InputError("the model does not compile: a type is unknown")
        return base

    def notify(self, _: str) -> None: ...

    def compiler(self, base: Base) -> Any:
        return SpecCompiler(self, base)

    def compare_outputs(self, variant: Path, expected: Path) -> None:
        assert expected.name == "plain"
        if variant.name in self.wrong:
            raise NetworkFailed("wrong results: of output 0")

    def time_once(self, variant: Path) -> float:
        return self.times.get(variant.name, 100.0)

    def measure_speedup(
        self, before: Path, after: Path, seed: int, rounds: int = 15, patience: float = 0.0
    ) -> Speedup:
        first, second = (self.times.get(path.name, 100.0) for path in (before, after))
        speedup = first / second
        interval = (speedup - 0.005, speedup + 0.005)
        return Speedup(speedup, interval, first, second, self.noise, ())

    def tried(
        self,
        *variants: OptionVariant,
        deadline: float = 1e9,
        keep: Any = lambda *_: None,
        earlier: TriedVariants | None = None,
    ) -> Any:
        return try_variants(
            self, variants, self.base(PLAIN), self, deadline, 0, keep, earlier  # type: ignore[arg-type]
        )  # fmt: skip

    def finished(
        self,
        tuned: OptionVariant,
        *faster: OptionVariant,
        spec: bool = True,
        deadline: float = 1e9,
    ) -> Finish:
        bases = [
            replace(base, speedup=100.0 / self.times.get(base.compiled.executable.name, 100.0))
            for base in map(self.base, (PLAIN, *faster))
        ]
        (base,) = (one for one in bases if one.variant == tuned)
        trial = TrialResult((), None, None, ())
        if spec:
            executable = self.folder / f"{base.compiled.executable.name} spec"
            gain = self.measure_speedup(base.compiled.executable, executable, 0)
            trial = TrialResult((), "the spec", gain, ("mm",), executable)
        return finish(trial, base, bases, self, self, 0, deadline)  # type: ignore[arg-type]


@dataclass
class SpecCompiler:
    world: World
    base: Base

    def __enter__(self) -> SpecCompiler:
        return self

    def __exit__(self, *_: object) -> None: ...

    def compile(self, specs: Any) -> Any:
        executable = self.base.compiled.executable
        ((stem, _),) = specs
        name = f"{executable.name} {'spec' if stem == 'tuned' else stem}"
        kind = "compile_failed" if name in self.world.refused else OK
        kind = "not_applied" if name in self.world.unmarked else kind
        yield CompileOutcome(kind, executable.with_name(name), name, applied=("mm",))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def slow_comparisons(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes ten seconds, and nothing else takes any."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    compare = world.compare_outputs

    def long(variant: Path, expected: Path) -> None:
        now[0] += 10.0
        compare(variant, expected)

    world.compare_outputs = long  # type: ignore[method-assign]


def outcomes(found: list[VariantOutcome]) -> dict[str, float | str]:
    return {one.name: one.reason if one.speedup is None else one.speedup for one in found}


def test_the_best_is_tried_with_each_other_that_is_faster(world: World) -> None:
    world.times = {"a": 50.0, "b": 80.0, "ab": 40.0, "c": 99.0}
    found, kept = world.tried(A, B, C)
    assert outcomes(found) == {"a": 2.0, "b": 1.25, "b + a": 2.5, "c": 100 / 99}
    assert [base.variant.name for base in kept] == ["b + a", "a"]
    assert [base.speedup for base in kept] == [2.5, 2.0]


def test_what_is_best_together_is_tried_with_the_rest(world: World) -> None:
    world.times = {"a": 50.0, "b": 80.0, "c": 90.0, "ab": 40.0, "ac": 45.0, "abc": 30.0}
    found, kept = world.tried(A, B, C)
    assert [*outcomes(found)] == ["a", "b", "b + a", "c", "c + b + a"]
    assert [base.variant.name for base in kept] == ["c + b + a", "b + a"]


def test_an_option_more_has_to_bring_something(world: World) -> None:
    """By noise it would stay, and may leave less to tune."""
    world.times = {"a": 50.0, "b": 80.0, "ab": 49.0, "c": 90.0, "ac": 40.0}
    found, kept = world.tried(A, B, C)
    assert [*outcomes(found)] == ["a", "b", "b + a", "c", "c + a", "b + c + a"]
    assert [base.variant.name for base in kept] == ["c + a", "a"]


def test_what_leaves_something_to_tune_is_put_together_for_itself(world: World) -> None:
    """It is not the fastest yet."""
    world.times = {"a": 50.0, "b": 70.0, "c": 80.0, "ab": 40.0, "ac": 45.0, "bc": 60.0, "abc": 35.0}
    found, kept = world.tried(replace(A, tunable=False), B, C)
    assert [*outcomes(found)] == ["a", "b", "c", "c + b", "c + b + a"]
    assert [base.variant.name for base in kept] == ["c + b + a", "a", "c + b"]
    assert [base.variant.tunable for base in kept] == [False, False, True]


def test_the_best_is_tried_with_what_may_do_instead_of_tuning(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone that is no faster: other ops take most of the time."""
    untunable = [replace(one, tunable=False) for one in (B, C)]
    world.times = {"a": 50.0, "b": 99.0, "c": 98.0, "ac": 40.0}
    found, kept = world.tried(A, *untunable)
    alone = {"a": 2.0, "b": 100 / 99, "c": 100 / 98}
    assert outcomes(found) == {**alone, "a + c": 2.5, "a + b": 1.0}
    assert [base.variant.name for base in kept] == ["a + c", "a"]
    slow_comparisons(world, monkeypatch)  # also when the time is up
    found, _ = world.tried(A, *untunable, deadline=25.0)
    assert outcomes(found) == {**alone, "a + c": 2.5, "a + b": "no time was left for it"}


def test_for_what_may_do_instead_of_tuning_there_is_always_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though no time was left for two together."""
    world.times = {"a": 50.0, "b": 80.0, "ab": 40.0}
    slow_comparisons(world, monkeypatch)
    found, kept = world.tried(A, replace(B, tunable=False), deadline=15.0)
    assert outcomes(found) == {"a": 2.0, "b": 1.25, "a + b": 2.5}
    assert [base.variant.name for base in kept] == ["a + b", "a"]


def test_what_is_slower_is_not_tried_with_the_best(world: World) -> None:
    world.times = {"a": 50.0, "b": 104.0, "ab": 10.0}
    found, _ = world.tried(A, replace(B, tunable=False))
    assert [*outcomes(found)] == ["a", "b"]


def test_what_is_about_other_ops_is_not_compiled(world: World) -> None:
    """Of a long list, more comes to its turn."""
    world.times = {"a": 50.0, "b": 80.0}
    found, kept = world.tried(replace(A, concerns="attention"), replace(B, concerns="conv"))
    assert outcomes(found) == {"a": "the model has no attention dispatch", "b": 1.25}
    assert [base.variant.name for base in kept] == ["b"]
    assert world.made == ["b"]


def test_on_a_noisy_machine_what_seems_to_be_faster_is_kept_for_the_end(world: World) -> None:
    world.times, world.noise = {"a": 70.0, "b": 100.4}, 0.6
    _, kept = world.tried(A, B)
    assert [base.variant.name for base in kept] == ["a"]
    assert world.finished(PLAIN, A, spec=False).winner is None


def test_what_is_best_so_far_is_put_together_before_others_are_tried(world: World) -> None:
    """Of a slow model, the time is up before all were."""
    world.times = {"a": 50.0, "b": 80.0, "ab": 40.0}
    world.at_a_time = 1
    found, _ = world.tried(A, B, C)
    assert [*outcomes(found)] == ["a", "b", "b + a", "c"]


def test_what_fails_or_computes_something_else_is_never_taken(world: World) -> None:
    world.times = {"a": 10.0, "b": 20.0, "c": 30.0}
    world.wrong, world.refused, world.same = {"a"}, {"b"}, {"c"}
    found, kept = world.tried(A, B, C)
    assert kept == []
    assert outcomes(found) == {
        "a": "wrong results: of output 0",
        "b": "the model does not compile: a type is unknown",
        "c": "it changes nothing",
    }


def test_of_two_that_make_one_program_one_is_timed(world: World) -> None:
    """Else they would take both places of those that go on to the end."""
    world.times, world.twins = {"a": 50.0, "b": 50.0, "c": 80.0}, {"b": "a", "ac": "a"}
    found, kept = world.tried(A, B, C)
    assert outcomes(found) == {
        "a": 2.0,
        "b": "it makes the same as a",
        "c": 1.25,
        "c + a": "it makes the same as a",
    }
    assert [base.variant for base in kept] == [A, C]


def test_options_that_the_compiler_is_killed_with_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice, so it would be so again; other options may have enough memory."""

    def killed(*_: object, **__: object) -> Network:
        raise KilledError("the compiler was killed by SIGKILL")

    monkeypatch.setattr(bases, "read_network", killed)
    maker = BaseMaker(tmp_path / "m.mlir", NetworkOptions(tmp_path / "m.mlir"), tmp_path, print)
    plain = Base(PLAIN, Network(TARGET, "", (), (), ()), CompileOutcome(OK, tmp_path))
    assert "killed by SIGKILL" in str(maker.make([A], plain)[A])


def test_options_that_were_tried_before_are_not_timed_again(world: World) -> None:
    """Of a session that was ended, but for those that there was no time for."""
    world.times, world.refused = {"a": 50.0, "b": 104.0, "d": 80.0}, {"c"}
    told: list[TriedVariants] = []

    def keep(outcomes: Sequence[VariantOutcome], faster: Sequence[Base]) -> None:
        told.append(TriedVariants(tuple(outcomes), "", tuple(o.variant.name for o in faster)))

    late = VariantOutcome.of(D, reason="no time was left for it")
    world.tried(A, B, C, keep=keep)
    earlier = replace(told[-1], outcomes=(*told[-1].outcomes, late))
    world.made.clear()
    found, kept = world.tried(A, B, C, D, earlier=earlier)
    assert world.made == ["a", "d", "ad"]
    assert {"a": 2.0, "b": 100 / 104, "d": 1.25}.items() <= outcomes(found).items()
    assert "does not compile" in str(outcomes(found)["c"])
    assert kept[0].variant == A


def test_a_model_that_is_killed_is_no_fault_of_the_options(world: World) -> None:
    def killed(variant: Path, expected: Path) -> None:
        raise KilledError("the model's process was killed by SIGKILL")

    world.compare_outputs = killed  # type: ignore[method-assign]
    # There may be memory for the usual options alone, each time that it is tried.
    found, kept = world.tried(A)
    assert (kept, outcomes(found)) == ([], {"a": "the model's process was killed by SIGKILL"})

    def also_killed(variant: Path) -> float:
        raise KilledError(f"{variant.name} was killed")

    world.time_once = also_killed  # type: ignore[method-assign]
    with pytest.raises(KilledError, match="plain was killed"):
        world.tried(A)
    with pytest.raises(KilledError):
        world.finished(PLAIN, A)


def test_executables_of_options_that_bring_nothing_are_removed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each may hold the model's weights."""
    world.times, usual = {"a": 50.0}, world.make_one

    def make_one(variant: OptionVariant) -> Base | InputError:
        base = usual(variant)
        assert isinstance(base, Base)
        base.compiled.executable.touch()
        return base

    monkeypatch.setattr(world, "make_one", make_one)
    world.tried(A, B)
    assert ((world.folder / "a").exists(), (world.folder / "b").exists()) == (True, False)


def test_a_model_that_is_killed_when_it_is_timed_for_longer_is_left_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.times = {"a": 50.0}
    usual = world.measure_speedup

    def measured(before: Path, after: Path, seed: int, rounds: int = 15) -> Speedup:
        if rounds == DROP_ROUNDS:
            raise KilledError("the model's process was killed by SIGKILL")
        return usual(before, after, seed, rounds)

    monkeypatch.setattr(world, "measure_speedup", measured)
    found, kept = world.tried(A)
    assert (kept, outcomes(found)) == ([], {"a": "the model's process was killed by SIGKILL"})


def test_nothing_is_made_after_the_time_is_up(world: World) -> None:
    found, kept = world.tried(A, B, deadline=0.0)
    assert (kept, world.made) == ([], [])
    assert {*outcomes(found).values()} == {"no time was left for it"}


def test_what_was_compiled_when_the_time_is_up_is_not_timed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many cores, all variants are one batch."""
    world.times, world.at_a_time = {"a": 50.0, "b": 40.0}, 8
    slow_comparisons(world, monkeypatch)
    found, kept = world.tried(A, B, deadline=5.0)
    assert outcomes(found) == {"a": 2.0, "b": "no time was left for it"}
    assert [base.variant for base in kept] == [A]


def test_what_is_best_to_tune_with_is_timed_when_the_time_is_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the fastest, nothing is left to tune."""
    world.times, world.at_a_time = {"a": 40.0, "b": 50.0, "c": 60.0}, 8
    slow_comparisons(world, monkeypatch)
    _, kept = world.tried(replace(A, tunable=False), B, C, deadline=25.0)
    assert [base.variant.name for base in kept] == ["a", "b"]


@pytest.mark.parametrize("tunable", [True, False])
def test_another_is_looked_at_though_there_is_no_time_to_time_it_again(
    world: World, monkeypatch: pytest.MonkeyPatch, tunable: bool
) -> None:
    """More may be left to tune with it than with the fastest, or it is as fast."""
    world.times, world.at_a_time = {"a": 40.0, "b": 50.0}, 8
    slow_comparisons(world, monkeypatch)
    _, kept = world.tried(A, replace(B, tunable=tunable), deadline=15.0)
    assert [(base.variant.name, base.speedup) for base in kept] == [("a", 2.5), ("b", 2.0)]


def test_names_that_differ_in_signs_have_folders_of_their_own(tmp_path: Path) -> None:
    maker = BaseMaker(tmp_path / "m.mlir", NetworkOptions(tmp_path / "m.mlir"), tmp_path, print)
    network = Network(TARGET, "", (), (), ())
    names = ("+avx512", "-avx512", "dispatches", 100 * "long", 100 * "long" + "er", 200 * "\u0436")
    for name in names:
        compiled = CompileOutcome(OK, tmp_path)
        with maker.compiler(Base(OptionVariant(name), network, compiled)):
            pass
    folders = {path.name for path in tmp_path.iterdir()}
    assert len(folders) == len(names)
    assert "dispatches" not in folders


def test_specs_of_the_user_go_with_options_that_win(world: World) -> None:
    """What was measured was compiled with them."""
    world.starter, world.times = "mine", {"a": 50.0}
    end = world.finished(PLAIN, A, spec=False)
    assert end.winner is not None
    assert (end.winner.base.variant, end.winner.spec) == (A, "mine")
    assert world.finished(PLAIN, spec=False).winner is None


def test_what_was_proven_stays_where_the_last_race_is_noisy(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.times = {"a": 20.0, "plain spec": 30.0}
    measure = world.measure_speedup

    def noisy(before: Path, after: Path, *rest: Any, **more: Any) -> Speedup:
        found = measure(before, after, *rest, **more)
        return replace(found, noise_floor=9.0) if (before.name, after.name) == last else found

    last = ("plain", "a")
    world.measure_speedup = noisy  # type: ignore[method-assign]
    end = world.finished(PLAIN, A)
    assert end.winner is not None
    assert (end.winner.executable.name, end.winner.spec) == ("plain spec", "the spec")
    assert end.gain is not None
    assert end.gain.speedup == 100 / 30


def test_the_tuned_model_wins_where_it_is_fastest(world: World) -> None:
    world.times = {"a": 50.0, "plain spec": 30.0}
    end = world.finished(PLAIN, A)
    assert end.winner is not None
    assert end.winner.executable.name == "plain spec"
    assert end.gain is not None
    assert end.gain.speedup == 100 / 30


@pytest.mark.parametrize(
    ("times", "winner", "spec"),
    [
        ({"a": 20.0, "plain spec": 30.0}, "a", None),
        ({"a": 20.0, "plain spec": 30.0, "a spec": 10.0}, "a spec", "the spec"),
        ({"a": 50.0, "b": 25.0, "plain spec": 30.0, "b spec": 31.0}, "b", None),
    ],
)
def test_options_without_the_spec_or_with_it_may_be_faster(
    times: dict[str, float], winner: str, spec: str | None, world: World
) -> None:
    world.times = times
    end = world.finished(PLAIN, A, B)
    assert end.winner is not None
    assert (end.winner.executable.name, end.winner.spec) == (winner, spec)
    assert end.gain is not None
    assert end.gain.speedup == 100 / times[winner]


def test_of_options_alone_the_faster_ones_are_taken_however_little_it_is(world: World) -> None:
    """A spec is kept until something else is faster beyond noise; of options none comes first."""
    world.times, world.noise = {"a": 50.0, "b": 49.0, "b spec": 49.0, "a spec": 49.5}, 0.1
    for spec, winner in ((False, "b"), (True, "a spec")):
        end = world.finished(A, A, B, spec=spec)
        assert end.winner is not None
        assert end.winner.executable.name == winner


def test_when_the_time_is_up_the_spec_is_not_tried_with_other_options(world: World) -> None:
    world.times = {"a": 50.0, "a spec": 40.0, "b": 45.0, "b spec": 30.0}
    for deadline, winner in ((1e9, "b spec"), (0.0, "a spec")):
        end = world.finished(A, A, B, deadline=deadline)
        assert end.winner is not None
        assert end.winner.executable.name == winner


def test_the_spec_is_not_tried_with_options_that_are_far_behind(world: World) -> None:
    """A model's time was up after the usual options, before those that were 2.6 times as fast."""
    world.times = {"a": 50.0, "a spec": 45.0, "b": 48.0, "plain spec": 20.0}
    tried: list[str] = []
    compiler = world.compiler

    def recorded(base: Base) -> Any:
        tried.append(base.variant.name)
        return compiler(base)

    world.compiler = recorded  # type: ignore[method-assign]
    world.finished(A, A, B)
    assert tried == ["b"]


def test_options_that_are_far_behind_what_was_tuned_are_not_timed_again(world: World) -> None:
    world.times = {"a": 50.0, "a spec": 40.0, "b": 46.0, "c": 42.0}
    raced: list[str] = []
    measure = world.measure_speedup

    def recorded(before: Path, after: Path, *rest: Any, **more: Any) -> Speedup:
        raced.append(after.name)
        return measure(before, after, *rest, **more)

    world.measure_speedup = recorded  # type: ignore[method-assign]
    world.finished(A, A, B, C, deadline=0.0)
    assert raced == ["a spec", "c", "a spec"]


def test_a_spec_that_breaks_other_options_is_left_out_there(world: World) -> None:
    world.times = {"a": 50.0, "plain spec": 40.0, "a spec": 1.0, "b": 60.0, "b spec": 2.0}
    world.refused, world.wrong = {"a spec"}, {"b spec"}
    end = world.finished(PLAIN, A, B)
    assert end.winner is not None
    assert end.winner.executable.name == "plain spec"


def test_what_was_tuned_with_options_is_compared_with_the_model_as_it_was(world: World) -> None:
    world.times = {"a": 80.0, "a spec": 50.0}
    end = world.finished(A, A)
    assert end.gain is not None
    assert end.gain.speedup == 2.0
    world.times = {"a": 100.0, "a spec": 99.5}
    end = world.finished(A, A)
    assert end.winner is None


def test_the_gain_is_over_the_model_as_it_was_whatever_was_tuned(world: World) -> None:
    world.times = {"a": 95.0, "a spec": 60.0, "plain spec": 50.0}
    end = world.finished(A, A)
    assert end.winner is not None
    assert end.winner.executable.name == "plain spec"
    assert end.gain is not None
    assert end.gain.speedup == 2.0


def test_without_a_spec_and_options_nothing_wins(world: World) -> None:
    assert world.finished(PLAIN, spec=False) == Finish(None, None)
    world.times = {"a": 50.0}
    end = world.finished(A, A, spec=False)
    assert end.winner is not None
    assert (end.winner.base.variant, end.winner.spec) == (A, None)


def test_what_leaves_nothing_to_tune_is_not_tuned_however_fast_it_is(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost: in the end, whatever was tuned is compared with it."""
    hot = HotDispatch("mm", "a problem", ("mm",), Path("mm.mlir"), 10.0, 1.0, 1.0)
    rest = (SkippedDispatch("mm", 1.0, "its operands are tiled by another dispatch"),)
    plans = {"plain": Plan((hot,), ()), "a": Plan((), rest), "b": Plan((), rest)}
    profiled: list[str] = []

    def profile(executable: Path) -> list[DispatchTime]:
        profiled.append(executable.name)
        return [DispatchTime("mm", 1.0, 10.0)]

    def choose(*variants: OptionVariant) -> str:
        bases = [
            replace(world.base(one), speedup=100 / world.times.get(one.name, 100))
            for one in variants
        ]
        base, _ = choose_base(bases, folder, runner, world, AWAY)  # type: ignore[arg-type]
        return base.variant.name

    runner: Any = SimpleNamespace(profile=profile)
    files: Any = lambda *_: {"mm": Path("mm.mlir")}  # noqa: E731
    monkeypatch.setattr(choosing, "make_plan", lambda *_: plans[profiled[-1]])
    monkeypatch.setattr(NetworkFolder, "write_dispatches", files)
    folder = NetworkFolder(world.folder)
    world.times = {"a": 20.0, "b": 10.0}
    assert choose(PLAIN, A, B) == PLAIN.name
    # What is expected of tuning decides: with "a" a run takes 20 already.
    plans["a"] = Plan((hot,), ())
    for expected_us, best in ((9.0, PLAIN.name), (7.0, "a")):
        plans["plain"] = Plan((replace(hot, expected_us=expected_us),), ())
        assert choose(PLAIN, A) == best
    plans["a"] = Plan((), rest)
    # Where nothing can be tuned at all, it is the fastest.
    plans["plain"] = plans["a"]
    assert choose(PLAIN, A, B) == "b"


def test_what_may_be_the_best_is_tried_before_one_is_chosen(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a vision transformer, data tiling was expected to be as fast as tuned products were."""
    hot = HotDispatch("mm", "a problem", ("mm",), Path("mm.mlir"), 10.0, 1.0, 1.0)
    expected = {"plain": 0.0, "a": 0.0, "b": 8.0, "c": 8.0, "d": 8.0}  # of the 10 of each run
    killed: set[str] = set()
    left: dict[str, float | None] = {"a": 0.9, "b": 0.25, "c": 0.9}
    profiled: list[str] = []
    tried: list[str] = []

    def profile(executable: Path) -> list[DispatchTime]:
        profiled.append(executable.name)
        return [DispatchTime("mm", 1.0, 10.0)]

    def try_a_few(plan: Plan, base: Base, *rest: Any) -> float | None:
        own, device, until = rest[3:]
        name = base.variant.name
        tried.append(name)
        if name in killed:
            raise KilledError("the model was killed")
        assert (device, until > time.monotonic()) == ("away", True)
        own.candidates.write_text(f"of {name}")
        own.save_plan(replace(plan, ranker=f"the ranker of {name}"))
        return left[name]

    runner: Any = SimpleNamespace(profile=profile, time_once=world.time_once)
    files: Any = lambda *_: {"mm": Path("mm.mlir")}  # noqa: E731
    monkeypatch.setattr(choosing, "left_by_a_few", try_a_few)
    monkeypatch.setattr(
        choosing,
        "make_plan",
        lambda *_: Plan((replace(hot, expected_us=expected[profiled[-1]]),), ()),
    )
    monkeypatch.setattr(NetworkFolder, "write_dispatches", files)
    speedups = {PLAIN: 1.0, A: 5.0, B: 1.2, C: 1.19, D: 1.18}

    def choose(brief: float, *variants: OptionVariant) -> tuple[str, str, str]:
        tried.clear()
        folder = NetworkFolder(world.folder / f"{len([*world.folder.iterdir()])}")
        bases = [replace(world.base(one), speedup=speedups[one]) for one in variants]
        base, plan = choose_base(bases, folder, runner, world, AWAY, brief)  # type: ignore[arg-type]
        assert [*folder.work.iterdir()] == []
        kept = folder.candidates.read_text() if folder.candidates.exists() else ""
        return base.variant.name, plan.ranker, kept

    # Without tuning a takes 0.2 of the time, and b 0.17 with what is expected of it.
    assert choose(0.0, PLAIN, A, B) == ("a", "", "")
    assert choose(10.0, PLAIN, A, B) == ("a", "", "")  # too short to tell anything
    assert tried == []
    assert choose(30.0, PLAIN, A, B) == ("a", "the ranker of a", "of a")
    assert tried == ["a", "b"]  # and not the usual options, which are far behind
    left["b"] = 0.2
    assert choose(30.0, PLAIN, A, B) == ("b", "the ranker of b", "of b")
    left["b"] = None
    assert choose(30.0, PLAIN, A, B)[0] == "a"  # of the other one nothing is known
    left |= {"a": None, "b": 0.1}
    assert choose(30.0, PLAIN, A, B)[0] == "a"  # nor of what was to be beaten
    assert tried == ["a"]
    left["a"] = 0.9
    killed.add("b")
    assert choose(30.0, PLAIN, A, B)[0] == "a"  # and does not end the session
    assert tried == ["a", "b"]
    killed.clear()
    assert choose(30.0, PLAIN, D, C, A, B)[0] == "b"
    assert tried == ["a", "b", "c"]  # and no more, for want of time


def test_options_that_noise_hid_are_compared_with_what_took_the_specs_place(world: World) -> None:
    world.times = {"a": 60.0, "a spec": 50.0, "b": 45.0, "c": 48.0}
    measure = world.measure_speedup

    def once_unclear(before: Path, after: Path, *rest: Any, **more: Any) -> Speedup:
        found = measure(before, after, *rest, **more)
        hidden = (before.name, after.name) == ("a spec", "b")
        return replace(found, speedup=1.01, interval=(0.9, 1.1)) if hidden else found

    world.measure_speedup = once_unclear  # type: ignore[method-assign]
    winner = world.finished(A, A, B, C).winner
    assert winner is not None
    assert (winner.base.variant, winner.spec) == (B, None)


def test_options_that_noise_hid_are_timed_for_longer(world: World) -> None:
    """Beside the spec that keeps its place as long as nothing is faster beyond noise."""
    world.times = {"a": 60.0, "a spec": 50.0, "b": 48.0}
    measure = world.measure_speedup

    def noisy(before: Path, after: Path, seed: int, rounds: int = 15, patience: float = 0) -> Any:
        found = measure(before, after, seed, rounds, patience)
        return found if patience else replace(found, noise_floor=0.1)

    world.measure_speedup = noisy  # type: ignore[method-assign]
    winner = world.finished(A, A, B).winner
    assert winner is not None
    assert (winner.base.variant, winner.spec) == (B, None)


def test_what_changes_nothing_alone_is_tried_with_what_changes_more(world: World) -> None:
    """Data tiling is for products, which convolutions are after im2col."""
    tiling = OptionVariant("t", ("--t",), tunable=False)
    world.times, world.same = {"a": 60.0, "at": 40.0}, {"t"}
    found, kept = world.tried(A, tiling)
    assert outcomes(found)["t"] == "it changes nothing"
    assert outcomes(found)["a + t"] == 2.5
    assert kept[0].variant.name == "a + t"


def test_a_session_that_is_killed_leaves_options_to_the_next(world: World) -> None:
    world.times, world.at_a_time = {"a": 60.0, "b": 40.0}, 1
    told: list[dict[str, float | str]] = []

    def keep(found: list[VariantOutcome], _: object) -> None:
        told.append(outcomes(found))

    world.tried(A, B, keep=keep)
    assert told[0] == {"a": 100 / 60, "b": "no time was left for it"}
    assert told[1] == {"a": 100 / 60, "b": 2.5}
    # Also where several are compiled side by side: each is kept when it was timed.
    world.at_a_time = 2
    told.clear()
    world.tried(A, B, keep=keep)
    assert told[0] == {"a": 100 / 60, "b": "no time was left for it"}


@pytest.mark.parametrize(
    ("options", "spec", "times", "behind"),
    [
        ("a", True, {"b spec": 50.0, "a earlier": 40.0}, True),
        ("a", True, {"b spec": 50.0, "a earlier": 60.0}, False),
        ("a", False, {"b spec": 50.0, "a": 40.0}, True),
        ("c", False, {"b spec": 50.0, "c": 40.0}, True),  # which is no base any more
        ("d", False, {"b spec": 50.0, "d": 40.0}, False),
    ],
)
def test_what_sessions_ended_with_is_compared_in_turns(
    options: str, spec: bool, times: dict[str, float], behind: bool, world: World
) -> None:
    """Of an earlier one; D does not compile any more."""
    world.times, world.refused = times, {"d"}
    path = world.folder / "spec.mlir"
    path.write_text("the spec of before")
    end = world.finished(B, B)
    bases = [world.base(one) for one in (PLAIN, A, B)]
    rest = [A, B, C, D], bases, world, world, 0
    before = path if spec else None
    assert is_behind(end, options, before, *rest) == behind  # type: ignore[arg-type]
    assert is_behind(Finish(None, None), options, before, *rest)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the earlier session's result: there are no options 'e'"):
        is_behind(end, "e", before, *rest)  # type: ignore[arg-type]


@pytest.mark.parametrize(("starter", "behind"), [("a spec of another tool", True), (None, False)])
def test_an_earlier_result_with_the_users_own_spec_is_compared(
    starter: str | None, behind: bool, world: World
) -> None:
    """It leaves no mark; one of ours that leaves none matches nothing any more."""
    world.times, world.unmarked = {"b spec": 50.0, "a earlier": 40.0}, {"a earlier"}
    world.starter = starter
    path = world.folder / "spec.mlir"
    path.write_text("// 2.5x\na spec of another tool")
    bases = [world.base(one) for one in (PLAIN, A, B)]
    rest = [A, B], bases, world, world, 0
    assert is_behind(world.finished(B, B), "a", path, *rest) == behind  # type: ignore[arg-type]


def test_a_further_session_tries_options_that_there_was_no_time_for(world: World) -> None:
    """What was tuned with other options before goes on to be tuned with these."""
    device = SimpleNamespace(shares_cores=False, fingerprint="here")
    late = VariantOutcome.of(B, reason="no time was left for it")
    world.times = {"a": 60.0, "b": 40.0, "ab": 45.0}
    plan = Plan((), ())
    folder = NetworkFolder(world.folder)
    for further, names in ((False, ["plain", "a"]), (True, ["plain", "b", "ab", "a"])):
        folder.save_tried(TriedVariants((VariantOutcome.of(A, 1.5), late), "a", ("a",), "here"))
        folder.save_plan(plan)
        chosen = choose(
            world, [A, B], world.base(PLAIN), world, folder, device, 60.0, further=further  # type: ignore[arg-type]
        )  # fmt: skip
        assert [base.compiled.executable.name for base in chosen.bases] == names
        assert chosen.base.variant == A
        tried = folder.tried([A, B])
        assert tried is not None
        assert (tried.tuned, "b" in tried.faster) == ("a", further)
