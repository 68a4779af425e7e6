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
# One more than there are processors: tests wait for processes and browsers now and then.
WORKERS ?= $$(cores=$$(getconf _NPROCESSORS_ONLN); echo $$((cores < 4 ? cores + 1 : 5)))
SPREAD = -n $(WORKERS) --dist worksteal
# Or else each process that a test starts compiles everything anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup run test test-all test-quick test-postgres test-long coverage lint bench bench-peers bench-workers bench-testing bench-first-test load soak mutate load-plugin replay constraints docs test-browser-deps test-npm test-frameworks screenshots

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

# The suite in five minutes, or the tests in TESTS: all but those that start processes or a browser by
# the dozen, or try each page and operation in turn. `make test-all` runs these too, CI part by part.
DEAR = $(shell cat .ci/dear)

test: setup
	$(PYTEST) $(SPREAD) $(or $(TESTS),$(addprefix --ignore=,$(DEAR)))

test-all: setup
	$(PYTEST) $(SPREAD)

# What tells most in the least time, two minutes of it: the engine, the wires and what serves them;
# nothing random, no page, no SDK, no process but its own.
QUICK := $(addprefix tests/,engine wire serving control verdict recording play state traces chat) \
	$(wildcard tests/test_*.py)

test-quick: setup
	$(PYTEST) $(SPREAD) -m 'not (long or hypothesis or browser or process)' $(QUICK)

# What is the same test a hundred times as often, and the whole number of random examples.
test-long: setup
	$(PYTEST) $(SPREAD) -m 'long or hypothesis' --hypothesis-profile=long --timeout 3600

# The pure parts by their own tests alone: every branch of them, and none left to chance.
coverage: setup
	$(PYTEST) $(SPREAD) tests/engine tests/wire -m 'not (long or hypothesis)' \
		--cov=scenarios_app.engine --cov=scenarios_app.wire \
		--cov-report=term-missing:skip-covered --cov-fail-under=100

# Once more on PostgreSQL, what the database has a say in; TEST_POSTGRES_URL names another server.
ON_POSTGRES := tests/state tests/traces \
	tests/admin/test_drafts.py tests/admin/test_publishing.py tests/admin/test_history.py \
	tests/control/test_scenarios.py tests/control/test_requests.py tests/control/test_sessions.py \
	$(addprefix tests/chat/,api/test_api_c*.py api/test_api_events.py api/test_api_resuming.py \
		api/test_api_sending.py test_conversations.py test_profiles.py test_prune.py \
		test_ranking.py runs/test_runs*.py service)

test-postgres: setup
	TEST_DATABASE=postgres $(PYTEST) $(SPREAD) $(ON_POSTGRES)

# JavaScript's clients (Node 20), installed beside their scripts, against a server.
test-npm: setup
	-cd tests/npm && npm install --no-package-lock --no-audit --no-fund --loglevel=error
	MOCKLLM_NPM=1 $(PYTEST) tests/npm

# Agent frameworks, each in an environment of its own below .frameworks/; what cannot be had is skipped.
test-frameworks: setup
	MOCKLLM_FRAMEWORKS=1 $(PYTEST) tests/frameworks

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

# The same beside aimock from npm, both in the same rounds.
bench-peers: setup
	$(PY) -m tools.bench.peers

# How much more two workers answer than one, on a machine that does nothing else.
bench-workers: setup
	$(PY) -m tools.bench.workers

# The same three tests written with this plugin, respx, pytest-recording and pytest-httpserver: lines,
# time, and which mistakes of a program each notices (docs/comparison.md).
bench-testing: setup
	$(PY) -m tools.bench.testing

# Seconds from an empty folder to a first green test, with pip and uv and each SDK.
bench-first-test: setup
	$(PY) -m tools.bench.first_test

# What others notice of attacks on a server, and what the journal has after a minute without its
# database, beside the goals in docs/reliability.md. Parts of names choose among them:
# make load ONLY="embeddings dead"
load: setup
	$(PY) -m tools.load $(ONLY)

# What is promised of servers of several processes, as large as docs/reliability.md has it.
# make soak RUN="once=50,200,2,3 redis=5"
soak: setup
	$(PY) -m tools.soak $(RUN)

# What the tests do not notice: faults put into the pure parts and serving, one by one, each tried
# with the tests that come by it. An hour and a half for all; make mutate ONLY="scenarios_app.engine.memory*"
mutate: setup
	$(PY) -m uv pip install --quiet --python $(PY) 'mutmut>=3.8,<4'
	$(VENV)/bin/mutmut run $(ONLY)
	$(VENV)/bin/mutmut results

# 10,000 tests of the pytest plugin over 16 workers and one server: no cross-talk, no false alarm.
# make load-plugin RUN="1000 4"
load-plugin: setup
	$(PY) -m tools.load.plugin $(RUN)

# Each request of the recordings in files or folders, sent to a server that has them as scenarios.
# make replay CASSETTES="../cassettes one.har"
CASSETTES ?= tests/data/cassettes
replay: setup
	$(PY) -m tests.replay $(CASSETTES)

# Writes the tables in docs/ anew, from the code that they tell of, and builds the site of them into
# build/docs: to be read there, and with its search behind `python -m http.server -d build/docs`.
docs: setup
	$(PY) -m tests.docs

# Takes the pictures in docs/screenshots; needs Chromium.
screenshots: setup
	$(PY) -m tests.browser.screenshots

# Chromium for the browser tests, from Debian's packages; elsewhere those tests skip and say why.
test-browser-deps:
	@if command -v chromium >/dev/null 2>&1; then echo "chromium is here"; \
	elif command -v apt-get >/dev/null 2>&1 && [ "$$(id -u)" = 0 ]; then \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 \
		&& echo "chromium installed" || echo "chromium could not be installed; browser tests will be skipped"; \
	else echo "no chromium and no way to install it here; browser tests will be skipped"; fi

# Pins every version of every extra, for every supported Python, and no download address.
constraints: setup
	$(PY) -m uv pip compile --quiet --upgrade --universal --no-header --no-annotate --python-version 3.11 \
		--all-extras pyproject.toml -o constraints.txt
