from __future__ import annotations

import math
import subprocess
import sys

import pytest

from frontrunner.core.errors import InputError
from frontrunner.models import (
    Ranker,
    create_ranker,
    default_ranker,
    list_rankers,
    names_a_file,
    ranker_class,
    resolve_ranker,
    save,
)

BUILT_IN = ["shuffle", "cpu", "heuristic", "forest", "lightgbm", "adaptive", "tpe", "genetic"]


def test_lists_the_built_in_rankers_first(install):
    install()
    found = list_rankers()
    assert [i.name for i in found] == [*BUILT_IN, "widest"]
    assert [i.source for i in found] == ["built in"] * len(BUILT_IN) + ["widest-ranker"]
    assert found[-1].summary == "Wide vector tiles first, with a learned offset."
    for info in found:
        assert info.summary
        assert info.needs_training is ranker_class(info.name).needs_fit


def test_listing_imports_no_heavy_library():
    code = (
        "import sys, frontrunner.models as m; m.list_rankers(); m.create_ranker('heuristic'); "
        "print([n for n in ('sklearn', 'lightgbm', 'skops', 'scipy') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_an_unknown_name_lists_the_known_ones(install):
    install()
    with pytest.raises(InputError, match="no ranker 'forst'; did you mean 'forest'") as caught:
        create_ranker("forst")
    assert caught.value.hint == f"known rankers: {', '.join(BUILT_IN)}, widest"


def test_a_name_as_long_as_a_file_is_not_looked_for():
    with pytest.raises(InputError) as caught:
        create_ranker("a" * 1_000_000)
    assert len(str(caught.value)) < 200


def test_a_ranker_without_a_constructor_has_no_parameters():
    class Plain(Ranker):
        name = "plain"

        def score(self, frame):
            return frame["x"].to_numpy()

    assert Plain.param_names() == ()
    assert Plain().get_params() == {}


def test_an_unknown_parameter_lists_the_valid_ones():
    with pytest.raises(InputError, match="ranker 'shuffle' has no parameter 'sead'") as caught:
        create_ranker("shuffle", sead=3)
    assert caught.value.hint == "its parameters: seed"


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_number_among_parameters_has_limits(name):
    cls = ranker_class(name)
    defaults = cls().get_params()
    cls.check_params(defaults)
    numbers = {key for key, value in defaults.items() if type(value) in (int, float)}
    assert numbers <= set(cls.limits)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("adaptive", {"batch": 0}, "batch .* a whole number from 1 to 1000, got 0"),
        ("tpe", {"batch": -1}, "batch .* got -1"),
        ("genetic", {"batch": "x"}, "batch .* got 'x'"),
        ("genetic", {"mutation": 1.5}, "mutation .* a number from 0 to 1, got 1.5"),
        ("adaptive", {"batch": True}, "batch .* got True"),
        ("adaptive", {"batch": 8.0}, "batch .* got 8.0"),
        ("adaptive", {"explore": math.nan}, "explore .* a number from 0 to 1, got nan"),
        ("adaptive", {"explore": 7}, "explore .* got 7"),
        ("adaptive", {"explore": None}, "explore .* got None"),
        ("adaptive", {"prior": 3}, "prior .* a word, got 3"),
        ("shuffle", {"seed": -1}, "seed .* got -1"),
        ("shuffle", {"seed": 10**400}, r"seed .* got 1000.*\.\.\."),
        ("cpu", {"prior": [0.5]}, r"prior .* got \[0.5\]"),
        ("forest", {"trees": 0}, "trees .* from 1 to 10000, got 0"),
        ("lightgbm", {"rounds": 0}, "rounds .* from 1 to 10000, got 0"),
        ("lightgbm", {"leaves": 1}, "leaves .* from 2 to 131072, got 1"),
        ("lightgbm", {"learning_rate": math.inf}, "learning_rate .* got inf"),
        ("heuristic", {"weights": "x"}, "weights .* have to be numbers .* got 'x'"),
        ("heuristic", {"weights": {"lanes": "x"}}, "weights .* have to be numbers"),
        ("heuristic", {"weights": {"lanes": math.nan}}, "weights .* have to be numbers"),
        ("shuffle", {"name": "x"}, "has no parameter 'name'"),
    ],
)
def test_impossible_parameters_are_refused(name, params, message):
    with pytest.raises(InputError, match=message) as caught:
        create_ranker(name, **params)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_parameters_of_a_plug_in_have_the_type_of_their_default(install):
    install()
    assert create_ranker("widest", sign=2).get_params() == {"sign": 2}
    with pytest.raises(InputError, match="sign of ranker 'widest' has to be a number, got inf"):
        create_ranker("widest", sign=math.inf)


@pytest.mark.parametrize(
    "use", [list_rankers, lambda: create_ranker("shuffle"), lambda: resolve_ranker("forest")]
)
def test_a_plug_in_with_the_name_of_a_built_in_is_refused(install, use):
    install(name="forest", dist="evil-twin")
    with pytest.raises(InputError, match="'forest' of evil-twin has the name of one built in"):
        use()


def test_two_plug_ins_with_one_name_are_refused(install):
    install(dist="first")
    install(dist="second", target="frontrunner_other:WidestRanker")
    with pytest.raises(InputError, match=r"'widest' of .* has the name of one of "):
        list_rankers()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import no_such_module", "cannot be imported .ModuleNotFoundError"),
        ("class WidestRanker: pass", "must be a subclass of frontrunner.models.Ranker"),
        (
            "from frontrunner.models import Ranker\n"
            "class WidestRanker(Ranker):\n"
            "    name = 'other'\n"
            "    def score(self, frame): return []\n",
            "calls itself 'other'",
        ),
        (
            "from frontrunner.models import Ranker\n"
            "class WidestRanker(Ranker):\n"
            "    def score(self, frame): return []\n",
            "calls itself None",
        ),
        (
            "from frontrunner.models import Ranker\n"
            "class WidestRanker(Ranker):\n"
            "    name = 'widest'\n"
            "    def scores(self, frame): return []\n",
            "lacks score",
        ),
    ],
)
def test_a_broken_plug_in_is_explained_and_breaks_no_other(install, code, message):
    install(code=code)
    with pytest.raises(InputError, match=message):
        create_ranker("widest")
    info = list_rankers()[-1]
    assert info.name == "widest"
    assert info.needs_training is None
    assert create_ranker("shuffle").name == "shuffle"


def test_resolve_passes_the_seed_where_there_is_one():
    assert resolve_ranker("shuffle", seed=7).get_params() == {"seed": 7}
    assert resolve_ranker("heuristic", seed=7).name == "heuristic"


def test_parameters_are_no_file_and_not_for_tuning():
    assert not names_a_file("forrest:sample=0.5")
    assert names_a_file("gone.predictor")
    with pytest.raises(InputError, match=r"takes no parameters here, got 'cpu:prior=0\.5'"):
        resolve_ranker("cpu:prior=0.5")


@pytest.mark.parametrize("name", ["forest", "lightgbm"])
def test_resolve_asks_for_a_trained_file(name):
    with pytest.raises(InputError, match=f"'{name}' has to be trained first") as caught:
        resolve_ranker(name)
    assert f"frontrunner train RECORDINGS --ranker {name}" in caught.value.hint


def test_resolve_reads_a_file_by_any_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("cpu.zip", "plain"):
        save(create_ranker("shuffle", seed=5), tmp_path / name)
        assert resolve_ranker(name, seed=1).get_params() == {"seed": 5}
    assert resolve_ranker(tmp_path / "plain").get_params() == {"seed": 5}


def test_resolve_of_a_missing_file_says_so(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*none.zip: No such file"):
        resolve_ranker(tmp_path / "none.zip")


def test_a_name_too_long_for_a_file_is_no_ranker():
    with pytest.raises(InputError, match="no ranker 'xxx"):
        resolve_ranker("x" * 5000)


def test_the_default_needs_no_training_and_suits_the_target(samples):
    assert default_ranker(samples.TARGET) == "cpu"
    assert default_ranker(samples.SM_80) == "heuristic"
