# Two commands for a newcomer: `make demo` and `make test`. Both set up what they need in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STARTER := blueprints/library/starter.yaml

# Hundreds of short Python processes: without compiled modules on disk each would compile all of them anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all lint types layers unit docs format clean

## Plan and apply the shipped three-environment blueprint offline, with real Terraform.
demo: $(VENV)/.demo
	@rm -rf blueprints/library/.groundplan/offline
	$(BIN)/groundplan -f $(STARTER) apply --all --offline --auto-approve
	@cat docs/demo-next.txt

## Everything that CI checks: lint, types, layers, tests.
test: lint types layers unit

## The slow tests too, some ten minutes.
test-all: lint types layers
	$(BIN)/pytest -n 3 --dist loadfile -m "not nightly"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

layers: $(VENV)/.dev
	$(BIN)/lint-imports --no-cache

unit: $(VENV)/.dev
	$(BIN)/pytest -n 3 --dist loadfile

## Write the generated pages and the editor schema anew.
docs: $(VENV)/.dev
	$(BIN)/python tools/language_reference.py
	$(BIN)/python tools/command_reference.py
	$(BIN)/python tools/rules_reference.py
	$(BIN)/groundplan schema -o blueprints/blueprint.schema.json

## Rewrite what a tool can rewrite.
format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "groundplan needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[embedded]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.demo
