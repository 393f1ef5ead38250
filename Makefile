# make up    - environment, install, start everything, wait until ready (Ctrl-C stops it)
# make test  - style, types, stubs, and the tests that are not long, in WORKERS=3 processes
# make test-all - everything CI runs: make test, then the long tests: service processes, trainings, whole reports
# make audit - pins, licences and known vulnerabilities of what is installed
# make bench - the benchmarks of benchmarks/README.md
# make race  - Demur beside other model servers, into benchmarks/race.md; installs them the first time (several minutes)
# make transports - gRPC servers for Python, and the contract each keeps, into benchmarks/transports.md (four minutes)
# make gpu   - checks and benchmarks to run on a machine with a GPU, part by part; PROVIDER=cpu runs them on a CPU (docs/gpu)
# make policy - Kubernetes manifests against checkov's rules, in an environment of its own (a minute the first time)
# make generators - clients of four generators against running services; needs Java, Node.js and a few minutes
# make image, image-gpu, artefact-image, sbom - container images, with docker, podman or buildah (deploy/images/README.md)

PYTHON ?= python3
PROVIDER ?= cuda
WORKERS ?= 3
VENV := .venv
OIP := .venv-oip
BUF := .buf
GENERATORS := .venv-generators
AXE := .axe
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# Several processes share the cores already; threads of PyTorch and NumPy in each would only compete for them.
THREADS := $(if $(filter 1,$(WORKERS)),,OMP_NUM_THREADS=1)

# What an install is made of.
INSTALLED := pyproject.toml clients/python/pyproject.toml simulators/pyproject.toml constraints.txt \
	models/executors/trees/kernel.c models/executors/trees/one_row.h models/inputs/kernel.c

.PHONY: up down environments test test-all check audit bench race transports gpu protos policy generators image image-gpu artefact-image sbom

up: $(VENV)/serve
	@$(BIN)/demur up

down:
	@$(BIN)/demur down

environments: $(VENV)/train $(OIP)/ready $(BUF)/ready $(GENERATORS)/ready $(AXE)/ready $(VENV)-audit/bin/pip-audit

# Numerics, services and long tests in processes of their own, so that none holds the libraries and caches of all.
PYTEST = $(THREADS) $(BIN)/python -m pytest -q -n $(WORKERS)
NUMERICS := tests/models tests/studies tests/statistical
SHORT := not long and not slow and not statistical

test: environments check audit
	status=0; \
	$(PYTEST) -m "$(SHORT)" $(NUMERICS) || status=1; \
	$(PYTEST) -m "$(SHORT)" $(NUMERICS:%=--ignore=%) || status=1; \
	exit $$status

test-all: test
	$(PYTEST) -m "long and not slow and not statistical"

check: $(VENV)/train
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m tests.regenerate_stubs --check
	$(BIN)/python -m tests.settings_page --check
	$(BIN)/python -m tests.regenerate_blocking_client --check

audit: $(VENV)/train $(VENV)-audit/bin/pip-audit
	$(BIN)/python -m tests.dependencies --advisories $(VENV)-audit/bin/pip-audit

$(VENV)-audit/bin/pip-audit: # what it needs has nothing to do with what we need
	@$(PYTHON) -m venv $(VENV)-audit
	-@$(VENV)-audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1

bench: $(VENV)/train
	$(BIN)/python -m benchmarks

race: $(VENV)/train
	$(BIN)/python -m benchmarks.race --page $(RACE)

transports: $(VENV)/train
	$(BIN)/python -m benchmarks.transports --page

# With what is installed: a machine with a GPU may have no network.
gpu:
	@$(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON)) -m benchmarks.gpu --provider $(PROVIDER) $(GPU)

protos: $(VENV)/train
	$(BIN)/python -m tests.regenerate_stubs

policy: $(VENV)/train .venv-policy/bin/checkov
	PATH="$(CURDIR)/.venv-policy/bin:$$PATH" $(BIN)/python -m pytest -q -m slow tests/deploy/test_manifest_policy.py

generators: $(VENV)/train $(GENERATORS)/ready
	@$(GENERATORS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --requirement tests/generators/requirements-slow.txt
	@npm ci --silent --prefix tests/generators/typescript
	$(BIN)/python -m pytest -q -m "slow or not slow" tests/e2e/test_generators.py

.venv-policy/bin/checkov:
	@$(PYTHON) -m venv .venv-policy
	@.venv-policy/bin/python -m pip install --quiet --disable-pip-version-check checkov==3.3.30

image:
	@deploy/images/build.sh cpu

image-gpu:
	@deploy/images/build.sh gpu

artefact-image:
	@deploy/images/build.sh artefacts

sbom:
	@deploy/images/build.sh sbom > sbom.cdx.json
	@echo "sbom.cdx.json says what the image consists of"

# One pip call each, under constraints, so that two installs are equal.
$(VENV)/serve: $(INSTALLED)
	@$(PYTHON) -c 'import sys; sys.exit("Demur needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (a few minutes the first time)"
	@$(PIP) -e clients/python -e '.[build,evaluate]' -e simulators
	@touch $@

$(VENV)/train: $(INSTALLED)
	@$(PYTHON) -c 'import sys; sys.exit("Demur needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV), with training and development extras"
	@$(PIP) -e clients/python -e '.[evaluate,released,postgres,tracing,train,dev]' -e simulators
	@touch $(VENV)/serve $@

# What speaks the Open Inference Protocol as its users do, apart: its packages and ours register the same names.
$(OIP)/ready: tests/oip/requirements.txt
	@test -x $(OIP)/bin/python || $(PYTHON) -m venv $(OIP)
	@echo "installing a stock client into $(OIP)"
	@$(OIP)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --requirement $<
	@touch $@

# A tool that calls gRPC by hand, as its users do; where there is no npm, what drives it is skipped.
$(BUF)/ready:
	-@! command -v npm > /dev/null || { mkdir -p $(BUF) && npm install --silent --no-audit --no-fund --ignore-scripts \
		--prefix $(BUF) @bufbuild/buf@1.75.0 && touch $@; }

# Generators of clients, and what their clients import, apart: they pin other versions than a server does.
$(GENERATORS)/ready: tests/generators/requirements.txt
	@test -x $(GENERATORS)/bin/python || $(PYTHON) -m venv $(GENERATORS)
	@echo "installing generators of clients into $(GENERATORS)"
	@$(GENERATORS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --requirement $<
	@touch $@

# Rules of accessibility that pages are checked by in a browser: one script, which a package of PyPI brings unchanged.
$(AXE)/ready: tests/browser/axe.txt | $(VENV)/train
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --upgrade --target $(AXE) --requirement $<
	@touch $@
