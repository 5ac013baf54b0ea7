from __future__ import annotations

import subprocess
import sys

import pytest

from frontrunner.models import create, default_ranker, known, ranker_class, resolve, save
from frontrunner.search.errors import InputError

BUILT_IN = ["shuffle", "cpu", "heuristic", "forest", "lightgbm", "adaptive", "tpe", "genetic"]


def test_lists_the_built_in_rankers_first(install):
    install()
    found = known()
    assert [i.name for i in found] == [*BUILT_IN, "widest"]
    assert [i.source for i in found] == ["built in"] * len(BUILT_IN) + ["widest-ranker"]
    assert found[-1].summary == "Wide vector tiles first, with a learned offset."
    for info in found:
        assert info.summary
        assert info.needs_training is ranker_class(info.name).needs_fit


def test_listing_imports_no_heavy_library():
    code = (
        "import sys, frontrunner.models as m; m.known(); m.create('heuristic'); "
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
        create("forst")
    assert caught.value.hint == f"known rankers: {', '.join(BUILT_IN)}, widest"


def test_an_unknown_parameter_lists_the_valid_ones():
    with pytest.raises(InputError, match="ranker 'shuffle' has no parameter 'sead'") as caught:
        create("shuffle", sead=3)
    assert caught.value.hint == "its parameters: seed"


@pytest.mark.parametrize("use", [known, lambda: create("shuffle"), lambda: resolve("forest")])
def test_a_plug_in_with_the_name_of_a_built_in_is_refused(install, use):
    install(name="forest", dist="evil-twin")
    with pytest.raises(InputError, match="'forest' of evil-twin has the name of one built in"):
        use()


def test_two_plug_ins_with_one_name_are_refused(install):
    install(dist="first")
    install(dist="second", target="frontrunner_other:WidestRanker")
    with pytest.raises(InputError, match=r"'widest' of .* has the name of one of "):
        known()


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
    ],
)
def test_a_broken_plug_in_is_explained_and_breaks_no_other(install, code, message):
    install(code=code)
    with pytest.raises(InputError, match=message):
        create("widest")
    info = known()[-1]
    assert info.name == "widest"
    assert info.needs_training is None
    assert create("shuffle").name == "shuffle"


def test_resolve_passes_the_seed_where_there_is_one():
    assert resolve("shuffle", seed=7).get_params() == {"seed": 7}
    assert resolve("heuristic", seed=7).name == "heuristic"


@pytest.mark.parametrize("name", ["forest", "lightgbm"])
def test_resolve_asks_for_a_trained_file(name):
    with pytest.raises(InputError, match=f"'{name}' has to be trained first") as caught:
        resolve(name)
    assert f"frontrunner train RECORDINGS --ranker {name}" in caught.value.hint


def test_resolve_reads_a_file_by_any_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("cpu.zip", "plain"):
        save(create("shuffle", seed=5), tmp_path / name)
        assert resolve(name, seed=1).get_params() == {"seed": 5}
    assert resolve(tmp_path / "plain").get_params() == {"seed": 5}


def test_resolve_of_a_missing_file_says_so(tmp_path):
    with pytest.raises(InputError, match=r"cannot read the ranker .*none.zip: No such file"):
        resolve(tmp_path / "none.zip")


def test_the_default_needs_no_training_and_suits_the_target(samples):
    assert default_ranker(samples.TARGET) == "cpu"
    assert default_ranker(samples.SM_80) == "heuristic"
