"""What an evaluation compares: rankers by name or from a file, and other people's searches."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core import InputError, escape_undecodable
from ...features import CPU, detect_catalogue
from ...models import (
    READY,
    AdaptiveRanker,
    Ranker,
    create_ranker,
    load,
    names_a_file,
    ranker_class,
    ranker_names,
)
from ..arguments import split_names
from ..learning import (
    Case,
    device_warning,
    parse_parameters,
    problems_trained_on,
)
from ..observing import is_registered, local_ranker
from ..peers import DONORS, PEERS, Peer, find_peer
from .holdout import Fold

SHUFFLE = "shuffle"
# The prior of an adaptive ranker that has none.
COLD_PRIOR = "nothing"
# Said where nothing else is.
USUAL_PRIOR = "usual"
# Between a name and its parameters; values in JSON have colons, too.
_SETTING = re.compile(r":(?=\w+=|\w*$)")
# They learn to order candidates of any kind.
LEARNERS = ("forest", "lightgbm", "adaptive")


@dataclass(frozen=True)
class Contender:
    """A ranker or a peer that takes part.

    Attributes:
        name: what it is called in the results.
        ranker: its name in the registry, or that of the peer.
        params: of its constructor; with a seed among them, it is made with that one only.
        file: of one that is trained already, and used as it is.
    """

    name: str
    ranker: str
    params: Mapping[str, Any] = field(default_factory=dict)
    file: Path | None = None

    @classmethod
    def parse(cls, text: str) -> Contender:
        """Parses `NAME[:PARAM=VALUE...]`, a saved ranker's path, `models:/...`, or a peer's name.

        Args:
            text: parameters may follow a name: `forest:trees=30:min_leaf=20`. A file that is called
                like a ranker is meant only with its folder: `./forest`.

        Raises:
            InputError: it is neither, or there is no such parameter.
            WorkError: a copy of the registry's cannot be written.
        """
        if is_registered(text):
            file = Path(local_ranker(text))
            return cls(text, load(file).name, file=file)
        if text in PEERS:
            find_peer(text)  # refuses what is not installed
            return cls(text, text)
        name, *settings = _SETTING.split(text)
        if name not in ranker_names() and names_a_file(text):
            return cls(escape_undecodable(text), load(text).name, file=Path(text))
        params = parse_parameters(name, settings)
        if isinstance(prior := params.get("prior"), str):
            params["prior"] = local_ranker(prior)
        contender = cls(text, ranker_class(name).name, params)
        contender.make(seed=0)  # refuses what cannot be
        return contender

    @property
    def peer(self) -> Peer | None:
        """Which peer it is; None for a ranker."""
        return PEERS.get(self.ranker)

    @property
    def files(self) -> list[Path]:
        """Of what it has learned already: its own, or that of the prior that it starts from."""
        prior = self.params.get("prior")
        if isinstance(prior, str) and names_a_file(prior):
            return [Path(prior)]
        return [] if self.file is None else [self.file]

    @property
    def needs_fit(self) -> bool:
        """Whether it cannot do without recordings to learn from."""
        return not self.files and self.peer is None and self._learner.needs_fit

    @property
    def learns(self) -> bool:
        """Whether recordings of other problems or devices change its order."""
        if self.peer is not None:
            return self.peer.given == DONORS
        if self.files or self.is_cold or self.params.get("prior") == 1:
            return False
        return self._learner.fit is not Ranker.fit

    @property
    def _learner(self) -> type[Ranker]:
        """What is fitted: it itself, or the other ranker that an adaptive one starts from."""
        own, prior = ranker_class(self.ranker), self.params.get("prior")
        if not issubclass(own, AdaptiveRanker) or not isinstance(prior, str):
            return own
        return own if prior in (USUAL_PRIOR, COLD_PRIOR) else ranker_class(prior)

    @property
    def seeded(self) -> bool:
        """Whether its order depends on a seed that is not among its parameters."""
        if self.peer is not None:
            return True
        cls = ranker_class(self.ranker)
        # What was trained keeps its order, but for a search, which draws lots as it goes.
        draws = self.file is None or issubclass(cls, AdaptiveRanker)
        return draws and "seed" in cls.param_names() and "seed" not in self.params

    @property
    def searches_knobs(self) -> bool:
        """Whether it steps from candidate to candidate by their knobs, having learned nothing."""
        if self.peer is not None:
            return True
        cls = ranker_class(self.ranker)
        return issubclass(cls, AdaptiveRanker) and cls.reads_knobs

    @property
    def is_cold(self) -> bool:
        """Whether it starts from nothing, though others of its name learn beforehand."""
        return self.params.get("prior") == COLD_PRIOR

    @property
    def is_trained(self) -> bool:
        """Whether it has learned before any fold trains it, and keeps what it knows."""
        prior = self.params.get("prior")
        return bool(self.files) or (bool(prior) and not isinstance(prior, str))

    def make(self, seed: int) -> Ranker:
        """The ranker, not trained yet unless it is from a file."""
        if self.file is not None:
            return load(self.file, seed if self.seeded else None)
        return create_ranker(self.ranker, **self.params, **({"seed": seed} if self.seeded else {}))

    def device_warning(self, cases: Sequence[Case]) -> str:
        """A warning if a saved ranker was trained on other devices than these; empty if not."""
        if not self.files:
            return ""
        ranker = self.make(seed=0)
        used = defaultdict[str, set[str]](set)
        for about in (case.recording.provenance for case in cases):
            used[about.target.arch if about.target else ""].update(about.devices.values())
        found = [device_warning(ranker, sorted(used[arch]), arch) for arch in sorted(used)]
        return "; ".join(filter(None, found))

    def cases_trained_on(self, cases: Sequence[Case]) -> list[str]:
        """Names of the cases that it has learned from as it is: as saved, or as it ships."""
        if self.peer is not None or not cases:
            return []
        asked = {(case.problem, device) for case in cases for device in case.devices}
        known = problems_trained_on(self.make(seed=0), asked)
        return [
            case.name
            for case in cases
            # What was recorded on several devices was learned from on each.
            if any((case.problem, device) in known for device in case.devices)
        ]


def usual_rankers(cases: Sequence[Case], folds: Sequence[Fold]) -> str:
    """The rankers to compare where none are asked for: those that can order all cases.

    Where a fold leaves nothing to learn from, those that have to be trained are none of them.
    """
    kinds = {getattr(detect_catalogue(case.features.columns), "name", "") for case in cases}
    ready = ["heuristic"] * (kinds <= READY.keys()) + ["cpu"] * (kinds == {CPU.name})
    untrained = not all(fold.train for fold in folds)
    learners = (n for n in LEARNERS if not (untrained and ranker_class(n).needs_fit))
    return ",".join([*ready, *learners])


def find_contenders(*lists: str) -> list[Contender]:
    """Those of lists with commas, each once, and random order, which all are compared with.

    Args:
        lists: what is the name of a file as a whole stands for that file, whatever is in it.

    Raises:
        InputError: there is nothing in them, or something that is no ranker.
    """
    asked = split_names(lists)
    if not asked:
        raise InputError(
            "the list of rankers is empty", "give some of `frontrunner rankers`, such as heuristic"
        )
    return [Contender.parse(name) for name in dict.fromkeys([SHUFFLE, *asked])]
