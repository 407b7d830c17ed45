# Needs Python 3.11 or newer and make; everything else is installed into .venv on first use.

BIN := .venv/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes

.PHONY: run test demo bench chaos lint format
.DEFAULT_GOAL := run

run: .venv/installed ## Start everything; Ctrl-C stops it
	@$(BIN)/python -m dev.run

demo: .venv/installed ## Show one of each job, a repeat, a flaky and a poison one, on a stack of its own
	@$(BIN)/python -m dev.demo

bench: .venv/installed-dev ## Measure, as ratios within one run (about ten minutes); NAMES=drain measures that alone
	@$(BIN)/python -m bench $(NAMES)

chaos: .venv/installed-dev ## Break everything while 2,000 jobs run, then account for each (ten minutes); ARGS="--seed 7" repeats a plan
	@$(BIN)/python -m chaos $(ARGS)

test: .venv/installed-dev lint ## Check and run every test
	@$(BIN)/pytest -n 2 --dist loadgroup

lint: .venv/installed-dev ## Formatting, lint rules, the arrow between the folders, types
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/mypy

format: .venv/installed-dev ## Format the code and mend what can be mended by itself
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

# The files remember what is installed: a second run installs nothing and needs no network.
.venv/installed: requirements.txt | .venv/bin/python
	@echo "Installing what $< pins (once) ..."
	@$(PIP) -r requirements.txt
	@touch $@

.venv/installed-dev: requirements-dev.txt .venv/installed
	@echo "Installing what $< pins (once) ..."
	@$(PIP) -r requirements-dev.txt
	@touch $@

.venv/bin/python:
	@for python in python3.13 python3.12 python3.11 python3; do \
	  $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	  $$python -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo "make: $$python has no venv module; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }; \
	  exec $$python -m venv .venv; \
	done; echo "make: Python 3.11 or newer is needed; python3 here is: $$(python3 --version 2>&1 | tail -n 1)" >&2; exit 1
