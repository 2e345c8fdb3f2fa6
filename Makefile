# Everything runs from .venv, which is made on first use and again when pyproject.toml
# changes. Needed: Python 3.11 to 3.14 and make; a C compiler for pyeda, which is optional.

PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?=
RUNS ?=
SAMPLE ?=

# Where an environment forbids it, every run would rewrite and compile all test modules anew.
export PYTHONDONTWRITEBYTECODE =

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
RUNTIME := $(VENV)/.runtime-installed
BENCH := $(VENV)/.bench-installed
DEV := $(VENV)/.dev-installed
ENGINES := $(VENV)/.engines-tried
CLIENTS := $(VENV)/.clients-tried
SITE := $(VENV)/.site-installed
RELEASE := $(VENV)/.release-installed

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-service test-clients test-figures test-wheel test-engines test-all audit mutants experiments site release lint format vendor clean

help:
	@echo "make demo          build a small clinic and ask it a private query"
	@echo "make test          run the fast tests"
	@echo "make test-service  run the fast tests of the command, and those that start our server, a browser, a notebook or processes"
	@echo "make test-clients  run the slow tests of the server's clients, JDBC among them"
	@echo "make test-figures  run the fast tests of benchmarks and datasets"
	@echo "make test-wheel    install the wheel where there is no compiler, and use it"
	@echo "make test-engines  run the fast tests of the engines, some of which need a PostgreSQL server or Spark"
	@echo "make test-all      run every test, the slow ones too"
	@echo "make mutants       change the code where privacy is computed, and see that a test fails"
	@echo "make audit         attack the engine from outside, at full length (an hour or more)"
	@echo "make experiments   repeat the paper's experiments, quickly; RUNS=100 in full"
	@echo "make site          the documentation as a site, in build/site"
	@echo "make release       rehearse a release: build, check, install, list; publishes nothing"
	@echo "make lint          ruff check, ruff format --check, mypy --strict"
	@echo "make vendor        bundle the console's editor anew, from npm"
	@echo "make format        let ruff sort imports and format"
	@echo "make clean         remove $(VENV), caches and build products"
	@echo
	@echo "PYTHON=...         interpreter to build $(VENV) with (now: $(PYTHON))"
	@echo "PYTEST_ARGS=...    further arguments for pytest"

demo: $(RUNTIME)
	@$(BIN)/probe-sql demo

# Folders of which the marks would leave nothing are not even read.
ELSEWHERE := $(addprefix --ignore=tests/,serve notebook cli engines outside benchmarks datasets)

test: $(DEV)
	@echo "==> fast tests"
	@$(BIN)/python -m pytest -q -n auto -m "not slow and not engines and not service and not figures" \
	  $(ELSEWHERE) $(PYTEST_ARGS)

test-service: $(DEV) $(CLIENTS)
	@echo "==> fast tests of the command, the server, browser and notebook, and of processes"
	@$(BIN)/python -m pytest -q -n auto -m "service and not slow" \
	  tests/serve tests/notebook tests/cli tests/owner tests/outside tests/session \
	  tests/test_owners_story.py tests/test_readme.py tests/test_tutorial.py $(PYTEST_ARGS)

test-clients: $(DEV) $(CLIENTS)
	@echo "==> slow tests of the server's clients"
	@$(BIN)/python -m pytest -q -n 0 -m slow tests/serve/test_clients.py $(PYTEST_ARGS)

test-figures: $(DEV)
	@echo "==> fast tests of benchmarks and datasets"
	@$(BIN)/python -m pytest -q -n auto -m "figures and not slow" tests/benchmarks tests/datasets $(PYTEST_ARGS)

test-wheel: $(DEV)
	@echo "==> the wheel in an empty environment without a compiler"
	@$(BIN)/python -m pytest -q -n 0 -m "" tests/test_wheel.py $(PYTEST_ARGS)

test-engines: $(DEV) $(ENGINES)
	@echo "==> fast tests of the engines, on PostgreSQL and Spark too"
	@$(BIN)/python -m pytest -q -n auto -m "engines and not slow" tests/engines $(PYTEST_ARGS)

test-all: $(DEV) $(ENGINES) $(CLIENTS)
	@echo "==> all tests"
	@$(BIN)/python -m pytest -q -n auto -m "" $(PYTEST_ARGS)

audit: $(DEV)
	@echo "==> the full audit: docs/audit.md says what it tries"
	@AUDIT_SOUP=12000 AUDIT_DIFFERENTIAL=4000 AUDIT_RUNS=500 AUDIT_FUZZ=40 \
	  $(BIN)/python -m pytest -q -n auto -m "" tests/audit $(PYTEST_ARGS)
	@echo "==> the bounds of ladder, thousands of runs in each cell"
	@$(BIN)/python -m pytest -q -n auto -m "" tests/algorithms/test_ladder_audit.py $(PYTEST_ARGS)
	@if $(BIN)/python -c 'import atheris' 2> /dev/null; then \
	  echo "==> coverage-guided fuzzing of the SQL front, seven minutes"; \
	  $(BIN)/python -m tests.audit.atheris_sql -max_total_time=420 -max_len=600; \
	else echo "notice: without atheris ($(BIN)/pip install atheris) nothing guides the fuzzing."; fi

mutants: $(DEV)
	@echo "==> mutants of what privacy rests on"
	@$(BIN)/python -m pytest -q -n 0 -m "" tests/test_mutation.py
	@$(BIN)/python -m tests.mutation $(if $(SAMPLE),--sample $(SAMPLE))

experiments: $(BENCH)
	@echo "==> the ladder beside the paper's algorithms"
	@mkdir -p benchmarks/results/ladder
	@$(BIN)/python -m benchmarks ladder $(if $(RUNS),--runs $(RUNS),--quick) \
	  --json benchmarks/results/ladder/results.json
	@echo "==> the paper's experiments on NYTaxi, Sales and UCI"
	@$(BIN)/python -m benchmarks paper $(if $(RUNS),--runs $(RUNS),--quick)
	@echo "==> the report: benchmarks/results/paper/report.html"

site: $(SITE)
	@echo "==> the documentation, warnings as errors"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "build/site/index.html"

release: $(DEV) $(RELEASE)
	@$(BIN)/python -m tests.release

lint: $(DEV)
	@echo "==> ruff check"
	@$(BIN)/ruff check .
	@echo "==> ruff format --check"
	@$(BIN)/ruff format --check .
	@echo "==> mypy (strict)"
	@$(BIN)/mypy

format: $(DEV)
	@$(BIN)/ruff check --select I --fix .
	@$(BIN)/ruff format .

# The bundle is committed: this is for who changes vendor/ or its versions. Needed: Node 20 or later.
vendor:
	@echo "==> the editor's packages, as vendor/package-lock.json names them"
	@cd vendor && npm ci --silent && node build.mjs
	@cp vendor/node_modules/axe-core/axe.min.js tests/serve/console/axe.min.js
	@rm -rf vendor/node_modules

clean:
	@echo "==> removing $(VENV), caches and build products"
	@rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- the environment -----------------------------------------------------------------

# Lists one group of requirements of pyproject.toml, one to a line.
define LIST_REQUIREMENTS
import sys, tomllib
with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
extras = project["optional-dependencies"]
groups = {
    **extras,
    "runtime": project["dependencies"],
    "engines": [*extras["postgres"], *extras["spark"]],
}
print(*groups[sys.argv[1]], sep="\n")
endef
export LIST_REQUIREMENTS

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' || { \
	  echo "probe-sql needs Python 3.11 to 3.14, and $(PYTHON) is not one of them."; \
	  echo "Name another: make PYTHON=/path/to/python3.12 ..."; exit 1; }
	@echo "==> creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)

# pyeda's C code is rejected by gcc 14 and later unless the flag turns one error back
# into a warning; older compilers accept the flag.
$(RUNTIME): pyproject.toml | $(BIN)/python
	@echo "==> installing probe-sql and what it needs (first time only)"
	@$(BIN)/python -c "$$LIST_REQUIREMENTS" runtime > $(VENV)/runtime.txt
	@$(BIN)/python -c "$$LIST_REQUIREMENTS" pyeda > $(VENV)/pyeda.txt
	@$(PIP) install --quiet -r $(VENV)/runtime.txt
	@echo "==> compiling pyeda (about a minute)"
	@CFLAGS="-Wno-error=incompatible-pointer-types $(CFLAGS)" \
	  $(PIP) install -r $(VENV)/pyeda.txt > $(VENV)/pyeda.log 2>&1 || { \
	  echo "notice: pyeda could not be installed ($(VENV)/pyeda.log says why)."; \
	  echo "        probe-sql gives the same answers without it, by its own minimisation."; \
	  echo "        To try again: install a C compiler and Python's headers, then"; \
	  echo "        make clean and make once more."; }
	@$(PIP) install --quiet --no-deps -e .
	@touch $@

$(BENCH): $(RUNTIME)
	@echo "==> installing what the figures need (first time only)"
	@$(BIN)/python -c "$$LIST_REQUIREMENTS" bench > $(VENV)/bench.txt
	@$(PIP) install --quiet -r $(VENV)/bench.txt
	@touch $@

$(DEV): $(RUNTIME)
	@echo "==> installing the tools for tests and checks (first time only)"
	@$(BIN)/python -c "$$LIST_REQUIREMENTS" dev > $(VENV)/dev.txt
	@$(PIP) install --quiet -r $(VENV)/dev.txt
	@touch $@

$(SITE): $(RUNTIME)
	@echo "==> installing what the site needs (first time only)"
	@$(BIN)/python -c "$$LIST_REQUIREMENTS" site > $(VENV)/site.txt
	@$(PIP) install --quiet -r $(VENV)/site.txt
	@touch $@

$(RELEASE): $(DEV)
	@echo "==> installing what a rehearsal needs (first time only)"
	@$(BIN)/python -c "$$LIST_REQUIREMENTS" release > $(VENV)/release.txt
	@$(PIP) install --quiet -r $(VENV)/release.txt
	@touch $@

# PostgreSQL and Spark are tested where they can be had: what cannot be installed is skipped
# by the tests, with a message.
$(ENGINES): $(DEV)
	@echo "==> installing the clients of PostgreSQL and Spark (first time only, 500 MB)"
	@$(BIN)/python -c "$$LIST_REQUIREMENTS" engines > $(VENV)/engines.txt
	@$(PIP) install --quiet -r $(VENV)/engines.txt > $(VENV)/engines.log 2>&1 || { \
	  echo "notice: they could not be installed ($(VENV)/engines.log says why)."; \
	  echo "        The tests of those engines will be skipped."; }
	@touch $@

# So are the clients of the server: Python's, and Node's where there is npm.
$(CLIENTS): $(DEV)
	@echo "==> installing clients of the server (first time only)"
	@$(BIN)/python -c "$$LIST_REQUIREMENTS" clients > $(VENV)/clients.txt
	@$(PIP) install --quiet -r $(VENV)/clients.txt > $(VENV)/clients.log 2>&1 || { \
	  echo "notice: they could not be installed ($(VENV)/clients.log says why)."; \
	  echo "        The tests of those clients will be skipped."; }
	@if command -v npm > /dev/null; then \
	  npm install --silent --no-fund --no-audit --prefix $(VENV)/node pg >> $(VENV)/clients.log 2>&1 \
	    || echo "notice: Node's client could not be installed; its test will be skipped."; fi
	@touch $@
