# Thin on purpose: a verb of more than three lines is a program in tools/.
# Debian's own, where there is one: one that somebody compiled without profiles is slower by a fifth.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
PREPARE = $(PYTHON) tools/prepare.py
CHECK = .venv/bin/python tools/check.py
COMPILE = .venv-lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
	--generate-hashes --no-annotate --custom-compile-command 'make lock'

.DEFAULT_GOAL := help
.PHONY: help up down test install lint types unit site transparency chaos sim fuzz bench lock crds golden clean python runtime dev

help: ## list these verbs
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile | expand -t 18

up: runtime ## a Slurm cluster on this machine, in the background
	@.venv/bin/penstock up --install --detach

down: runtime ## end it; its data stays
	@.venv/bin/penstock down

test: dev ## every check, as CI runs it: style to real Slurm, one machine, chaos, a real Kubernetes
	@$(CHECK)

install: runtime ## just .venv/bin/penstock

lint: dev ## style and layers (ruff, import-linter)
	@$(CHECK) ruff format layers

types: dev ## mypy --strict
	@$(CHECK) types

unit: dev ## the unit tests, seconds
	@$(CHECK) unit

transparency: dev ## the same scripts with and without the shared root, minutes
	@$(CHECK) transparency

site: dev ## one machine from all sides, with the Slurm of both suites, minutes
	@$(CHECK) site

chaos: dev ## fifty kill -9 on a real cluster under a stream of jobs, minutes
	@$(CHECK) chaos

sim: dev ## N simulated schedules of people and bad weather, from seed SEED on
	@.venv/bin/python -m tests.sim --count $(or $(N),20000) --first $(or $(SEED),0)

fuzz: dev ## feed the plugin's parsers with nonsense, MINUTES long together
	@.venv/bin/python tools/spank.py fuzz --minutes $(or $(MINUTES),10)

bench: dev ## how fast: rendering, start of the command, the planner
	@.venv/bin/python bench/bench.py
	@.venv/bin/python bench/plan.py

crds: runtime ## write the CRDs anew into charts/
	@.venv/bin/penstock crds --without-policy --directory charts/slurm-operator/crds

golden: dev ## write the golden files of the tests anew
	@.venv/bin/python tools/golden.py

lock: python ## renew requirements/*.txt from pyproject.toml and requirements/build.in
	$(PYTHON) -m venv .venv-lock && .venv-lock/bin/pip install --quiet --upgrade uv
	$(COMPILE) -o requirements/build.txt requirements/build.in && $(COMPILE) -o requirements/runtime.txt pyproject.toml
	$(COMPILE) -o requirements/dev.txt pyproject.toml requirements/build.in --group dev

clean: ## remove what was made here; the image cache outside the tree stays
	rm -rf .venv .venv-lock .make dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests tools bench -name __pycache__ -prune -exec rm -rf {} +

runtime dev: python
	@$(PREPARE) $@

python:
	@command -v $(PYTHON) >/dev/null || { echo 'Installing python3'; apt-get -qq update && apt-get -qq install python3-venv >/dev/null; }
