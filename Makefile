# make up    - environment, install, start everything, wait until ready (Ctrl-C stops it)
# make test  - all that CI runs: style, types, stubs, tests
# make audit - pins, licences and known vulnerabilities of what is installed
# make bench - the benchmarks of benchmarks/README.md

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# What an install is made of.
INSTALLED := pyproject.toml clients/python/pyproject.toml constraints.txt models/executors/trees/kernel.c

.PHONY: up down test check audit bench protos

up: $(VENV)/serve
	@$(BIN)/demur up

down:
	@$(BIN)/demur down

test: $(VENV)/train check audit
	$(BIN)/python -m pytest -q -m "not slow and not statistical"

check: $(VENV)/train
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m tests.regenerate_stubs --check
	$(BIN)/python -m tests.settings_page --check

audit: $(VENV)/train $(VENV)-audit/bin/pip-audit
	$(BIN)/python -m tests.dependencies --advisories $(VENV)-audit/bin/pip-audit

$(VENV)-audit/bin/pip-audit: # what it needs has nothing to do with what we need
	@$(PYTHON) -m venv $(VENV)-audit
	-@$(VENV)-audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1

bench: $(VENV)/train
	$(BIN)/python -m benchmarks

protos: $(VENV)/train
	$(BIN)/python -m tests.regenerate_stubs

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
