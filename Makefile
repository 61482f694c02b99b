# Every target installs what it needs first; nothing is installed outside .venv and the cache folder.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
PYTHON ?= python3
BIN := .venv/bin
BENCH := .venv-bench/bin
DOCS := .venv-docs/bin
# two for each core: many tests wait for leases to end or processes to start
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(2 * os.cpu_count())')
NODES ?= 1
MINUTES ?= 30
CLUSTER ?= paceline
EXAMPLES := $(sort $(dir $(wildcard runner-image/examples/*/*.py)))
ROOTS := sdk operator runner-image gateway cli dev bench tests
# Compiled modules kept in __pycache__ make every second start quick, also where the shell says otherwise.
unexport PYTHONDONTWRITEBYTECODE
LOCK := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url

.PHONY: help venv demo test test-full chaos soak check docs cluster cluster-delete e2e fix crds mutate images release bench-runner bench-queue bench-operator bench-failover bench-autoscale bench-rollout bench-gateway bench-growth assess audit lock clean

help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

venv: .venv/ready ## Install paceline and its tools into .venv, as every other target does first
	@echo 'to have them: export PATH=$(CURDIR)/.venv/bin:$$PATH'

demo: .venv/ready ## See a runner pool live through taints, restarts and kills (CLUSTER=kind: with containers)
	@$(BIN)/python -m paceline_dev demo $(if $(filter-out file,$(origin CLUSTER)),--cluster $(CLUSTER))

test: .venv/ready ## Run all tests, then break five guards at random
	@$(BIN)/python -m paceline_dev binaries >/dev/null
	@$(BIN)/python -m paceline_dev helm >/dev/null
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)
	@$(BIN)/python -m paceline_dev mutate --sample 5 $(if $(SEED),--seed $(SEED))

test-full: .venv/ready ## Run all tests, the random ones for much longer (SEED=… replays a history)
	@$(BIN)/python -m paceline_dev binaries >/dev/null
	@$(BIN)/python -m paceline_dev helm >/dev/null
	PACELINE_TEST_FULL=1 $(if $(SEED),PACELINE_HISTORY_SEED=$(SEED)) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

chaos: .venv/ready ## Break all that can break for MINUTES=30, and hold the history against the promises (SEED=…, ONLY=fault,…)
	@$(BIN)/python -m paceline_dev binaries >/dev/null
	@PYTHONPATH=tests:bench $(BIN)/python -m chaos --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY)) $(if $(OUTPUT),--output $(OUTPUT))

check: .venv/ready ## Lint, format, types, layers, generated files and manifests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy tests
	$(BIN)/mypy e2e
	@for each in $(EXAMPLES); do echo "mypy $$each"; MYPYPATH=$$each $(BIN)/mypy $$each; done
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m paceline_dev crds --check
	PYTHONPATH=bench $(BIN)/python -m paceline_bench benchmarks --check
	PYTHONPATH=bench $(BIN)/python -m paceline_bench scaling --check
	PYTHONPATH=bench $(BIN)/python -m paceline_bench assess-page --check
	$(BIN)/python -m paceline_dev reference --check
	$(BIN)/python -m paceline_dev install --check
	$(BIN)/python -m paceline_dev manifests
	$(BIN)/python -m paceline_dev version --check

docs: .venv/ready .venv-docs/ready ## Build the docs site into build/site: strict, without a network, and nothing on it from elsewhere
	@$(BIN)/python -m paceline_dev site
	@NO_MKDOCS_2_WARNING=1 $(DOCS)/mkdocs build --strict --quiet  # Material ends in 2027; its successor reads the same mkdocs.yml
	@$(BIN)/python -m paceline_dev site-check

cluster: .venv/ready ## Make a kind cluster, also without Docker (NODES=3, CLUSTER=name)
	@$(BIN)/python -m paceline_dev cluster --name $(CLUSTER) --workers $$(($(NODES) - 1))

cluster-delete: .venv/ready ## Remove it, and the engine that was started for it (CLUSTER=name)
	@$(BIN)/python -m paceline_dev cluster-delete --name $(CLUSTER)

e2e: .venv/ready ## Tell the stories on a kind cluster (SMOKE=1 the first ones, KEEP=1 keeps the cluster, ARGS for pytest)
	@$(BIN)/python -m paceline_dev e2e --name $(CLUSTER) $(if $(SMOKE),--smoke) $(if $(KEEP),--keep-cluster) $(ARGS)

fix: .venv/ready ## Repair what ruff can repair
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

crds: .venv/ready ## Write crds/, install.yaml, the CRDs' chart and the reference pages from what they follow
	$(BIN)/python -m paceline_dev crds
	PYTHONPATH=bench $(BIN)/python -m paceline_bench benchmarks
	PYTHONPATH=bench $(BIN)/python -m paceline_bench scaling
	$(BIN)/python -m paceline_dev reference
	$(BIN)/python -m paceline_dev install

mutate: .venv/ready ## Break every guard and want to see red (NAME=part of a name)
	@$(BIN)/python -m paceline_dev binaries >/dev/null
	@$(BIN)/python -m paceline_dev helm >/dev/null
	$(BIN)/python -m paceline_dev mutate $(if $(NAME),--name "$(NAME)")

bench-runner: .venv-bench/ready ## Measure the runner beside raw SQL and its peers (QUICK=1 takes three minutes)
	@PYTHONPATH=bench $(BENCH)/python -m paceline_bench runner

bench-queue: .venv-bench/ready ## Measure the queue beside raw SQL and four peers (QUICK=1 takes four minutes)
	@PYTHONPATH=bench $(BENCH)/python -m paceline_bench queue

bench-operator: .venv-bench/ready ## Measure the operator at 400 and 1,000 runners (QUICK=1 takes three minutes)
	@PYTHONPATH=bench $(BENCH)/python -m paceline_bench operator

bench-failover: .venv-bench/ready ## Measure how soon the second operator acts (QUICK=1 takes one minute)
	@PYTHONPATH=bench $(BENCH)/python -m paceline_bench failover

bench-autoscale: .venv-bench/ready ## Measure groups that follow their queue (QUICK=1 takes four minutes)
	@PYTHONPATH=bench $(BENCH)/python -m paceline_bench autoscale

bench-rollout: .venv-bench/ready ## Measure an update of 50 runners at work, beside a Deployment (QUICK=1 takes four minutes)
	@PYTHONPATH=bench $(BENCH)/python -m paceline_bench rollout

bench-gateway: .venv-bench/ready ## Measure a gateway: jobs by HTTP, a thousand runners that poll (QUICK=1 takes two minutes)
	@PYTHONPATH=bench $(BENCH)/python -m paceline_bench gateway

soak: .venv-bench/ready ## Two hours of bursts, scaling, updates, taints and hand-overs (MINUTES=10: shorter)
	@PYTHONPATH=bench $(BENCH)/python -m paceline_bench soak

bench-growth: .venv-bench/ready ## Measure how costs grow with backlog, groups, runners, lanes and history (QUICK=1 takes four minutes)
	@PYTHONPATH=bench $(BENCH)/python -m paceline_bench growth

assess: .venv-bench/ready ## Measure up to a thousand runners by every way, and write docs/load-assessment.md (45 minutes; QUICK=1 takes five minutes)
	@PYTHONPATH=bench $(BENCH)/python -m paceline_bench assess

images: .venv/ready ## Build the images of operator, runner and examples (TAG=…), with or without a registry
	@$(BIN)/python -m paceline_dev images $(if $(TAG),--tag "$(TAG)")

release: .venv/ready ## Make a release in dist/, and try it (SNAPSHOT=1 of a tree that is none, IMAGES=0 where there is no engine)
	@$(BIN)/python -m paceline_dev release $(if $(filter-out 0,$(SNAPSHOT)),--snapshot) $(if $(filter 0,$(IMAGES)),--no-images)

audit: .venv/ready ## Ask about known holes in every pinned dependency (says so where nobody can be asked)
	@$(BIN)/python -m paceline_dev audit

lock: .venv/ready ## Pin the newest dependencies that pyproject.toml allows
	$(LOCK) --upgrade --extra dev pyproject.toml -o requirements/dev.txt
	$(LOCK) -c requirements/dev.txt pyproject.toml -o requirements/base.txt
	$(LOCK) -c requirements/dev.txt --extra runner pyproject.toml -o requirements/runner.txt
	$(LOCK) -c requirements/dev.txt --extra operator --extra gateway pyproject.toml -o requirements/operator.txt
	echo 'hatchling>=1.33,<2' | $(LOCK) -c requirements/dev.txt - -o requirements/build.txt
	$(LOCK) -c requirements/dev.txt --extra runner --extra operator --extra gateway --extra testing pyproject.toml bench/requirements.in -o requirements/bench.txt
	echo 'pip-audit>=2.9,<3' | $(LOCK) --upgrade - -o requirements/audit.txt
	echo 'cyclonedx-python-lib[json-validation]>=11,<12' | $(LOCK) --upgrade - -o requirements/sbom.txt
	echo 'mkdocs-material>=9.6,<10' | $(LOCK) --upgrade - -o requirements/docs.txt

clean: ## Remove the environment and everything that was built here
	rm -rf .venv .venv-bench .venv-docs build dist .mypy_cache .ruff_cache .hypothesis
	find $(ROOTS) -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/ready: requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "error: Paceline needs Python 3.11 or newer: install it, or say which one with make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "error: $(PYTHON) cannot make virtual environments: install its venv package (Debian: python3-venv)" >&2; exit 1; }
	@echo "installing the pinned dependencies into .venv (about a minute the first time)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/dev.txt || \
	  { echo "error: the dependencies could not be installed (above): check the network and the disk, then run make again" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

.venv-bench/ready: requirements/bench.txt pyproject.toml
	@echo "installing the pinned peers into .venv-bench"
	@$(PYTHON) -m venv .venv-bench
	@$(BENCH)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/bench.txt
	@$(BENCH)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

.venv-docs/ready: requirements/docs.txt
	@echo "installing MkDocs into .venv-docs"
	@$(PYTHON) -m venv .venv-docs
	@$(DOCS)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/docs.txt
	@touch $@
