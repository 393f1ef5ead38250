# make up    - environment, install, start everything, wait until ready (Ctrl-C stops it)
# make test  - all that CI runs: style, types, stubs, tests
# make bench - the benchmarks of benchmarks/README.md
# make image, image-gpu, artefact-image, sbom - container images, with docker, podman or buildah (deploy/images/README.md)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# What an install is made of.
INSTALLED := pyproject.toml clients/python/pyproject.toml constraints.txt models/executors/trees/kernel.c

.PHONY: up down test check bench protos image image-gpu artefact-image sbom

up: $(VENV)/serve
	@$(BIN)/demur up

down:
	@$(BIN)/demur down

test: $(VENV)/train check
	$(BIN)/python -m pytest -q -m "not slow and not statistical"

check: $(VENV)/train
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m tests.regenerate_stubs --check
	$(BIN)/python -m tests.settings_page --check

bench: $(VENV)/train
	$(BIN)/python -m benchmarks

protos: $(VENV)/train
	$(BIN)/python -m tests.regenerate_stubs

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
	@$(PIP) -e clients/python -e '.[evaluate]'
	@touch $@

$(VENV)/train: $(INSTALLED)
	@$(PYTHON) -c 'import sys; sys.exit("Demur needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV), with training and development extras"
	@$(PIP) -e clients/python -e '.[evaluate,released,postgres,train,dev]'
	@touch $(VENV)/serve $@
