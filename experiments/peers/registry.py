"""Which peers there are, by name, and what each is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import InputError, extra_hint, first_line
from ..learning import Case
from .objective import Floats, RecordedObjective, SearchOver, Subject, context_of

NOTHING, DONORS = "nothing", "other devices or problems"
_TORCH = "pip install torch"
# Models that are made anew for each candidate take minutes for more; what follows is at random.
MODEL_LIMIT = 128


@dataclass(frozen=True)
class Peer:
    """A search of somebody else.

    Attributes:
        summary: one line.
        module: where it is in this subpackage.
        libraries: the modules that it needs beyond what frontrunner needs.
        install: how they are installed, all together.
        options: for its function.
        given: what it knows beforehand: nothing, or other recordings.
        limit: of how many candidates it chooses the order; None for all.
    """

    name: str
    summary: str
    module: str
    libraries: tuple[str, ...] = ()
    install: str = extra_hint("baselines")
    options: Mapping[str, Any] = field(default_factory=dict)
    given: str = NOTHING
    limit: int | None = None

    @property
    def missing(self) -> tuple[str, ...]:
        """The libraries that are not installed."""
        return tuple(library for library in self.libraries if find_spec(library) is None)

    @property
    def remedy(self) -> str:
        """How what is missing is installed."""
        return _TORCH if self.missing == ("torch",) else self.install

    def check(self) -> None:
        """Refuses a peer whose library is not installed, or not as it has to be.

        Raises:
            InputError: naming what to install.
        """
        if self.missing:
            raise InputError(
                f"peer {self.name!r} needs {self.missing[0]}, which is not installed", self.remedy
            )
        try:
            self._module()
        except Exception as error:  # of another version, or broken
            told = f"peer {self.name!r} cannot be used: {first_line(error)}"
            raise InputError(told, self.install) from error

    def search(self, subject: Subject) -> None:
        """Asks for candidates until it is done, or told to stop."""
        run: Callable[..., None] = self._module().search
        run(subject, **self.options)

    def _module(self) -> ModuleType:
        return import_module(f".{self.module}", __package__)


def _kernel_tuner(name: str, strategy: str, what: str, limit: int | None = None) -> Peer:
    summary, options = f"Kernel Tuner's {what}", {"strategy": strategy}
    return Peer(name, summary, "in_kernel_tuner", ("kernel_tuner",), options=options, limit=limit)


_ALL = (
    _kernel_tuner("kt_random", "random_sample", "random sample"),
    _kernel_tuner("kt_annealing", "simulated_annealing", "simulated annealing"),
    _kernel_tuner("kt_genetic", "genetic_algorithm", "genetic algorithm"),
    _kernel_tuner("kt_basin_hopping", "basinhopping", "basin hopping"),
    _kernel_tuner("kt_pso", "pso", "particle swarm"),
    _kernel_tuner("kt_differential", "diff_evo", "differential evolution"),
    _kernel_tuner("kt_firefly", "firefly_algorithm", "firefly algorithm"),
    _kernel_tuner("kt_bayes", "bayes_opt", "Bayesian optimisation", limit=MODEL_LIMIT),
    _kernel_tuner("kt_hybrid_vndx", "hybrid_vndx", "hybrid VNDX, which an LLM wrote"),
    _kernel_tuner(
        "kt_grey_wolf", "adaptive_tabu_greywolf", "adaptive tabu grey wolf, which an LLM wrote"
    ),
    Peer(
        "optuna_tpe",
        "Optuna's tree-structured Parzen estimator on categories",
        "in_optuna",
        ("optuna",),
        options={"sampler": "TPESampler", "categories": True},
        limit=MODEL_LIMIT,
    ),
    Peer(
        "optuna_cmaes",
        "Optuna's CMA-ES on places of values",
        "in_optuna",
        ("optuna", "cmaes"),
        options={"sampler": "CmaEsSampler"},
    ),
    Peer(
        "optuna_gp",
        "Optuna's Gaussian process on places of values",
        "in_optuna",
        ("optuna", "torch"),
        options={"sampler": "GPSampler"},
        limit=MODEL_LIMIT,
        install=f"{extra_hint('baselines')}, then {_TORCH}",
    ),
    Peer(
        "sklearn_gp",
        "scikit-learn's Gaussian process with expected improvement",
        "in_sklearn",
        limit=MODEL_LIMIT,
    ),
    Peer(
        "lfbo",
        "a likelihood-free forest in the manner of Helion's, online",
        "likelihood_free",
        limit=MODEL_LIMIT,
    ),
    Peer(
        "tree_top10",
        "ten configurations that a tree over problems names, in the manner of AutoHeuristic",
        "top_choices",
        given=DONORS,
    ),
)

PEERS = {peer.name: peer for peer in _ALL}


def find_peer(name: str) -> Peer:
    """A peer whose library is there.

    Raises:
        InputError: it is not.
    """
    peer = PEERS[name]
    peer.check()
    return peer


def peer_order(
    peer: Peer,
    case: Case,
    donors: Sequence[Case],
    seed: int,
    should_stop: Callable[[Floats], bool] = lambda taken: False,
) -> NDArray[np.intp]:
    """All candidates of a case in the order in which a peer asks for them.

    What it does not ask for follows at random: it has ended, repeats itself, or reached its limit.

    Args:
        donors: recordings that it may learn from; left out for one that is given nothing.
        should_stop: is told the times so far, and says whether no figure depends on the rest.
    """
    ask = RecordedObjective(case.times, should_stop, peer.limit)
    subject = Subject(
        knobs=case.knobs,
        context=context_of(case),
        donors=donors if peer.given == DONORS else (),
        device=case.device,
        seed=seed,
        ask=ask,
    )
    if (case.knobs.nunique(dropna=False) > 1).any():  # of what is all alike, nothing is chosen
        with suppress(SearchOver):
            peer.search(subject)
    shuffled = np.random.default_rng([seed, len(case.times)]).permutation(len(case.times))
    return np.concatenate([ask.rows, shuffled[~np.isin(shuffled, ask.rows)]]).astype(np.intp)
