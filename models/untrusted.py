"""Reading what was learned from bytes that anyone may have made.

Neither format can hold code. But both libraries trust the numbers in them: a tree whose child or
feature index is out of range makes them read foreign memory. So trees are checked before use.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..search.errors import InputError

MAX_BYTES = 1 << 30

# skops itself trusts every scikit-learn estimator, numpy and scipy functions and more.
_SKOPS_TYPES = {
    ("builtins", "dict", "DictNode"),
    ("builtins", "list", "ListNode"),
    ("builtins", "tuple", "TupleNode"),
    ("builtins", "str", "JsonNode"),
    ("builtins", "str", "TypeNode"),
    ("numpy", "ndarray", "NdArrayNode"),
    ("sklearn.ensemble._forest", "RandomForestRegressor", "ObjectNode"),
    ("sklearn.tree._classes", "DecisionTreeRegressor", "ObjectNode"),
    ("sklearn.tree._tree", "Tree", "TreeNode"),
}


def read_zip(data: bytes) -> dict[str, bytes]:
    """All files of a zip archive.

    Raises:
        InputError: it is damaged, or holds more than `MAX_BYTES`.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(info.file_size for info in archive.infolist())
            if size > MAX_BYTES:
                raise InputError(f"it unpacks to {size} bytes, more than {MAX_BYTES}")
            return {info.filename: archive.read(info) for info in archive.infolist()}
    except InputError:
        raise
    except Exception as error:  # damaged archives raise a dozen kinds of errors
        raise InputError(f"it is not a readable archive ({error})") from None


def load_forest(data: bytes, kind: Any, features: int) -> Any:
    """A forest from the bytes of a skops file.

    Raises:
        InputError: it is damaged, holds other types than forests need, or has impossible trees.
    """
    import skops.io

    pieces = read_zip(data)
    try:
        schema = json.loads(pieces["schema.json"])
    except (KeyError, ValueError):
        raise InputError("the forest in it is not a skops file") from None
    foreign = sorted({".".join(t[:2]) for t in _types(schema) if t not in _SKOPS_TYPES})
    if foreign:
        raise InputError(f"the forest in it holds types that no forest needs: {', '.join(foreign)}")
    try:
        forest = skops.io.loads(data, trusted=["sklearn.tree._tree.Tree"])
        ok = type(forest) is kind and forest.n_features_in_ == features
        ok = ok and all(_sound(e.tree_, features) for e in forest.estimators_)
    except Exception as error:  # a damaged object fails anywhere in it
        raise InputError(f"the forest in it cannot be read ({error})") from None
    if not ok:
        raise InputError("the forest in it has trees that cannot be right")
    return forest


def _types(node: Any) -> Iterator[tuple[str, str, str]]:
    """Module, class and loader of every object in a skops schema."""
    if isinstance(node, dict):
        if "__loader__" in node or "__class__" in node:
            yield (
                str(node.get("__module__")),
                str(node.get("__class__")),
                str(node.get("__loader__")),
            )
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from _types(item)


def _sound(tree: Any, features: int) -> bool:
    if not 0 < tree.node_count <= tree.capacity:
        return False
    return _acyclic(
        tree.children_left, tree.children_right, tree.feature, features, leaf=tree.children_left < 0
    )


def _acyclic(
    left: NDArray[Any],
    right: NDArray[Any],
    feature: NDArray[Any],
    features: int,
    leaf: NDArray[np.bool_],
) -> bool:
    """Whether inner nodes lead to later nodes that exist, and test a feature that exists."""
    node = np.arange(len(left))
    inner = ~leaf
    for child in (left, right):
        if not ((child[inner] > node[inner]) & (child[inner] < len(node))).all():
            return False
    return bool(((feature[inner] >= 0) & (feature[inner] < features)).all())


# LightGBM ---------------------------------------------------------------------------------------


def strip_lightgbm(text: str) -> bytes:
    """LightGBM's text without its last part: training parameters, which prediction ignores."""
    return (text[: text.index("end of trees")] + "end of trees\n").encode()


def load_lightgbm(data: bytes, names: Sequence[str]) -> Any:
    """A booster from LightGBM's text format.

    Raises:
        InputError: it is damaged, or has impossible trees.
    """
    import lightgbm

    try:
        text = data.decode("ascii")
        _check_lightgbm(text, names)
    except (ValueError, KeyError, IndexError) as error:
        raise InputError(f"the LightGBM model in it is damaged ({error})") from None
    try:
        return lightgbm.Booster(model_str=text)
    except lightgbm.basic.LightGBMError as error:
        raise InputError(f"the LightGBM model in it cannot be read ({error})") from None


def _check_lightgbm(text: str, names: Sequence[str]) -> None:
    starts = [m.start() for m in re.finditer(r"^Tree=", text, re.MULTILINE)]
    end = text.index("end of trees")
    head = _fields(text[: starts[0] if starts else end])
    if head["feature_names"].split() != list(names):
        raise ValueError("its features are not those of the file")
    if (head["num_class"], head["num_tree_per_iteration"]) != ("1", "1"):
        raise ValueError("it has several outputs")
    if int(head["max_feature_idx"]) != len(names) - 1:
        raise ValueError("its number of features is wrong")
    # The parser jumps to where these sizes point.
    sizes = [b - a for a, b in zip(starts, [*starts[1:], end], strict=True)]
    if [int(s) for s in head.get("tree_sizes", "").split()] != sizes:
        raise ValueError("the sizes of its trees are wrong")
    for a, size in zip(starts, sizes, strict=True):
        _check_tree(_fields(text[a : a + size]), len(names))


def _check_tree(tree: dict[str, str], features: int) -> None:
    leaves = int(tree["num_leaves"])
    if tree["num_cat"] != "0" or tree.get("is_linear", "0") != "0":
        raise ValueError("it has a kind of tree that frontrunner does not make")
    if len(tree["leaf_value"].split()) != leaves:
        raise ValueError("a tree lacks leaves")
    if leaves == 1:
        return
    inner = leaves - 1
    columns = {
        name: np.array([int(v) for v in tree[name].split()])
        for name in ("left_child", "right_child", "split_feature", "decision_type")
    }
    if any(len(c) != inner for c in columns.values()) or len(tree["threshold"].split()) != inner:
        raise ValueError("a tree lacks nodes")
    if (columns["decision_type"] & 1).any():
        raise ValueError("it has a kind of tree that frontrunner does not make")

    # A negative child is a leaf: number those after the inner nodes.
    def node(child: NDArray[Any]) -> NDArray[Any]:
        return np.where(child < 0, inner - 1 - child, child)

    left, right = (np.append(node(columns[c]), [0] * leaves) for c in ("left_child", "right_child"))
    feature = np.append(columns["split_feature"], [0] * leaves)
    if not _acyclic(left, right, feature, features, leaf=np.arange(inner + leaves) >= inner):
        raise ValueError("a tree has impossible nodes")


def _fields(text: str) -> dict[str, str]:
    lines = [line.partition("=") for line in text.splitlines() if "=" in line]
    fields = {key: value for key, _, value in lines}
    if len(fields) != len(lines):
        raise ValueError("it says something twice")
    return fields
