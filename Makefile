# Every target needs only Python 3.11+, pip and make; all else goes into .venv.

SHELL := /bin/bash -o pipefail
VENV := .venv
BIN := $(VENV)/bin
LOCK := requirements.lock
# Tests of what can be told without a compiler.
QUICK := tests/test_layout.py tests/core tests/features tests/models tests/search/enumeration \
	tests/search/test_flags.py tests/benchmarks/operations tests/experiments/dataset \
	tests/experiments/evaluation tests/experiments/queue \
	$(addprefix tests/benchmarks/measuring/test_, \
	$(addsuffix .py, budget estimate finals outcome rounds screening)) \
	$(addprefix tests/benchmarks/verifying/test_, inputs.py tolerance.py)
# Of all files, collecting takes longer; if ARGS names some, there are no others.
SLOW = $(if $(filter tests%,$(ARGS)),,$(sort $(shell grep -rl --include='*.py' 'mark\.slow' tests)))
# Those of the tables in docs/orders.md, and of the predictor that ships.
RANKERS := heuristic,cpu,forest,lightgbm,adaptive
RECORDINGS := $(addprefix experiments/recordings/, zen3 zen4 zen5 sapphire_rapids emerald_rapids)
# The first interpreter that is new enough; choose another with `make PYTHON=python3.12 tune`.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python python3.14 python3.13 python3.12 python3.11; do \
	$$p -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$p && break; done)

# Without cached bytecode every process compiles MLflow and pandas anew: 13 s, not 5, for the former.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help env env-dev charts docs picture tune tune-vulkan evaluate gpu-kit models predictor test test-slow test-quick \
	dist lowest pythons invocations fuzz faults faults-1 faults-2 lint format lock clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

env: $(VENV)/.env  ## create .venv with frontrunner in it

env-dev: $(VENV)/.env-dev  ## the same, with what tests and checks need

tune: env  ## tune the example dispatch on this machine's CPU
	$(BIN)/frontrunner tune examples/matmul_skinny.mlir --budget 24

tune-vulkan: env  ## the same on its Vulkan device; without one, say what to install
	$(BIN)/frontrunner tune examples/matmul_skinny.mlir --target vulkan --budget 16

evaluate: env-dev  ## compare the rankers on the recordings of CPUs in experiments/recordings
	$(BIN)/frontrunner evaluate $(RECORDINGS) --rankers $(RANKERS) --seeds 1 $(ARGS)

gpu-kit: env-dev  ## what a lent GPU without a network needs, in runs/gpu-kit (hours; ARGS="--targets gfx942")
	$(BIN)/python -m frontrunner.experiments.studies.gpu_kit build runs/gpu-kit $(ARGS)

models: $(VENV)/.env-models  ## tune ten models, 15 minutes each (ARGS=6: six minutes, as in docs/models.md)
	$(BIN)/python -m frontrunner.experiments.studies.models_table runs/models $(ARGS)

predictor: env  ## train the predictor that ships in the package, as it is in the repository
	$(BIN)/frontrunner train $(RECORDINGS) --ranker cpu --out models/data/cpu.predictor

test: env-dev  ## run the tests, but for those that take long one by one
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow" $(ARGS)

test-slow: env-dev  ## run those that take long: whole runs, killed and resumed, over all kinds
	$(BIN)/python -m pytest -n 2 --dist worksteal -m slow --durations 12 $(SLOW) $(ARGS)

test-quick: env-dev  ## run those that compile and measure nothing, in under a minute
	$(BIN)/python -m pytest -n 2 --dist loadfile -q --no-header $(QUICK) $(ARGS)

charts:  ## bundle what draws the charts of reports anew (needs npm)
	cd experiments/reporting/drawing/assets && npm ci --ignore-scripts && npm run build && rm -r node_modules

dist: env-dev  ## build the wheel and the sdist into dist, and check both
	rm -rf dist build/lib build/bdist.* *.egg-info  # what is left in build goes into the wheel, too
	$(BIN)/python -c 'import setuptools.build_meta as b; b.build_sdist("dist"); b.build_wheel("dist")' > /dev/null
	rm -rf build/lib build/bdist.* *.egg-info
	$(BIN)/twine check --strict dist/*
	@du -h dist/*

# What tests need beside the package has no least versions: the newest that go with them.
lowest: $(VENV)/.created  ## the quick tests with the least versions that pyproject.toml allows
	$(BIN)/python -m venv --clear --without-pip $(VENV)/lowest
	$(BIN)/uv pip install --quiet --python $(VENV)/lowest/bin/python --resolution lowest-direct -e '.[baselines]'
	$(BIN)/uv pip install --quiet --python $(VENV)/lowest/bin/python pip setuptools pytest pytest-xdist hypothesis
	$(VENV)/lowest/bin/python -m pytest -n 2 --dist loadfile -q --no-header -p no:cacheprovider $(QUICK) $(ARGS)

pythons: env-dev  ## tell whether all that is needed comes as wheels for each Python in the classifiers
	@for version in 3.11 3.12 3.13 3.14; do $(BIN)/uv pip compile pyproject.toml --quiet --no-header \
		--only-binary :all: --python-version $$version --python-platform x86_64-manylinux_2_28 \
		--output-file /dev/null && echo "$$version: wheels of all" || exit 1; done

docs: env-dev  ## build the site of the documentation in build/site, strictly, with no network
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

picture: env  ## record the run that README shows, in docs/images/tune.svg
	$(BIN)/python docs/site/terminal.py examples/matmul_skinny.mlir docs/images/tune.svg

# Another seed every day; it is printed, and FAULT_SEED=... takes it again.
FAULT_SEED ?= $(shell date +%F)

invocations: env-dev  ## try 200 malformed command lines: each is refused, and nothing is overwritten
	$(BIN)/python -m frontrunner.experiments.studies.invocations --seed $(FAULT_SEED) --count 200

fuzz: env-dev  ## damage 60 files: nothing may be executed, and errors have one line
	$(BIN)/python -m frontrunner.experiments.fuzz --seed $(FAULT_SEED) --count 60 --jobs 2

faults: env-dev  ## have 60 faults strike runs: nothing may be lost (seven minutes)
	@$(MAKE) --no-print-directory -j 2 --output-sync=line faults-1 faults-2

# Halves side by side, each with temporary files of its own: faults mostly wait.
faults-1 faults-2: env-dev
	@folder=$$(mktemp -d); trap 'rm -rf $$folder' EXIT; TMPDIR=$$folder $(BIN)/python -m \
		frontrunner.experiments.studies.chaos --seed $(FAULT_SEED)-$@ --faults 30

# mypy does not follow editable installs, so it is shown the package through a link; running it
# beside the link makes it report paths as `frontrunner/...`.
lint: env-dev  ## ruff check, ruff format --check, mypy --strict on the package
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@mkdir -p $(VENV)/typed && ln -sfn ../.. $(VENV)/typed/frontrunner
	cd $(VENV)/typed && ../bin/python -m mypy --config-file ../../pyproject.toml \
		--cache-dir ../../.mypy_cache -p frontrunner

format: env-dev  ## rewrite the sources in the house style
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

lock: env-dev  ## refresh requirements.lock from pyproject.toml (ARGS=--upgrade for newer versions)
	$(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --extra dev \
		--no-header --no-annotate --quiet --output-file $(LOCK) $(ARGS)

clean:  ## remove .venv and caches, but no results
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# uv installs in seconds what takes pip a minute; where it cannot be had or cannot reach an index
# (it does not read pip.conf), pip does the work. A pip of its own takes 4.0 of the 4.4 s of a core
# that making .venv takes, so the one that is there fetches uv, and uv fetches pip.
$(VENV)/.created:
	@test -n "$(PYTHON)" || { echo "error: Python 3.11 or newer is needed;" \
		"name one with: make PYTHON=/path/to/python3.12 ..." >&2; exit 2; }
	@$(PYTHON) -c '$(NEW_ENOUGH)' 2>/dev/null || { echo "error: $(PYTHON) is not Python 3.11 or newer;" \
		"name one with: make PYTHON=/path/to/python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv --clear --without-pip $(VENV)
	@$(PYTHON) -m pip --python $(BIN)/python install $(UV_OF_PIP) 2> /dev/null \
		|| { $(BIN)/python -m ensurepip > /dev/null && $(BIN)/python -m pip install $(UV_OF_PIP); } \
		|| echo "uv is not to be had here: pip installs instead, in about a minute" >&2
	@touch $@

UV_OF_PIP = --quiet --disable-pip-version-check -c $(LOCK) uv

# Behind a company's certificate, uv has to be told to trust what the system trusts.
UV_INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python -c $(LOCK) -b $(LOCK) -e '$(1)' pip
INSTALL = { $(UV_INSTALL) 2> /dev/null || UV_SYSTEM_CERTS=true UV_NATIVE_TLS=true $(UV_INSTALL) \
		|| { echo "uv did not manage: pip installs instead, in about a minute" >&2; \
		$(BIN)/python -m ensurepip > /dev/null; \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile \
			-c $(LOCK) -e '$(1)'; }; }

$(VENV)/.env: $(VENV)/.created pyproject.toml $(LOCK)
	@$(call INSTALL,.)
	@touch $@

$(VENV)/.env-dev: $(VENV)/.created pyproject.toml $(LOCK)
	@$(call INSTALL,.[dev])
	@touch $@ $(VENV)/.env

# The CPU's build of torch has 0.2 GB, the one on PyPI brings 3 GB of CUDA along; uv finds the former.
$(VENV)/.env-models: $(VENV)/.env-dev
	@$(BIN)/uv pip install --quiet --python $(BIN)/python -c $(LOCK) --torch-backend cpu -e '.[torch]' \
		|| $(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(LOCK) -e '.[torch]'
	@touch $@
