"""What is kept, and which files are refused."""

from __future__ import annotations

import io
import json
import pickle
import zipfile

import numpy as np
import pytest

from frontrunner import features
from frontrunner.core.errors import InputError, WorkError
from frontrunner.core.limits import limit_bytes
from frontrunner.models import create_ranker, is_saved, load, save
from frontrunner.models.storage import _manifest, _read
from frontrunner.models.untrusted import GROWTH


@pytest.fixture(scope="module", params=["forest", "lightgbm"])
def trained(request, training):
    small = {"forest": {"trees": 3}, "lightgbm": {"rounds": 3}}[request.param]
    return create_ranker(request.param, **small).fit(*training)


@pytest.fixture
def file(trained, tmp_path):
    save(trained, tmp_path / "ranker.zip", {"device": "local-task", "rows": 600})
    return tmp_path / "ranker.zip"


def rewrite(path, change):
    """Changes the pieces of an archive in place."""
    with zipfile.ZipFile(path) as archive:
        pieces = {n: archive.read(n) for n in archive.namelist()}
    change(pieces)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in pieces.items():
            archive.writestr(name, data)


def edit_manifest(path, change):
    def apply(pieces):
        manifest = json.loads(pieces["manifest.json"])
        change(manifest)
        pieces["manifest.json"] = json.dumps(manifest).encode()

    rewrite(path, apply)


def refusal(path) -> str:
    with pytest.raises(InputError) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_manifest_says_what_it_is(file, trained):
    manifest = _manifest(_read(file), file)
    assert manifest["ranker"] == trained.name
    assert manifest["params"] == trained.get_params()
    assert manifest["features"] == {
        "catalogue": "cpu",
        "version": features.CPU.version,
        "names": list(features.CPU.names),
    }
    assert manifest["training"] == {"device": "local-task", "rows": 600}
    assert load(file).training_ == manifest["training"]


def test_what_is_read_and_written_again_is_the_same_file(file, tmp_path):
    save(load(file), tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == file.read_bytes()


def test_the_same_ranker_makes_the_same_bytes(file, trained, training, tmp_path):
    again = create_ranker(trained.name, **trained.get_params()).fit(*training)
    save(again, tmp_path / "again.zip", {"device": "local-task", "rows": 600})
    assert (tmp_path / "again.zip").read_bytes() == file.read_bytes()


def test_saving_replaces_the_file_and_leaves_nothing_else(file):
    save(create_ranker("shuffle", seed=9), file)
    assert load(file).get_params() == {"seed": 9}
    assert [p.name for p in file.parent.iterdir()] == ["ranker.zip"]


def test_a_failed_save_keeps_the_old_file(file, trained, monkeypatch):
    before = file.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(WorkError, match=r"cannot write .*No space left on device"):
        save(create_ranker("shuffle"), file)
    assert file.read_bytes() == before
    assert [p.name for p in file.parent.iterdir()] == ["ranker.zip"]


@pytest.mark.parametrize("where", ["none/ranker.zip", "."])
def test_a_place_that_cannot_be_written_is_named(tmp_path, where):
    with pytest.raises(WorkError, match="cannot write"):
        save(create_ranker("shuffle"), tmp_path / where)
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_another_version_is_a_saved_ranker_too(file, tmp_path):
    assert is_saved(file)
    for name, manifest in {"new": {"format": 99, "ranker": "x"}, "odd": {}, "list": []}.items():
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("manifest.json", json.dumps(manifest))
        assert is_saved(tmp_path / name) is (name == "new")
    assert not is_saved(tmp_path / "none")
    assert not is_saved(tmp_path)
    (tmp_path / "half").write_bytes(file.read_bytes()[:100])
    assert not is_saved(tmp_path / "half")


def test_an_untrained_ranker_is_not_saved(tmp_path):
    with pytest.raises(InputError, match="'forest' is not trained"):
        save(create_ranker("forest"), tmp_path / "ranker.zip")
    assert list(tmp_path.iterdir()) == []


def test_another_feature_version_is_refused(file):
    edit_manifest(file, lambda m: m["features"].update(version=features.CPU.version + 1))
    text = refusal(file)
    assert f"version {features.CPU.version + 1}" in text
    assert f"this frontrunner has {features.CPU.version}" in text


def test_names_that_are_no_text_are_refused(tmp_path):
    """JSON can have half of a pair of surrogates."""
    features = {"catalogue": "generic", "version": 1, "names": ["knob.\ud800"]}
    manifest = {"format": 2, "ranker": "shuffle", "params": {}, "training": {}}
    path = tmp_path / "bad.predictor"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps({**manifest, "features": features}))
    with pytest.raises(InputError, match="a knob, or a word of one, is no text"):
        load(path)


def test_features_of_an_unknown_kind_of_target_are_refused(file):
    edit_manifest(file, lambda m: m["features"].update(catalogue="tpu"))
    assert "are for 'tpu', but this frontrunner has cpu, gpu" in refusal(file)


def test_other_features_are_refused_by_name(file):
    def change(manifest):
        names = manifest["features"]["names"]
        names.remove("vec_k_log2")
        names.append("phase_of_the_moon")

    edit_manifest(file, change)
    assert "has phase_of_the_moon beyond them" in refusal(file)


def test_what_a_terminal_would_obey_is_refused(file):
    edit_manifest(file, lambda m: m["features"]["names"].append("\x1b[2J"))
    assert "its manifest.json is missing or damaged" in refusal(file)


def test_another_order_of_features_is_refused(file):
    edit_manifest(file, lambda m: m["features"]["names"].reverse())
    assert "another order" in refusal(file)


def test_another_format_is_refused(file):
    edit_manifest(file, lambda m: m.update(format=99))
    assert "format 99, and this frontrunner reads 2" in refusal(file)


def test_an_unknown_ranker_and_unknown_parameters_are_refused(file):
    edit_manifest(file, lambda m: m["params"].update(depth=3))
    assert "has no parameter 'depth'" in refusal(file)
    edit_manifest(file, lambda m: m.update(ranker="oracle"))
    assert "no ranker 'oracle'" in refusal(file)


@pytest.mark.parametrize(
    ("ranker", "params", "message"),
    [
        ("tpe", {"batch": 0}, "batch of ranker 'tpe' has to be a whole number"),
        ("shuffle", {"name": "x"}, "'shuffle' has no parameter 'name'"),
        ("adaptive", {"prior": "/dev/zero"}, "the file '/dev/zero' as prior"),
    ],
)
def test_parameters_that_somebody_made_up_are_refused(file, ranker, params, message):
    edit_manifest(file, lambda m: m.update(ranker=ranker, params=params))
    assert message in refusal(file)


@pytest.mark.parametrize("share", [0, 0.3, 0.9, 0.999])
def test_a_truncated_file_is_refused(file, share):
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * share)])
    assert "is not a saved ranker, or is damaged" in refusal(file)


def test_flipped_bytes_never_pass_and_never_crash(file, training):
    data = bytearray(file.read_bytes())
    scores = load(file).score(training[0])
    refused = 0
    for position in np.random.default_rng(0).integers(0, len(data), 60):
        broken = data.copy()
        broken[position] ^= 0x55
        file.write_bytes(broken)
        try:
            loaded = load(file)
        except InputError:
            refused += 1
            continue
        # Some bytes of a zip archive, such as times, mean nothing.
        np.testing.assert_array_equal(loaded.score(training[0]), scores)
    assert refused > 30


@pytest.mark.parametrize(
    "content",
    [b"", b"module {}", b"\x80\x04N.", pickle.dumps({"a": 1}), b"PK\x05\x06" + bytes(18)],
    ids=["empty", "text", "pickle", "pickled dict", "empty zip"],
)
def test_foreign_files_are_refused(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    assert "is not a saved ranker" in refusal(tmp_path / "x")


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    assert "No such file" in refusal(tmp_path / "none")
    assert "not a regular file" in refusal(tmp_path)


def test_a_device_is_not_read():
    assert "/dev/zero is not a regular file" in refusal("/dev/zero")


NO_KIND = b"""{"format": 2, "ranker": "shuffle", "params": {},
               "features": {"catalogue": [], "version": 1, "names": []}}"""


@pytest.mark.parametrize(
    "manifest",
    [b"{", b"[]", b"{}", b'{"format": 2, "ranker": 3}', b"null", NO_KIND, b"[" * 100_000],
    ids=["cut", "list", "empty", "number", "null", "no kind", "nested"],
)
def test_a_damaged_manifest_is_refused(file, manifest):
    rewrite(file, lambda pieces: pieces.update({"manifest.json": manifest}))
    assert "manifest.json is missing or damaged" in refusal(file)


def test_missing_learned_data_is_refused(file):
    def change(pieces):
        for name in list(pieces):
            if name != "manifest.json":
                del pieces[name]

    rewrite(file, change)
    assert "cannot use" in refusal(file)


def test_an_archive_that_unpacks_to_too_much_is_refused(file):
    # So much for the file, which is smaller, and a share of it for what is in it.
    with limit_bytes(max(file.stat().st_size, 20 * 1024)):
        assert "it unpacks to more than the limit of" in refusal(file)
    with limit_bytes(GROWTH * 1_000_000):
        load(file)


def test_what_could_not_be_read_again_is_not_saved(trained, tmp_path):
    refused = pytest.raises(InputError, match=r"learned takes [\d.]+ KiB, more than 1 KiB")
    with limit_bytes(GROWTH * 1024), refused:
        save(trained, tmp_path / "ranker.zip")
    assert list(tmp_path.iterdir()) == []


# What somebody could put into a file on purpose -----------------------------------------------


class Bomb:
    def __reduce__(self):
        return (print, ("executed",))


def archive(**pieces):
    """A zip archive with these files; `__` stands for a dot."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in pieces.items():
            file.writestr(name.replace("__", "."), data)
    return buffer.getvalue()


def objects():
    """NumPy's file of an array that holds a pickled object."""
    buffer = io.BytesIO()
    np.save(buffer, np.array([Bomb()], dtype=object), allow_pickle=True)
    return buffer.getvalue()


# What skops would call when it reads this.
SKOPS = json.dumps(
    {"__class__": "print", "__module__": "builtins", "__loader__": "FunctionNode", "content": "x"}
).encode()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(lambda: pickle.dumps(Bomb()), id="pickle"),
        pytest.param(lambda: archive(schema__json=SKOPS), id="skops"),
        pytest.param(lambda: archive(data__pkl=pickle.dumps(Bomb())), id="zipped pickle"),
        pytest.param(lambda: archive(manifest__json=pickle.dumps(Bomb())), id="manifest"),
        pytest.param(objects, id="npy"),
    ],
)
def test_foreign_files_are_not_executed(tmp_path, content, capsys):
    (tmp_path / "x").write_bytes(content())
    assert "is not a saved ranker" in refusal(tmp_path / "x")
    assert "executed" not in capsys.readouterr().out


@pytest.mark.parametrize("content", [lambda: pickle.dumps(Bomb()), objects, lambda: SKOPS])
def test_learned_pieces_are_not_executed(file, content, capsys):
    with zipfile.ZipFile(file) as whole:
        names = [n for n in whole.namelist() if n.startswith("learned/")]
    assert len(names) == 11
    rewrite(file, lambda pieces: pieces.update(dict.fromkeys(names, content())))
    assert "what was learned is damaged" in refusal(file)
    assert "executed" not in capsys.readouterr().out


def test_the_trees_of_another_catalogue_are_refused(file):
    others = {f"learned/{name}": bytes(4 * 700) for name in ("importance", "slopes", "centers")}
    rewrite(file, lambda p: p.update(others))
    assert "its trees are over 700 features" in refusal(file)
