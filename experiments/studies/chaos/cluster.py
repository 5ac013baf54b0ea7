"""A scheduler and workers, each a process in a folder of its own, and what brings them back."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from ....benchmarks.cluster import Cluster
from ....core import InputError
from ...kill_loop import CommandProcess, left_over, wait_for
from . import command
from .proxy import Proxy, free_port

DEVICE = "local-task"
SERVING, WORKERS = "serving", ("one", "two")
START_SECONDS = 60.0
# A worker that was given up, or whose scheduler was gone, is back after so long.
REJOIN_SECONDS = 45.0
END_SECONDS = 30.0


@dataclass
class Member:
    """A worker, which may also serve the scheduler.

    Attributes:
        folder: with `work`, where it works, and `tmp`, for temporary files.
        port: where it listens for clients.
    """

    name: str
    line: str
    folder: Path
    mark: str
    port: int
    env: Mapping[str, str]
    process: CommandProcess = field(init=False)

    def start(self) -> None:
        (self.folder / "work").mkdir(parents=True, exist_ok=True)
        self.process = CommandProcess(
            self.line, self.folder, self.mark, command.__name__, {**self.env, **self._ports()}
        )

    def _ports(self) -> dict[str, str]:
        listening = {command.PORT: str(self.port)}
        return {**listening, command.CONTACT: self.env.get(command.CONTACT, "")}


class WorkerCluster:
    """Two workers with a device each, one of which compiles, and a scheduler that compiles, too.

    Attributes:
        links: connections, by what they join; those to a worker by `client to <name>`.
        address: the scheduler's, for clients.
    """

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self.mark = str(folder)
        port = free_port()
        ports = {name: free_port() for name in (SERVING, *WORKERS)}
        self.links = {
            "client to scheduler": Proxy(port),
            "workers to scheduler": Proxy(port),
            **{f"client to {name}": Proxy(ports[name]) for name in WORKERS},
        }
        self.address = f"127.0.0.1:{self.links['client to scheduler'].port}"
        self._direct = f"127.0.0.1:{port}"
        joins = f"--join 127.0.0.1:{self.links['workers to scheduler'].port} --device {DEVICE}"
        lines = {
            SERVING: f"worker --serve {self._direct} --compile 1 --name {SERVING}",
            "one": f"worker {joins} --name one --compile 1",
            "two": f"worker {joins} --name two",
        }
        contacts = {name: self.links[f"client to {name}"].port for name in WORKERS}
        contacts[SERVING] = ports[SERVING]
        self.members = {
            name: Member(
                name,
                line,
                folder / name,
                self.mark,
                ports[name],
                {**env, command.CONTACT: f"tcp://127.0.0.1:{contacts[name]}"},
            )
            for name, line in lines.items()
        }

    def start(self) -> None:
        """Starts all, and waits until they offer what they have.

        Raises:
            RuntimeError: they do not.
        """
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        for member in self.members.values():
            member.start()
            ready = "serving at" if member.name == SERVING else "joined"
            wait_for(lambda: ready in member.process.said(), START_SECONDS)  # noqa: B023
        if found := self.heal():
            raise RuntimeError(f"the cluster does not start: {found}")

    def heal(self) -> list[str]:
        """Starts again what is gone; tells what does not come back."""
        for link in self.links.values():
            link.restore()
        for member in self.members.values():
            (member.folder / "work" / command.LIE).unlink(missing_ok=True)
            if member.process.running:
                os.kill(member.process.pid, signal.SIGCONT)
            else:
                member.start()
        if wait_for(self._is_whole, REJOIN_SECONDS):
            return []
        there = ", ".join(sorted(self._offered())) or "nothing"
        for member in self.members.values():
            if member.process.running:
                os.kill(member.process.pid, signal.SIGKILL)
                member.process.wait(END_SECONDS)
            member.start()
        wait_for(self._is_whole, START_SECONDS)
        return [f"the cluster is not whole again: it has {there}"]

    def close(self) -> list[str]:
        """Ends all; tells what is left of them."""
        found = []
        for name, member in self.members.items():
            member.process.end("SIGTERM", Random(0))
            if member.process.wait(END_SECONDS) is None:
                found.append(f"worker {name} does not end")
        found += [f"of workers, a process is left: {line}" for line in left_over(self.mark)]
        for link in self.links.values():
            link.close()
        for member in self.members.values():
            left = os.listdir(member.folder / "tmp")
            found += [f"of worker {member.name} is left {name}" for name in left]
        return found

    def _is_whole(self) -> bool:
        return self._offered() == {SERVING, *WORKERS}

    def _offered(self) -> set[str]:
        """The members that the scheduler knows and that answer."""
        try:
            with Cluster(self._direct) as cluster:
                hosts = cluster.hosts()
        except (InputError, OSError):
            return set()
        names = [{one.name.partition("/")[0] for one in host.devices} for host in hosts]
        return set().union(*(name or {SERVING} for name in names))
