# Every target does its own set-up; all it needs is Python 3.11 or newer. `make demo PYTHON=python3.12` names another one.
PYTHON ?= python3
BIN := .venv/bin
SETUP := @$(PYTHON) -m tools.bootstrap
CODE := countersign bot console edge sandbox witness evidence runtime policy receipts packs tools tests benchmarks
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo up test faults soak budgets walks mutants gallery check bench release fmt lock clean

help: ## Show these targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 8

demo: ## Play the main job end to end on this machine, and verify its evidence
	$(SETUP) run
	@$(BIN)/countersign demo $(ARGS)

up: ## Start everything on this machine and leave it running for people to click
	$(SETUP) run
	@$(BIN)/countersign up $(ARGS)

test: ## Run the tests, e.g. make test ARGS="tests/unit -k gate"
	$(SETUP) test
	@$(BIN)/python -m pytest -n 4 --dist worksteal $(ARGS)

faults: ## Break everything around the program, and the program, and check that nothing is lost
	$(SETUP) test
	@$(BIN)/python -m tests.faults.harness --runs 2000 --minutes 10 $(ARGS)

soak: ## The same for as long as you like, e.g. make soak ARGS="--minutes 60"
	$(SETUP) test
	@$(BIN)/python -m tests.faults.harness $(ARGS)

budgets: ## Let 64 workers, of which some are killed, use up a budget of 1,000
	$(SETUP) test
	@$(BIN)/python -m pytest -q -s tests/faults/test_budget_kills.py --budget 1000 $(ARGS)

walks: ## Measure how many files, functions and statements a click, a trigger and a look take
	$(SETUP) test
	@$(BIN)/python -m pytest -q -s tests/integration/test_walks.py

mutants: ## Take away the most important guards, one at a time, and demand that a test fails
	$(SETUP) test
	@$(BIN)/python -m tests.mutants $(ARGS)

gallery: ## Look at every page of the console as each role, with axe-core, and do every act
	$(SETUP) test
	@$(BIN)/python -m tests.gallery $(ARGS)

check: ## Check format, lint (JavaScript, too), types, import order and policies
	$(SETUP) check
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy $(CODE)
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m tools.biome lint --error-on-warnings
	@$(BIN)/countersign policy check rego

bench: ## Measure ours beside peers in one run, e.g. make bench ARGS="--quick"
	$(SETUP) run
	@$(BIN)/python -m benchmarks $(ARGS)

release: ## Build sdist and wheel in dist/, and play the demo from the wheel in an empty folder
	$(SETUP) run
	@$(BIN)/python -m tools.release $(ARGS)

fmt: ## Format Python and Rego, fix what lint can fix, and write what is generated
	$(SETUP) check
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .
	@$(BIN)/python -m tools.biome lint --write
	@$(BIN)/python -m tools.verifier_shapes
	@$(BIN)/countersign policy fmt rego

lock: ## Lock what pyproject.toml asks for, the newest with make lock ARGS=--upgrade
	@$(PYTHON) -m tools.lock $(ARGS)

clean: ## Remove the environment and caches of this checkout; data and keys stay
	@rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
