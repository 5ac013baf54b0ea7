"""`frontrunner rankers`."""

from __future__ import annotations

import json

from frontrunner.models import RankerInfo, list_rankers


def test_lists_what_is_known(frontrunner):
    ran = frontrunner("rankers")
    assert ran.code == 0
    for info in list_rankers():
        (line,) = [x for x in ran.out.splitlines() if x.split()[:1] == [info.name]]
        assert info.summary in line


def test_as_json(frontrunner):
    ran = frontrunner("rankers", "--json")
    listed = json.loads(ran.out)["rankers"]
    assert [RankerInfo(**item) for item in listed] == list(list_rankers())
    assert "heuristic" in ran.err


def test_plug_ins_that_cannot_be_used(frontrunner, monkeypatch):
    info = RankerInfo("mine", "cannot be imported: [no] module", None, "my-rankers")
    monkeypatch.setattr("frontrunner.models.list_rankers", lambda: (info,))
    ran = frontrunner("rankers")
    assert (
        ran.out.splitlines()[-1].split()
        == "mine unknown my-rankers cannot be imported: [no] module".split()
    )
