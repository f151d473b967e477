# The commands of a working day. Each sets up .venv by itself; it needs Python 3.11 or later and make.
# ARGS is handed on: `make demo ARGS=--json`, `make test ARGS="-k vault -x"`.

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help setup demo up test soak lint format bench lock clean

ARGS ?=
JOBS ?= auto
BIN := .venv/bin

# The folder's own name is in the stamp: a .venv that was copied along with the folder is set up anew.
STAMP := .venv/.installed-$(shell pwd | cksum | cut -d' ' -f1)

help: ## list these commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1	\2/p' Makefile | expand -t 14

setup: $(STAMP) ## make .venv, or bring it up to date
	@echo ".venv is ready" >&2

$(STAMP): requirements.lock pyproject.toml scripts/setup.sh
	@sh scripts/setup.sh $(STAMP)

demo: $(STAMP) ## publish a launch week against the sandbox and check it (under 60 s)
	@$(BIN)/socialq demo $(ARGS)

up: $(STAMP) ## run everything on this machine until Ctrl-C
	@$(BIN)/socialq up $(ARGS)

test: $(STAMP) ## all tests
	@$(BIN)/pytest -n $(JOBS) $(ARGS)

soak: $(STAMP) ## hours of what `test` does in seconds: seeds, lives, failpoints, mutants
	@SOCIALQ_SIMULATION_SECONDS=$${SOCIALQ_SIMULATION_SECONDS:-1800} SOCIALQ_SIMULATION_FIRST=$$(date +%s) \
	    SOCIALQ_STATEFUL_EXAMPLES=$${SOCIALQ_STATEFUL_EXAMPLES:-2000} SOCIALQ_FAILPOINTS=all \
	    $(BIN)/pytest -n $(JOBS) tests/simulation tests/integration/stateful tests/integration/failpoints $(ARGS)
	@$(BIN)/python -m tests.mutants

lint: $(STAMP) ## what CI checks beside the tests
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(STAMP) ## let ruff format and fix
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

# One after another, since each wants the whole machine: half an hour in all. ARGS goes to each, so it can be
# what all of them know; BENCHMARKS chooses: `make bench BENCHMARKS="lateness herd"`.
BENCHMARKS ?= throughput tenants herd growth lateness publish_now memory adapters
growth_OPTIONS ?= --rows 10000,300000

bench: $(STAMP) ## all benchmarks, one after another, a JSON line each
	@$(foreach name,$(BENCHMARKS),echo "$(name)" >&2; $(BIN)/python -m benchmarks.$(name) $($(name)_OPTIONS) --json $(ARGS) || exit 1;)

lock: ## resolve requirements.lock anew (needs uv)
	@command -v uv >/dev/null || { echo "make lock needs uv: https://docs.astral.sh/uv/" >&2; exit 1; }
	uv pip compile pyproject.toml --all-extras --universal --generate-hashes --python-version 3.11 \
	    --no-emit-index-url --no-emit-find-links --upgrade -o requirements.lock $(ARGS)

clean: ## remove .venv and caches; data in .socialq stays
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
