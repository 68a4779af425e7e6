# `make run` and `make test` each work alone on a machine with python3, pip and make.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
WHAT := -e '.[test,lint]'

.PHONY: setup run test test-long lint bench constraints test-browser-deps test-npm test-frameworks screenshots

setup: $(STAMP)

# uv is the fast way in; pip does the same where uv can't be had. Where python3 comes without
# ensurepip the environment is made bare and the machine's own pip fills it.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("mockllm needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; name another one with: make PYTHON=python3.12")'
	@test -x $(PY) || $(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || $(PYTHON) -m venv --without-pip --clear $(VENV)
	@if $(PY) -m pip --version >/dev/null 2>&1; then pip="$(PY) -m pip"; else pip="$(PYTHON) -m pip --python $(PY)"; fi; \
	pip="$$pip --quiet --disable-pip-version-check"; \
	if $$pip install -c constraints.txt uv && $(PY) -m uv pip install --quiet --python $(PY) -c constraints.txt $(WHAT); then :; \
	else echo "installing with pip"; $$pip install -c constraints.txt $(WHAT); fi
	@touch $@

run: setup
	$(PY) manage.py serve

# The pure parts first, by their own tests alone and with every branch; then everything else.
test: setup
	$(PY) -m pytest -q -n auto --maxprocesses 4 tests/engine tests/wire \
		--cov=scenarios_app.engine --cov=scenarios_app.wire \
		--cov-report=term-missing:skip-covered --cov-fail-under=100
	$(PY) -m pytest -q -n 3 --ignore=tests/engine --ignore=tests/wire

# What is the same test a hundred times as often.
test-long: setup
	$(PY) -m pytest -q -m long

# JavaScript's clients (Node 20), installed beside their scripts, against a server.
test-npm: setup
	cd tests/npm && npm install --no-package-lock --no-audit --no-fund --loglevel=error
	$(PY) -m pytest -q tests/npm

# Agent frameworks, each in an environment of its own below .frameworks/; what cannot be had is skipped.
test-frameworks: setup
	MOCKLLM_FRAMEWORKS=1 $(PY) -m pytest -q -rs tests/frameworks

lint: setup
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/codespell

bench: setup
	$(PY) -m tests.bench

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
