"""What is kept, and which files are refused."""

from __future__ import annotations

import io
import json
import pickle
import zipfile

import numpy as np
import pytest

from frontrunner import features
from frontrunner.models import create, load, read_manifest, save
from frontrunner.search.errors import InputError


@pytest.fixture(scope="module", params=["forest", "lightgbm"])
def trained(request, training):
    small = {"forest": {"trees": 3}, "lightgbm": {"rounds": 3}}[request.param]
    return create(request.param, **small).fit(*training)


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
    manifest = read_manifest(file)
    assert manifest["ranker"] == trained.name
    assert manifest["params"] == trained.get_params()
    assert manifest["features"] == {
        "catalogue": "cpu",
        "version": features.CPU.version,
        "names": list(features.CPU.names),
    }
    assert manifest["training"] == {"device": "local-task", "rows": 600}


def test_saving_replaces_the_file_and_leaves_nothing_else(file):
    save(create("shuffle", seed=9), file)
    assert load(file).get_params() == {"seed": 9}
    assert [p.name for p in file.parent.iterdir()] == ["ranker.zip"]


def test_a_failed_save_keeps_the_old_file(file, trained, monkeypatch):
    before = file.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InputError, match=r"cannot write .*No space left on device"):
        save(create("shuffle"), file)
    assert file.read_bytes() == before
    assert [p.name for p in file.parent.iterdir()] == ["ranker.zip"]


@pytest.mark.parametrize("where", ["none/ranker.zip", "."])
def test_a_place_that_cannot_be_written_is_named(tmp_path, where):
    with pytest.raises(InputError, match="cannot write"):
        save(create("shuffle"), tmp_path / where)
    assert list(tmp_path.iterdir()) == []


def test_an_untrained_ranker_is_not_saved(tmp_path):
    with pytest.raises(InputError, match="'forest' is not trained"):
        save(create("forest"), tmp_path / "ranker.zip")
    assert list(tmp_path.iterdir()) == []


def test_another_feature_version_is_refused(file):
    edit_manifest(file, lambda m: m["features"].update(version=features.CPU.version + 1))
    text = refusal(file)
    assert f"version {features.CPU.version + 1}" in text
    assert f"this frontrunner has {features.CPU.version}" in text


def test_features_of_an_unknown_kind_of_target_are_refused(file):
    edit_manifest(file, lambda m: m["features"].update(catalogue="tpu"))
    assert "are for 'tpu', but this frontrunner has cpu, gpu" in refusal(file)


def test_a_file_from_before_there_were_gpus_is_read(file, trained, training):
    edit_manifest(file, lambda m: m["features"].pop("catalogue"))
    np.testing.assert_array_equal(load(file).score(training[0]), trained.score(training[0]))


def test_other_features_are_refused_by_name(file):
    def change(manifest):
        names = manifest["features"]["names"]
        names.remove("vec_k_log2")
        names.append("phase_of_the_moon")

    edit_manifest(file, change)
    text = refusal(file)
    assert "lacks vec_k_log2" in text
    assert "has phase_of_the_moon beyond them" in text


def test_another_order_of_features_is_refused(file):
    edit_manifest(file, lambda m: m["features"]["names"].reverse())
    assert "another order" in refusal(file)


def test_another_format_is_refused(file):
    edit_manifest(file, lambda m: m.update(format=99))
    assert "format 99, but this frontrunner reads format 1" in refusal(file)


def test_an_unknown_ranker_and_unknown_parameters_are_refused(file):
    edit_manifest(file, lambda m: m["params"].update(depth=3))
    assert "has no parameter 'depth'" in refusal(file)
    edit_manifest(file, lambda m: m.update(ranker="oracle"))
    assert "no ranker 'oracle'" in refusal(file)


@pytest.mark.parametrize("share", [0, 0.3, 0.9, 0.999])
def test_a_truncated_file_is_refused(file, share):
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * share)])
    assert "is not a saved ranker, or is damaged" in refusal(file)


def test_flipped_bytes_never_pass_and_never_crash(file, training):
    data = bytearray(file.read_bytes())
    scores = load(file).score(training[0])
    for position in np.random.default_rng(0).integers(0, len(data), 60):
        broken = data.copy()
        broken[position] ^= 0x55
        file.write_bytes(broken)
        try:
            loaded = load(file)
        except InputError:
            continue
        # Some bytes of a zip archive, such as times, mean nothing.
        np.testing.assert_array_equal(loaded.score(training[0]), scores)


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
    assert "Is a directory" in refusal(tmp_path)


NO_KIND = b"""{"format": 1, "ranker": "shuffle", "params": {},
               "features": {"catalogue": [], "version": 1, "names": []}}"""


@pytest.mark.parametrize(
    "manifest", [b"{", b"[]", b"{}", b'{"format": 1, "ranker": 3}', b"null", NO_KIND]
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


def test_an_archive_that_unpacks_to_too_much_is_refused(file, monkeypatch):
    monkeypatch.setattr("frontrunner.models.untrusted.MAX_BYTES", 1000)
    assert "more than 1000" in refusal(file)


# What somebody could put into a file on purpose -----------------------------------------------


@pytest.fixture
def forest_file(training, tmp_path):
    save(create("forest", trees=2).fit(*training), tmp_path / "forest.zip")
    return tmp_path / "forest.zip"


@pytest.fixture
def boosted_file(training, tmp_path):
    save(create("lightgbm", rounds=2).fit(*training), tmp_path / "boosted.zip")
    return tmp_path / "boosted.zip"


class Bomb:
    def __reduce__(self):
        return (print, ("executed",))


def test_pickles_are_not_read(forest_file, capsys):
    rewrite(forest_file, lambda p: p.update({"learned/forest.skops": pickle.dumps(Bomb())}))
    assert "cannot use" in refusal(forest_file)
    assert "executed" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "thing",
    [
        pytest.param(lambda: print, id="a function"),
        pytest.param(lambda: {"a": np.log2}, id="a ufunc"),
        pytest.param(lambda: __import__("sklearn.svm").svm.SVC(), id="another estimator"),
        pytest.param(lambda: np.array([Bomb()], dtype=object), id="an array of objects"),
    ],
)
def test_types_that_no_forest_needs_are_refused(forest_file, thing):
    import skops.io

    data = skops.io.dumps(thing())
    rewrite(forest_file, lambda p: p.update({"learned/forest.skops": data}))
    text = refusal(forest_file)
    assert "types that no forest needs" in text


def test_something_else_of_allowed_types_is_refused(forest_file):
    import skops.io

    data = skops.io.dumps({"a": [1, "b"]})
    rewrite(forest_file, lambda p: p.update({"learned/forest.skops": data}))
    assert "trees that cannot be right" in refusal(forest_file)


@pytest.mark.parametrize(
    ("field", "value"), [("left_child", 10**9), ("right_child", 0), ("feature", 5000)]
)
def test_trees_that_point_nowhere_are_refused(forest_file, field, value):
    def change(pieces):
        with zipfile.ZipFile(io.BytesIO(pieces["learned/forest.skops"])) as archive:
            inner = {n: archive.read(n) for n in archive.namelist()}
        done = False
        for name, data in inner.items():
            if name.endswith(".npy"):
                array = np.load(io.BytesIO(data))
                if array.dtype.names and not done:
                    array[field][0] = value
                    out = io.BytesIO()
                    np.save(out, array)
                    inner[name], done = out.getvalue(), True
        assert done
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, data in inner.items():
                archive.writestr(name, data)
        pieces["learned/forest.skops"] = out.getvalue()

    rewrite(forest_file, change)
    assert "trees that cannot be right" in refusal(forest_file)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("left_child=1", "left_child=999999", "impossible nodes"),
        ("left_child=1", "left_child=0", "impossible nodes"),
        ("split_feature=", "split_feature=9999 ", "lacks nodes"),
        ("num_cat=0", "num_cat=1", "does not make"),
        ("is_linear=0", "is_linear=1", "does not make"),
        ("tree_sizes=", "tree_sizes=9", "sizes of its trees"),
        ("max_feature_idx=", "max_feature_idx=9", "number of features"),
        ("vec_m_log2", "vec_x_log2", "not those of the file"),
        ("num_leaves=", "num_leaves=9", "lacks leaves"),
        ("num_cat=0", "num_cat=0\nnum_cat=1", "twice"),
        ("num_cat=0\n", "", "damaged"),
        ("end of trees", "", "damaged"),
        ("tree\n", "tree\nµ", "damaged"),
    ],
)
def test_damaged_lightgbm_text_is_refused(boosted_file, old, new, message):
    def change(pieces):
        text = pieces["learned/lightgbm.txt"].decode()
        assert old in text
        text = text.replace(old, new, 1)
        if "Tree=0" in text and "tree_sizes=9" not in new and "tree_sizes" not in old:
            text = resize(text)
        pieces["learned/lightgbm.txt"] = text.encode()

    rewrite(boosted_file, change)
    assert message in refusal(boosted_file)


def resize(text: str) -> str:
    """Makes the stated sizes of the trees right again, so that the trees are looked at."""
    parts = text.split("Tree=")
    end = parts[-1].find("end of trees")
    parts[-1] = parts[-1] if end < 0 else parts[-1][:end]
    sizes = " ".join(str(len("Tree=" + p)) for p in parts[1:])
    lines = [f"tree_sizes={sizes}" if x.startswith("tree_sizes=") else x for x in text.split("\n")]
    return "\n".join(lines)


def test_the_lightgbm_text_holds_no_training_parameters(boosted_file):
    with zipfile.ZipFile(boosted_file) as archive:
        text = archive.read("learned/lightgbm.txt").decode()
    assert text.endswith("end of trees\n")
    assert "num_threads" not in text
