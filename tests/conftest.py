"""What tests of several folders use."""

from __future__ import annotations

import atexit
import importlib
import importlib.util
import io
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from datetime import date
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

import pytest

from frontrunner.benchmarks.compiling import Compiler
from frontrunner.benchmarks.measuring import NOT_APPLIED, OK, CompileOutcome, chip_of
from frontrunner.cli import main
from frontrunner.core import FrontrunnerError, children
from frontrunner.core.children import Child
from frontrunner.core.temporary import temporary_folder
from frontrunner.experiments.observing import Tracker
from frontrunner.search import build_spaces, known_pipelines, spec_of
from frontrunner.search.reading import dispatches, networks, read_dispatch
from frontrunner.search.reading import source as asking

# Browsers that may be there without playwright's own.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
EXAMPLES = Path(__file__).parents[1] / "examples"
# Each element of the result is a workgroup of its own: 20 times slower than the compiler's choice.
BAD = {"dist_m": 1, "cache_m": 1, "vec_m": 1, "dist_n": 1, "cache_n": 1, "vec_n": 1}
BAD |= {"cache_k": 32, "vec_k": 1, "peel": 1}


def pytest_configure() -> None:
    # A shell's background jobs ignore Ctrl-C, and so would what tests start and interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # On two cores two workers run, and threads of theirs that wait for each other spin: a sixth of
    # the time of tests of rankers.
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    # Another one each day; workers of a test run inherit it.
    os.environ.setdefault("FRONTRUNNER_FUZZ_SEED", date.today().isoformat())
    # No test may add to the runs and models of whoever runs it.
    if "FRONTRUNNER_TEST_HOME" not in os.environ:
        home = os.environ["FRONTRUNNER_TEST_HOME"] = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, home, ignore_errors=True)
        # matplotlib's list of fonts takes seconds to make, and it warns of that.
        fonts = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        os.environ.setdefault("MPLCONFIGDIR", f"{fonts}/matplotlib")
        os.environ |= {
            "XDG_DATA_HOME": f"{home}/data",
            "XDG_CACHE_HOME": f"{home}/cache",
            # Nor may what lies in the folder that they are run in matter.
            "MLFLOW_TRACKING_URI": f"sqlite:///{home}/mlflow.db",
            "FRONTRUNNER_PREDICTORS": f"{home}/predictors",
        }
        os.environ.pop("FRONTRUNNER_MAX_BYTES", None)


def pytest_report_header() -> str:
    return f"fuzz seed: {os.environ['FRONTRUNNER_FUZZ_SEED']} (FRONTRUNNER_FUZZ_SEED)"


def load_samples() -> ModuleType:
    """`features/samples.py`: test folders are no packages, so it is loaded from its file."""
    name = "frontrunner_samples"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            name, Path(__file__).parent / "features" / "samples.py"
        )
        assert spec
        assert spec.loader
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope="session")
def record_sample() -> Callable[..., Path]:
    """Writes a recording of a sample problem, where wide vectors are fast and some fail."""
    import numpy as np

    from frontrunner.benchmarks.measuring.outcome import Outcome
    from frontrunner.experiments.dataset.recording import Provenance, Recording

    samples = load_samples()

    def record(
        path: Path, name: str, device: str = "local-task on a chip", seed: int = 0, count: int = 60
    ) -> Path:
        problem = samples.PROBLEMS[name]
        queue = samples.candidates(problem, count, seed)
        width = queue.filter(like="vec_").prod(axis=1).to_numpy(float)
        noise = np.random.default_rng(seed).uniform(0, 9, count)
        times = 1000 * np.exp(-width / width.max()) + noise
        outcomes = {
            i: Outcome("compile_failed", reason="no", stage="compile")
            if i % 9 == 0
            else Outcome("ok", float(time), 900.0, executable=str(i), device="local-task")
            for i, time in enumerate(times)
        }
        provenance = Provenance(
            problem, samples.TARGET, {"local-task": device}, "3.13.0", "3.13.0", seed, None, "test"
        )
        Recording.build(queue.assign(pipeline="p"), outcomes, provenance).write(path)
        return path

    return record


# By the modules that use them, for tests that look at no time.
MEASURING = "frontrunner.benchmarks.measuring"
BRIEF: dict[str, dict[str, float]] = {
    f"{MEASURING}.device_group": {"FIRST_BASELINE_SECONDS": 0.01},
    f"{MEASURING}.screening": {"BASELINE_SECONDS": 0.01, "SCREEN_SECONDS": 0.01},
    f"{MEASURING}.heats": {
        "HEATS_SECONDS": 0.1,
        "HEAT_TURN": 0.005,
        "FINALS_SECONDS": 0.1,
        "FINALS_TURN": 0.005,
        "NOISY_SECONDS": 0.0,
    },
    "frontrunner.benchmarks.networks.runner": {"TURN_SECONDS": 0.01},
    f"{MEASURING}.rounds": {"RECORD_SECONDS": 0.005},
    "frontrunner.benchmarks.libraries.peak": {"PEAK_SECONDS": 0.01},
    "frontrunner.experiments.profiling.bench": {"DISPATCH_SECONDS": 0.001},
}


@pytest.fixture(scope="module")
def brief() -> Iterator[None]:
    """Has what this process measures measured briefly."""
    with pytest.MonkeyPatch.context() as patch:
        for module, constants in BRIEF.items():
            for name, value in constants.items():
                patch.setattr(f"{module}.{name}", value)
        yield


@pytest.fixture(scope="module")
def untracked() -> Iterator[None]:
    """Keeps this process's runs out of MLflow, whose writer takes seconds to start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tracker, "start", lambda *_, **__: None)
        yield


@pytest.fixture
def latin_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has text files be in ISO 8859-1 where no encoding is named, as where the locale says so."""
    monkeypatch.setattr(io, "text_encoding", lambda encoding, stacklevel=2: encoding or "latin-1")


@pytest.fixture(scope="session")
def build_example(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Has pip install a package of `examples` into a folder, once; others copy what is there."""

    @cache
    def build(name: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        source, site = folder / name, folder / "site"
        shutil.copytree(EXAMPLES / name, source)  # built in place, it leaves files
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
        options = ["--no-deps", "--no-build-isolation", "--target", str(site), str(source)]
        done = subprocess.run([*pip, *options], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return site

    return build


@pytest.fixture
def install_example(
    build_example: Callable[[str], Path], tmp_path: Path
) -> Iterator[Callable[[str], Path]]:
    """Installs a package of `examples` for one test, as pip does; tells where."""
    site, loaded = tmp_path / "site", set(sys.modules)

    def install(name: str) -> Path:
        shutil.copytree(build_example(name), site, dirs_exist_ok=True)
        importlib.invalidate_caches()
        known_pipelines.cache_clear()
        return site

    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(site)
        yield install
        for name in set(sys.modules) - loaded:
            if str(site) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]
    known_pipelines.cache_clear()


@pytest.fixture
def plant_default(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Has the compiler choose a bad configuration for the product in a file by default."""

    def plant(path: Path) -> None:
        dispatch = read_dispatch(path)
        (space,) = build_spaces(dispatch, "DoubleTilingExpert")
        bad = spec_of(dispatch, space.render(BAD))

        compile_default = Compiler.baseline

        def baseline(compiler: Compiler) -> CompileOutcome:
            planted = next(compiler.compile([("baseline", bad)]))
            # A model need not have the product; but where it is, it is not to be the usual one.
            assert planted.kind in (OK, NOT_APPLIED), planted.reason
            return planted if planted.kind == OK else compile_default(compiler)

        monkeypatch.setattr(Compiler, "baseline", baseline)

    return plant


def shorten() -> list[str]:
    """Lines of Python that have a process measure briefly."""
    constants = [f"constants.{n} = {v}" for some in BRIEF.values() for n, v in some.items()]
    return [f"from {MEASURING} import constants", *constants]  # before others import them by name


@pytest.fixture(scope="session")
def brief_lines() -> list[str]:
    """Lines of Python with which a process measures briefly."""
    return shorten()


@pytest.fixture(scope="session")
def brief_command() -> list[str]:
    """Starts a process in which `frontrunner` measures briefly; its arguments are to follow."""
    lines = ["import sys", *shorten(), "from frontrunner.cli import main; sys.exit(main())"]
    return [sys.executable, "-c", "\n".join(lines)]


@pytest.fixture(scope="session")
def brief_bundle() -> list[str]:
    """Runs a bundle as Python does, but that it measures briefly; its path is to follow."""
    lines = [
        "import runpy, sys",
        "del sys.argv[0]; sys.path.insert(0, sys.argv[0])",  # so it is its own code that is run
        *shorten(),
        "runpy.run_path(sys.argv[0], run_name='__main__')",
    ]
    return [sys.executable, "-c", "\n".join(lines)]


# Handlers that keep nothing from one request to the next: what reads, links and compiles.
STATELESS = re.compile(
    r"frontrunner\.(search\.(reading|mlir|linking)\.\w+|benchmarks\.compiling\.worker):"
)
MOST_SPARE = 6


@pytest.fixture(scope="session", autouse=True)
def spare_children() -> Iterator[None]:
    """Keeps processes that children leave, for others that would start the same.

    To start one takes 0.3 s of a core. Tests of reading and compiling take 170 s so, not 243.
    """
    spares: list[tuple[object, Child]] = []
    lock = threading.Lock()
    kinds = WeakKeyDictionary[Child, object]()
    call, close = Child.call, Child.close
    start, start_process = Child._start, Child._start_process
    temporary_folder()  # before a command begins, which would end its own

    def kind(child: Child) -> object:
        environ = {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}
        return child.handler, child.env, environ, sys.path[:], os.getcwd(), temporary_folder()

    def keep(child: Child) -> None:
        # One that another thread closes while it starts is of no known kind yet.
        started_as = kinds.pop(child, None)
        idle = child.running and not child._in_call
        if started_as and idle and STATELESS.match(child.handler):
            spare = Child(child.handler, child.env)
            children._ahead.append(child)
            spare._take_over(child)
            with lock:
                spares.append((started_as, spare))
                oldest = spares[:-MOST_SPARE]
                del spares[:-MOST_SPARE]
            for _, spare in oldest:
                close(spare)
        close(child)

    def take_or_start(child: Child) -> None:
        close(child)
        wanted = kind(child)
        with lock:
            fitting = [one for one in spares if one[0] == wanted][:1]
            for one in fitting:
                spares.remove(one)
        for _, spare in fitting:
            children._ahead.append(spare)
            if child._take_over(spare):
                kinds[child] = wanted
                return
        start(child)
        kinds.setdefault(child, wanted)  # it may have taken over one that was started ahead

    def note(child: Child) -> None:
        start_process(child)
        kinds[child] = kind(child)

    def ask(child: Child, request: object, timeout: float | None = None) -> object:
        try:
            return call(child, request, timeout)
        except RuntimeError as error:
            # Some of the compiler's flags are set once in a process.
            if "this process compiles with" not in str(error):
                raise
            close(child)
            note(child)
            return call(child, request, timeout)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Child, "call", ask)
        patch.setattr(Child, "close", keep)
        patch.setattr(Child, "_start", take_or_start)
        patch.setattr(Child, "_start_process", note)
        yield
    for _, spare in spares:
        close(spare)


@pytest.fixture(scope="session")
def readers() -> Iterator[dict[str, Child]]:
    """A process for models and one for dispatches, by their handlers; they start when asked."""
    temporary_folder()  # made before a command begins, so that it is there after that has ended
    with Child(networks.NETWORK_READER) as of_models, Child(dispatches.READER) as of_dispatches:
        yield {child.handler: child for child in (of_models, of_dispatches)}


@pytest.fixture(scope="module")
def warm(readers: dict[str, Child]) -> Iterator[None]:
    """Has files read by processes that are there already: a new one takes a second to start."""

    def child(handler: str) -> AbstractContextManager[Child]:
        return nullcontext(readers[handler]) if handler in readers else Child(handler)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "Child", child)
        yield


@pytest.fixture(scope="session")
def vulkan_device() -> None:
    """Skips the test where no Vulkan device answers."""
    try:
        chip_of("vulkan")
    except FrontrunnerError as error:
        pytest.skip(f"{error} (apt-get install mesa-vulkan-drivers libvulkan1)")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium: playwright's own, or one that is installed."""
    sync_api = pytest.importorskip("playwright.sync_api")
    named = os.environ.get("FRONTRUNNER_CHROMIUM")
    places = [named] if named else [None, *filter(None, map(shutil.which, BROWSERS))]
    with sync_api.sync_playwright() as playwright:
        for place in places:
            try:
                opened = playwright.chromium.launch(executable_path=place, args=["--no-sandbox"])
                break
            except sync_api.Error:
                if named:
                    raise
        else:
            pytest.skip("no Chromium: `playwright install chromium`, or set FRONTRUNNER_CHROMIUM")
        yield opened
        opened.close()


class Family:
    """A process and all that it starts, found by a mark in their environment."""

    def __init__(self) -> None:
        self._mark = f"FRONTRUNNER_FAMILY={uuid4()}"
        self._ends: dict[int, int] = {}

    def environment(self, **more: str) -> dict[str, str]:
        """What the process is to be started with."""
        name, _, value = self._mark.partition("=")
        path = os.pathsep.join(filter(None, sys.path))
        return {**os.environ, "PYTHONPATH": path, name: value, **more}

    def members(self) -> list[int]:
        """The numbers of those that live."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if self._mark.encode() in (process / "environ").read_bytes():
                    found.append(int(process.name))
                    if found[-1] not in self._ends:
                        self._ends[found[-1]] = os.pidfd_open(found[-1])
        for ended in self._ends.keys() - set(found):  # its end would be waited for no more
            os.close(self._ends.pop(ended))
        return found

    def has_grown(self, count: int, seconds: float = 300) -> bool:
        """Waits until there are so many."""
        until = time.monotonic() + seconds
        while len(self.members()) < count and time.monotonic() < until:
            # Looking without a pause would take a core from those that are waited for.
            select.select(list(self._ends.values()), [], [], 0.02)
        return len(self.members()) >= count

    def has_shrunk(self, count: int, seconds: float = 300) -> bool:
        """Waits until there are no more than so many."""
        until = time.monotonic() + seconds
        while len(self.members()) > count and time.monotonic() < until:
            select.select(list(self._ends.values()), [], [], 1)
        return len(self.members()) <= count

    def close(self) -> None:
        for member in self.members():
            os.kill(member, signal.SIGKILL)
        for end in self._ends.values():
            os.close(end)


@pytest.fixture
def family() -> Iterator[Family]:
    with closing(Family()) as family:
        yield family


class Ran:
    """What one command line came to."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err


@pytest.fixture
def frontrunner(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Runs the command line in this process."""

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run
