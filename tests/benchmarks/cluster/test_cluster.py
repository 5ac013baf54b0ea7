"""A real scheduler with real workers: compiling, measuring, tuning, and what goes wrong there."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import json
import logging
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import closing, nullcontext
from logging import StreamHandler
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import psutil
import pytest

import frontrunner
from frontrunner.benchmarks.cluster import Cluster, ClusterRunner, choose_devices, open_devices
from frontrunner.benchmarks.cluster.devices import ClusterDevices
from frontrunner.benchmarks.cluster.messages import (
    DeviceState,
    HostDescription,
    HostLost,
    OfferedDevice,
    Work,
)
from frontrunner.benchmarks.cluster.remote_child import RemoteChild, SentFiles
from frontrunner.benchmarks.cluster.selection import devices_that_joined
from frontrunner.benchmarks.compiling import COMPILER, CompileRequest, call_of
from frontrunner.benchmarks.measuring import HANDLER, MeasureRequest, SetupRequest
from frontrunner.core import InputError, WorkError, allowed_cpus, iree_versions
from frontrunner.experiments.queue import make_queue, renderer
from frontrunner.experiments.tuning import RunFolder, TuneResult
from frontrunner.models import create_ranker
from frontrunner.search import Dispatch
from frontrunner.search.reading import read_dispatch

MATMUL = Path(__file__).parents[2] / "data" / "matmul.mlir"

pytestmark = pytest.mark.usefixtures("brief", "untracked")


@pytest.fixture(scope="module")
def dispatch() -> Dispatch:
    return read_dispatch(MATMUL)


def host_with(hosts: tuple[HostDescription, ...], name: str) -> HostDescription:
    return next(h for h in hosts if any(one.name.startswith(name) for one in h.devices) or not name)


def test_hosts_tell_what_they_offer(address: str) -> None:
    with Cluster(address) as cluster:
        hosts = cluster.hosts()
    assert sorted((host.jobs, len(host.devices)) for host in hosts) == [(0, 1), (2, 0)]
    measuring = host_with(hosts, "measuring")
    assert measuring.devices[0].name == "measuring/local-task"
    assert measuring.devices[0].cores == allowed_cpus()
    assert measuring.states == {"measuring/local-task": DeviceState()}
    assert measuring.versions == client_versions()


def test_executables_travel_once_and_measurements_come_back(
    address: str, dispatch: Dispatch, tmp_path: Path
) -> None:
    out = tmp_path / "default.vmfb"
    with Cluster(address) as cluster:
        hosts = cluster.hosts()
        sent = SentFiles()
        (compiling,) = (host for host in hosts if host.jobs)
        child = RemoteChild(cluster, compiling, COMPILER, sent)
        reply = child.call(CompileRequest(dispatch.source, dispatch.target.flags, None, out), 60)
        assert out.stat().st_size > 1000
        assert not reply.error
        measuring = host_with(hosts, "measuring")
        device = RemoteChild(cluster, measuring, HANDLER, sent, device="local-task")
        with pytest.raises(RuntimeError, match="set up first"):
            device.call(MeasureRequest(out, 0.0), 60)
        device.call(SetupRequest("local-task", call_of(dispatch), out, 0), 60)
        assert sent.by_host[measuring.address] != set()
        timing = device.call(MeasureRequest(out, 0.01), 60)
        assert timing.wrong is None
        assert len(timing.samples_us) >= 3
        # What the host has let go of is sent again.
        sent.by_host[measuring.address].clear()
        assert device.call(MeasureRequest(out, 0.01), 60).wrong is None
        device.close()
        # A new process knows nothing of the old one's inputs.
        with pytest.raises(RuntimeError, match="set up first"):
            device.call(MeasureRequest(out, 0.0), 60)


def test_hosts_do_nothing_else(address: str) -> None:
    with Cluster(address) as cluster:
        (compiling,) = (host for host in cluster.hosts() if host.jobs)
        answer = cluster.do(compiling, Work("s", "os:system", {}, "true", 5.0))
        assert isinstance(answer.raised, InputError)
        assert "os:system is not what hosts do" in str(answer.raised)
        wrong = {"0" * 64: b"another"}
        answer = cluster.do(compiling, Work("s", HANDLER, {}, None, 5.0, sent=wrong))
        assert "an executable of 7 bytes is not" in str(answer.raised)


@pytest.mark.slow
def test_tuning_has_the_same_queue_and_is_resumed(address: str, tmp_path: Path) -> None:
    given = {"ranker": "heuristic", "pool": 500, "quiet": True}
    here, there = tmp_path / "here", tmp_path / "there"
    frontrunner.tune(MATMUL, out=here, budget=1, **given)
    result = frontrunner.tune(MATMUL, out=there, budget=6, cluster=address, **given)
    assert isinstance(result, TuneResult)
    assert result.outcomes == {"ok": 6}
    assert result.measured == {"measuring/local-task": 6}
    assert "devices      measuring/local-task 6" in result.summary_lines()
    queues = [RunFolder(path).load().queue for path in (here, there)]
    assert queues[0].equals(queues[1])
    lines = [json.loads(line) for line in (there / "outcomes.jsonl").open()]
    assert {line["device"] for line in lines} == {"measuring/local-task"}
    with pytest.raises(InputError, match="was measured on a cluster"):
        frontrunner.resume(there, budget=8, quiet=True)
    with pytest.raises(InputError, match="was measured on this machine's own devices"):
        frontrunner.resume(here, budget=8, quiet=True, cluster=address)
    more = frontrunner.resume(there, budget=8, quiet=True, cluster=address)
    assert more.outcomes == {"ok": 8}


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_no_candidate(
    address: str, start_worker: Callable[..., object], tmp_path: Path
) -> None:
    """It is killed while it measures, and another of its name comes in its place."""
    words = ("--join", address, "--device", "local-sync", "--name", "dying")
    first = start_worker(*words)
    run = tmp_path / "run"
    log = run / "outcomes.jsonl"
    given = {"ranker": "heuristic", "pool": 500, "budget": 12, "quiet": True, "out": run}
    found: list[object] = []

    def tune() -> None:
        found.append(
            frontrunner.tune(MATMUL, cluster=address, devices=["dying/local-sync"], **given)
        )

    thread = threading.Thread(target=tune)
    thread.start()
    while thread.is_alive() and not (log.exists() and log.read_text().count("\n") >= 2):
        thread.join(0.01)
    first.kill()  # type: ignore[attr-defined]
    start_worker(*words)
    thread.join()
    (result,) = found
    assert isinstance(result, TuneResult)
    assert result.outcomes == {"ok": 12}
    indices = [json.loads(line)["index"] for line in log.open()]
    assert sorted(indices) == list(range(12))


def test_a_host_that_is_gone_is_told(address: str, start_worker: Callable[..., object]) -> None:
    worker = start_worker("--join", address, "--device", "local-sync", "--name", "leaving")
    with Cluster(address) as cluster:
        host = cluster.find("leaving/local-sync")
        child = RemoteChild(cluster, host, HANDLER, SentFiles(), device="local-sync")
        worker.kill()  # type: ignore[attr-defined]
        with pytest.raises(HostLost, match=host.name):
            child.call(None, 60)
        with pytest.raises(HostLost, match="no worker offers leaving/local-sync"):
            cluster.find("leaving/local-sync")


def test_hosts_are_asked_once_where_devices_are(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Cluster(address) as cluster:
        asked: list[bool] = []
        hosts = cluster.hosts
        monkeypatch.setattr(cluster, "hosts", lambda: asked.append(True) or hosts())
        found = {cluster.find("measuring/local-task").address for _ in range(3)}
        assert len(found) == len(asked) == 1


def test_a_scheduler_that_was_gone_for_long_is_found_again(
    start_worker: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask closes a client that finds none for as long as it may take to connect, and says so."""
    monkeypatch.setattr("frontrunner.benchmarks.cluster.connecting.CONNECT_SECONDS", 1.0)
    served = start_worker("--serve", "127.0.0.1:0", "--compile", "1")
    address = served.address  # type: ignore[attr-defined]
    written = io.StringIO()
    monkeypatch.setattr(logging.getLogger("distributed"), "handlers", [StreamHandler(written)])
    with Cluster(address) as cluster:
        (host,) = cluster.hosts()
        served.kill()  # type: ignore[attr-defined]
        while cluster._client.status != "closed" and not cluster.wait(0.1):
            pass
        while cluster.alive(host) and not cluster.wait(0.1):  # until it is looked for again
            pass
        start_worker("--serve", address.removeprefix("tcp://"), "--compile", "1")
        while not (hosts := cluster.hosts()) and not cluster.wait(0.1):
            pass
        assert [one.jobs for one in hosts] == [1]
    assert written.getvalue() == ""
    logging.getLogger("distributed.client").error("heard again")
    assert written.getvalue() == "heard again\n"


def test_a_cluster_is_found_where_a_loop_runs(address: str) -> None:
    """As in a notebook."""

    async def ask() -> int:
        with Cluster(address) as cluster:
            return len(cluster.hosts())

    assert asyncio.run(ask())


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frontrunner.benchmarks.cluster.connecting.CONNECT_SECONDS", 0.2)
    with pytest.raises(InputError, match=r"no scheduler answers at tcp://127.0.0.1:1"):
        Cluster("127.0.0.1:1")


@pytest.mark.slow
def test_a_cluster_of_this_machine(tmp_path: Path) -> None:
    """`local:2` has the queue of a run without it, and leaves no process."""
    run = tmp_path / "run"
    given = {"ranker": "heuristic", "pool": 500, "quiet": True}
    read_dispatch(MATMUL)  # whose process stays, for whoever reads next
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    result = frontrunner.tune(MATMUL, out=run, budget=5, cluster="local:2", **given)
    assert result.outcomes == {"ok": 5}
    more = frontrunner.resume(run, budget=7, quiet=True, cluster="local:1")
    assert more.outcomes == {"ok": 7}
    lines = [json.loads(line) for line in (run / "outcomes.jsonl").open()]
    assert {line["device"] for line in lines} == {"local/local-task"}
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before
    for bad, says in (("local:0", "local:0 are 0 workers"), ("local:x", "no scheduler answers at")):
        with pytest.raises(InputError, match=says):
            frontrunner.tune(MATMUL, out=tmp_path / "bad", budget=1, cluster=bad, **given)


def client_versions() -> dict[str, str]:
    return {**iree_versions(), "frontrunner": frontrunner.__version__}


def described(
    name: str, kind: str = "cpu", jobs: int = 0, cores: int = 0, **others: object
) -> HostDescription:
    device = OfferedDevice("local-task", f"{name}/local-task", kind, cores=cores)
    given = {"processor": "another", "versions": client_versions(), **others}
    return HostDescription(f"tcp://{name}:1", name, devices=(device,), jobs=jobs, **given)  # type: ignore[arg-type]


def test_devices_of_one_kind_are_chosen() -> None:
    znver4 = "znver4"
    hosts = [described("a", "x"), described("b", "y", 2), described("c", "y", 4)]
    chosen = choose_devices(hosts, znver4, ())
    assert [one.name for _, one in chosen.devices] == ["b/local-task", "c/local-task"]
    assert [host.jobs for host in chosen.compiling] == [2, 4]
    assert choose_devices(hosts, znver4, ["x"]).kind == "x"
    for asked, says in (
        (["nothing"], "the cluster has no device nothing"),
        (["a/local-task", "c/local-task"], "devices of several kinds are asked for: x, y"),
    ):
        with pytest.raises(InputError, match=says):
            choose_devices(hosts, znver4, asked)
    with pytest.raises(InputError, match="the cluster's CPUs are another, this machine's is"):
        choose_devices(hosts, "host", ())
    with pytest.raises(InputError, match="two workers offer a device a/local-task"):
        choose_devices([hosts[0], hosts[0]], znver4, ())
    old = described("d", versions={"iree-base-compiler": "1.0"})
    with pytest.raises(InputError, match=r"d \(tcp://d:1\) has iree-base-compiler 1.0"):
        choose_devices([old], znver4, ())
    with pytest.raises(InputError, match="the cluster has no device that runs code for gfx942"):
        choose_devices(hosts, "gfx942", ())


def test_machines_with_other_cores_are_of_other_kinds() -> None:
    hosts = [described("a", cores=2), described("b", cores=4), described("c", cores=4)]
    chosen = choose_devices(hosts, "znver4", ())
    assert [one.name for _, one in chosen.devices] == ["b/local-task", "c/local-task"]
    assert (chosen.kind, chosen.cores) == ("cpu", 4)
    assert choose_devices(hosts, "znver4", ["cpu"]) == chosen
    later = [*hosts, described("d", cores=2), described("e", cores=4)]
    assert [one.name for _, one in devices_that_joined(later, chosen, ["cpu"])] == ["e/local-task"]
    says = r"several kinds are asked for: cpu \(2 of its cores\), cpu \(4 of its cores\)"
    with pytest.raises(InputError, match=says):
        choose_devices(hosts, "znver4", ["local-task"])


def gpu(name: str, chip: str, **others: object) -> HostDescription:
    offered = OfferedDevice("cuda://0", f"{name}/cuda://0", "cuda on NVIDIA H100", chip)
    return dataclasses.replace(described(name, **others), name="node", devices=(offered,))  # type: ignore[arg-type]


def test_a_chip_that_two_workers_offer_is_refused() -> None:
    chosen = choose_devices([gpu("a", "GPU-a1"), gpu("b", "GPU-b2")], "sm_90", ())
    assert [one.name for _, one in chosen.devices] == ["a/cuda://0", "b/cuda://0"]
    with pytest.raises(InputError, match="a/cuda://0 and b/cuda://0 are the same chip"):
        choose_devices([gpu("a", "GPU-a1"), gpu("b", "GPU-a1")], "sm_90", ())


def test_what_is_another_since_it_was_chosen_is_not_used() -> None:
    """A worker that was started again may have another compiler, or another chip."""
    hosts = [gpu("a", "GPU-a1", jobs=2), gpu("b", "GPU-b2", jobs=2)]
    cluster: Any = SimpleNamespace(
        hosts=lambda: hosts,
        members=frozenset(),
        find=lambda name: next(h for h in hosts if h.devices[0].name == name),
    )
    devices = ClusterDevices(cluster, "sm_90", ())
    assert [host.address for host in devices._compiling()] == ["tcp://a:1", "tcp://b:1"]
    hosts[0] = gpu("a", "GPU-a1", jobs=2, versions={"iree-base-compiler": "1.0"})
    assert [host.address for host in devices._compiling()] == ["tcp://b:1"]
    with pytest.raises(HostLost, match=r"has iree-base-compiler 1\.0, this is"):
        devices.child("a/cuda://0", "handler", {})
    assert devices.child("b/cuda://0", "handler", {}) is not None
    (was,) = hosts[1].devices
    for change, says in (
        ({"kind": "cuda on NVIDIA T4"}, "cuda on NVIDIA T4 now, not cuda on NVIDIA H100"),
        ({"cores": 8}, r"cuda on NVIDIA H100 \(8 of its cores\) now, not cuda on NVIDIA H100"),
    ):
        other = dataclasses.replace(was, **change)
        hosts[1] = dataclasses.replace(hosts[1], devices=(other,))
        with pytest.raises(HostLost, match=f"b/cuda://0 is {says}"):
            devices.child("b/cuda://0", "handler", {})


def test_a_host_that_answers_late_is_used_when_it_does() -> None:
    here, late = gpu("a", "GPU-a1"), gpu("b", "GPU-b2")
    answering = [here]
    members = frozenset(host.address for host in (here, late))
    cluster: Any = SimpleNamespace(hosts=lambda: list(answering), members=members)
    devices = ClusterDevices(cluster, "sm_90", ())
    assert devices.names == ("a/cuda://0",)
    assert devices.joined() == []
    answering.append(late)
    assert [one.name for one in devices.joined()] == ["b/cuda://0"]
    assert devices.joined() == []


def test_what_was_said_of_a_device_by_a_run_that_is_over_is_known() -> None:
    states = {"a/cuda://0": DeviceState(note="set aside: it is gone"), "b/cuda://0": DeviceState()}
    hosts = [
        dataclasses.replace(gpu(name, chip), states=states)
        for name, chip in (("a", "GPU-a1"), ("b", "GPU-b2"), ("c", "GPU-c3"))
    ]
    cluster: Any = SimpleNamespace(hosts=lambda: hosts, members=frozenset())
    assert ClusterDevices(cluster, "sm_90", ()).noted == {"a/cuda://0"}


@pytest.mark.parametrize("error", [CancelledError("x"), OSError("the connection is closed")])
def test_a_lost_scheduler_ends_spread_work_in_one_line(error: Exception) -> None:
    cluster: Any = SimpleNamespace(
        address="tcp://a:1", hosts=lambda: [described("a", jobs=2)], _client=None
    )
    with (
        patch("joblib.parallel_config", lambda *_, **__: nullcontext()),
        pytest.raises(WorkError, match="tcp://a:1 was lost: ") as lost,
        Cluster.as_joblib_backend(cluster, None),
    ):
        raise error
    assert lost.value.hint == "see to it; the same command goes on"


def test_of_devices_that_join_those_are_taken_that_the_run_would_have_chosen() -> None:
    first = gpu("a", "GPU-a1")
    chosen = choose_devices([first], "sm_90", ())
    old = gpu("old", "GPU-d4", versions={"iree-base-compiler": "1.0"})
    later = [first, gpu("b", "GPU-b2"), gpu("again", "GPU-a1"), described("cpu"), old]
    assert [one.name for _, one in devices_that_joined(later, chosen, ())] == ["b/cuda://0"]
    assert devices_that_joined(later, chosen, ["a/cuda://0"]) == []
    # By two names, it would be measured on twice at a time.
    twice = [first, gpu("b", "GPU-b2"), gpu("c", "GPU-b2")]
    assert [one.name for _, one in devices_that_joined(twice, chosen, ())] == ["b/cuda://0"]


def test_devices_stand_in_one_order_wherever_their_workers_are() -> None:
    hosts = [gpu("a", "GPU-a1"), gpu("b", "GPU-b2")]
    first, again = (choose_devices(some, "sm_90", ()) for some in (hosts, hosts[::-1]))
    assert first.devices == again.devices


@pytest.mark.slow
def test_a_device_that_joins_while_a_run_goes_on_is_used(
    start_worker: Callable[..., object], dispatch: Dispatch, tmp_path: Path
) -> None:
    offers = ("--compile", "1", "--device", "local-task", "--name")
    served = start_worker("--serve", "127.0.0.1:0", *offers, "first")
    told: list[str] = []
    devices = open_devices(served.address, "host", (), told.append)  # type: ignore[attr-defined]
    queue = make_queue(dispatch, create_ranker("shuffle"), pool=2000, seed=0)
    given = (dispatch, renderer(dispatch, queue), tmp_path / "work", tmp_path / "logs")
    runner = ClusterRunner(devices, *given, notify=told.append)
    with closing(runner):
        runner.start({})
        measured: Counter[str | None] = Counter()
        for _, outcome in runner.run(range(len(queue)), lambda: len(measured) < 2):
            if not measured:
                join = ("--join", served.address)  # type: ignore[attr-defined]
                start_worker(*join, "--device", "local-sync", "--name", "other-kind")
                start_worker(*join, "--device", "local-task", "--name", "second")
            measured[outcome.device] += 1
    assert set(measured) == {"first/local-task", "second/local-task"}
    # Workers that start take the cores, so that the first may seem to drift.
    assert [line for line in told if "joins" in line] == ["second/local-task joins"]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="nothing makes certificates here")
def test_tls_keeps_others_out(start_worker: Callable[..., object], tmp_path: Path) -> None:
    """With the settings that SECURITY.md names."""
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    words = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    subprocess.run([*words.split(), "-keyout", key, "-out", cert], check=True, capture_output=True)
    tls = "DASK_DISTRIBUTED__COMM__TLS"
    env = {f"{tls}__CA_FILE": str(cert), "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "true"}
    for role in ("CLIENT", "SCHEDULER", "WORKER"):
        env |= {f"{tls}__{role}__CERT": str(cert), f"{tls}__{role}__KEY": str(key)}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        worker = start_worker("--serve", "tls://127.0.0.1:0", "--compile", "1")
        address = worker.address  # type: ignore[attr-defined]
        asked = [sys.executable, "-m", "frontrunner", "devices", "--json", "--cluster", address]
        told = subprocess.run(asked, capture_output=True, text=True)
    assert told.returncode == 0, told.stdout + told.stderr
    assert [host["jobs"] for host in json.loads(told.stdout)["hosts"]] == [1]
    refused = subprocess.run(asked, capture_output=True, text=True)
    assert refused.returncode == 2
    assert f"no scheduler answers at {address}" in refused.stderr
