# Every target sets up what it needs; `make help` lists them.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
BIN := .venv/bin
READY := .venv/.ready
# Three processes on two cores: one of them often waits.
PYTEST := -n 3 --dist loadgroup
# Tests and fleets start hundreds of processes, each of which would compile all sources.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test test-all test-long lint types format bench docs dist clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## a virtual environment with everything in it

$(READY): scripts/setup pyproject.toml constraints.txt
	@bash scripts/setup
	@touch $@

demo: $(READY) ## the main job end to end on a small generated trace; KEEP=1 leaves the fleet up
	@KEEP=$(KEEP) $(BIN)/python examples/demo.py

test: $(READY) lint ## all tests but the long ones, under 10 minutes on 2 cores
	@$(MAKE) --no-print-directory -j 2 types test-all

test-all: $(READY)
	@$(BIN)/python -m pytest $(PYTEST)

test-long: $(READY) ## what takes minutes, many more random cases, and asyncio watched for slips
	@THOROUGH=1 PYTHONASYNCIODEBUG=1 $(BIN)/python -m pytest $(PYTEST) -m "long or hypothesis or live"

lint: $(READY) ## style of the code
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(READY) ## types of the code
	@$(BIN)/mypy

format: $(READY) ## put the code in shape
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(READY) ## every performance figure, as a ratio to a baseline
	@for b in $$(grep -l '^if __name__' benchmarks/*.py); do \
		$(BIN)/python -m "benchmarks.$$(basename "$$b" .py)"; done

docs: $(READY) ## the documentation as a site, in site/
	@$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -d build/doctrees -c docs . site
	@cp site/README.html site/index.html

dist: $(READY) ## a wheel in dist/
	@$(BIN)/python -m build --wheel --outdir dist .

clean: ## what can be made again: caches, compiled kernels, output
	@rm -rf build dist out site .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find src tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} +
