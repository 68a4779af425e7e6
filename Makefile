# `make run` and `make test` each work alone on a machine with python3, pip and make.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
# What the server needs, and what its tests, linters and documentation need besides.
RUNTIME := $(VENV)/.runtime
STAMP := $(VENV)/.installed
# There while packages are installed.
UNFINISHED := $(VENV)/.unfinished
PYTEST := $(PY) -m pytest -q
# One more than the processors, since tests sometimes wait for processes and browsers.
WORKERS ?= $$(cores=$$(getconf _NPROCESSORS_ONLN); echo $$((cores < 4 ? cores + 1 : 5)))
SPREAD = -n $(WORKERS) --dist worksteal
# Without bytecode files every process that a test starts would compile all modules.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup run test test-all test-quick test-postgres test-long coverage lint bench bench-peers bench-workers bench-testing bench-first-test load soak mutate load-plugin replay constraints docs test-browser-deps test-npm test-agents test-frameworks sweeps mutants-of-others screenshots

setup: $(STAMP)

# The extra `test` holds all of `chat`: who has everything has what the server needs.
$(RUNTIME): WHAT := -e '.[chat]'
$(STAMP): WHAT := -e '.[test,lint,docs]'

# uv is the fast way in; pip does the same where uv can't be had. Where python3 comes without
# ensurepip the environment is made bare and the machine's own pip fills it. What was cut short left
# packages that look installed and lack some of their files: the environment is made anew.
$(RUNTIME) $(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("mockllm needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; name another one with: make PYTHON=python3.12")'
	@test ! -e $(UNFINISHED) || rm -rf $(VENV)
	@test -x $(PY) || $(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || $(PYTHON) -m venv --without-pip --clear $(VENV)
	@touch $(UNFINISHED)
	@if $(PY) -m pip --version >/dev/null 2>&1; then pip="$(PY) -m pip"; else pip="$(PYTHON) -m pip --python $(PY)"; fi; \
	pip="$$pip --quiet --disable-pip-version-check"; \
	if $$pip install -c constraints.txt uv && $(PY) -m uv pip install --quiet --python $(PY) -c constraints.txt $(WHAT); then :; \
	else echo "installing with pip"; $$pip install -c constraints.txt $(WHAT) || { rm -f $(UNFINISHED); exit 1; }; fi
	@rm $(UNFINISHED) && touch $(RUNTIME) $@

# HOST counts on the command line alone: many a shell and build tool exports one of its own.
run: $(RUNTIME)
	$(PY) manage.py serve $(if $(filter command%,$(origin HOST)),--host '$(HOST)') $(if $(PORT),--port '$(PORT)')

# The suite in five to ten minutes, or the tests in TESTS. The tests in .ci/slow start many processes or
# browsers, or try every page and operation; `make test-all` and CI run them too.
SLOW = $(shell cat .ci/slow)

test: setup
	$(PYTEST) $(SPREAD) $(or $(TESTS),$(addprefix --ignore=,$(SLOW)))

# Answers are the same without the layer that exists for speed.
test-all: setup
	$(PYTEST) $(SPREAD)
	MOCKLLM_FAST=0 $(PYTEST) $(SPREAD) tests/serving tests/wire

# The most telling tests in two minutes: engine, wires and serving; no random examples, pages, SDKs
# or other processes.
QUICK := $(addprefix tests/,engine wire serving control verdict recording play state traces chat) \
	$(wildcard tests/test_*.py)

test-quick: setup
	$(PYTEST) $(SPREAD) -m 'not (long or hypothesis or browser or process)' $(QUICK)

# Tests that repeat an attack many times, random tests with all their examples, and sweeps of the
# clients that test-npm, test-frameworks and test-agents have installed.
test-long: setup
	MOCKLLM_AGENTS=$(AGENTS) $(PYTEST) $(SPREAD) -m 'long or hypothesis' --hypothesis-profile=long --timeout 3600

# Branch coverage of the pure parts by their own tests, without random ones.
coverage: setup
	$(PYTEST) $(SPREAD) tests/engine tests/wire tests/test_builder*.py -m 'not (long or hypothesis)' \
		--cov=scenarios_app.engine --cov=scenarios_app.wire \
		--cov-report=term-missing:skip-covered --cov-fail-under=100

# Tests whose result depends on the database, on PostgreSQL; TEST_POSTGRES_URL names another server.
ON_POSTGRES := tests/state tests/traces \
	tests/admin/test_drafts.py tests/admin/test_publishing.py tests/admin/test_history.py \
	tests/control/test_survival.py tests/control/test_scenarios.py tests/control/test_requests.py tests/control/test_sessions.py \
	$(addprefix tests/chat/,api/test_api_c*.py api/test_api_events.py api/test_api_resuming.py \
		api/test_api_sending.py test_conversations.py test_profiles.py test_prune.py \
		test_ranking.py runs/test_runs*.py service)

test-postgres: setup
	TEST_DATABASE=postgres $(PYTEST) $(SPREAD) $(ON_POSTGRES)

# JavaScript clients (Node 20), installed beside their scripts, against a server.
test-npm: setup
	-cd tests/npm && npm install --no-package-lock --no-audit --no-fund --loglevel=error
	MOCKLLM_NPM=1 $(PYTEST) tests/npm

# Coding agents (Node 20), installed from npm into a cache, in the guides of docs/agents/.
AGENTS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/mockllm/agents

test-agents: setup
	mkdir -p $(AGENTS) && cp tests/agents/package.json $(AGENTS)
	-cd $(AGENTS) && npm install --no-package-lock --no-audit --no-fund --loglevel=error
	MOCKLLM_AGENTS=$(AGENTS) $(PYTEST) tests/agents

# Agent frameworks, each in a separate environment below .frameworks/; missing ones are skipped.
test-frameworks: setup
	MOCKLLM_FRAMEWORKS=1 $(PYTEST) tests/frameworks

# Sweeps the installed SDKs, frameworks and coding agents with faults; writes docs/torture-sdks.md.
sweeps: setup
	MOCKLLM_AGENTS=$(AGENTS) $(PY) -m tests.proof.clients_table

# Changes the scripts of three projects that are not ours and runs their own tests, three times each.
# make mutants-of-others ONLY=magentic
mutants-of-others: setup
	$(PY) -m tools.other_projects $(ONLY)

lint: setup
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/codespell
	$(PY) -c "import mockllm_site.asgi"

bench: setup
	$(PY) -m tools.bench
	$(PY) -m tools.bench.writing
	$(PY) -m tools.bench.chat
	$(PY) -m tools.bench.plugin
	$(PY) -m tools.bench.one_test

# The same beside aimock from npm, both in the same rounds.
bench-peers: setup
	$(PY) -m tools.bench.peers

# Throughput of two workers against one.
bench-workers: setup
	$(PY) -m tools.bench.workers

# The same three tests written with four tools: lines, time and detected mistakes (docs/comparison.md).
bench-testing: setup
	$(PY) -m tools.bench.testing

# Seconds from an empty folder to a first green test, with pip and uv and each SDK.
bench-first-test: setup
	$(PY) -m tools.bench.first_test

# Attacks on a server: how long other clients wait, how much memory grows; and a minute without its
# database. docs/reliability.md has the goals. One or some: make load ONLY="embeddings dead"
load: setup
	$(PY) -m tools.load $(ONLY)

# Long runs against servers of several processes, at the size that docs/reliability.md gives.
# make soak RUN="once=50,200,2,3 redis=5"
soak: setup
	$(PY) -m tools.soak $(RUN)

# Mutation testing of the pure parts and serving, 90 minutes for all of it.
# make mutate ONLY="scenarios_app.engine.memory*"
mutate: setup
	$(PY) -m uv pip install --quiet --python $(PY) 'mutmut>=3.8,<4'
	$(VENV)/bin/mutmut run $(ONLY)
	$(VENV)/bin/mutmut results

# 10,000 plugin tests over 16 workers and one server: no cross-talk, no false alarm.
# make load-plugin RUN="1000 4"
load-plugin: setup
	$(PY) -m tools.load.plugin $(RUN)

# Sends each request of the recordings in files or folders to a server that replays them.
# make replay CASSETTES="../cassettes one.har"
CASSETTES ?= tests/data/cassettes
replay: setup
	$(PY) -m tests.replay $(CASSETTES)

# Generates the reference tables in docs/ from the code, and builds the site in build/docs; its search
# needs a server: python -m http.server -d build/docs
docs: setup
	$(PY) -m tests.docs

# Takes the screenshots in docs/screenshots; needs Chromium.
screenshots: setup
	$(PY) -m tests.browser.screenshots

# Installs Chromium for the browser tests from Debian's packages; without it those tests skip.
test-browser-deps:
	@if command -v chromium >/dev/null 2>&1; then echo "chromium is here"; \
	elif command -v apt-get >/dev/null 2>&1 && [ "$$(id -u)" = 0 ]; then \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 \
		&& echo "chromium installed" || echo "chromium could not be installed; browser tests will be skipped"; \
	else echo "no chromium and no way to install it here; browser tests will be skipped"; fi

# Pins the versions of all extras for every supported Python, without download addresses.
constraints: setup
	$(PY) -m uv pip compile --quiet --upgrade --universal --no-header --no-annotate --python-version 3.11 \
		--all-extras pyproject.toml -o constraints.txt
