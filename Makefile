# Two commands: `make demo` and `make test`. Everything else is for working on Askline itself.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
export UV_COMPILE_BYTECODE := 1
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo smoke test test-all test-engines engines crash check format bench lock clean install install-aws deploy-check models

demo: $(VENV)/.run models
	$(BIN)/askline demo

# PROFILE=aws: over the engines and doubles that stand for AWS.
ifeq ($(PROFILE),aws)
smoke: $(VENV)/.dev models engines
	$(BIN)/python -m tests.smoke_aws
else
smoke: $(VENV)/.run models
	$(BIN)/askline demo --check
endif

test: $(VENV)/.dev models
	$(BIN)/pytest -m "not slow and not engines"

test-all: $(VENV)/.deploy models engines
	$(BIN)/pytest

# What stands for the services of AWS in tests; needs Maven and a Java 17.
engines: $(VENV)/.dev
	$(BIN)/python -m tests.engines fetch

test-engines: $(VENV)/.dev models engines
	$(BIN)/pytest -m "engines and not slow"

# The image, the compose file, Dagster's instances and the stack of AWS; needs Node.js, no account and no Docker.
deploy-check: $(VENV)/.deploy models
	$(BIN)/hadolint deploy/Dockerfile
	$(BIN)/pytest tests/deploy

# make crash N=1000 SEED=7; FIRST=12 N=1 repeats round 12. JOBS: stacks side by side, one a core if absent.
crash: $(VENV)/.dev models
	PYTHONPATH=. $(BIN)/python tests/crash/run.py $(or $(N),30) $(if $(SEED),--seed $(SEED)) --first $(or $(FIRST),0) $(if $(JOBS),--jobs $(JOBS)) $(if $(KEEP),--keep $(KEEP))

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q -m docs

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev models
	$(BIN)/python -m bench

install: $(VENV)/.dev models

# The packages of profile=aws, beside those of the embedded one.
install-aws: $(VENV)/.aws models

models: $(VENV)/.run
	@$(BIN)/python -m foundation.adapters.embedded.model_files

# The locks hold names, versions and hashes; the addresses come from your own pip or uv configuration.
$(VENV)/bin/uv: requirements/bootstrap.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.lock
	@touch $@

$(VENV)/.run: requirements/run.lock pyproject.toml $(VENV)/bin/uv
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --require-hashes -r requirements/run.lock
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.aws: requirements/aws.lock $(VENV)/.run
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --require-hashes -r requirements/aws.lock
	@touch $@

$(VENV)/.dev: requirements/dev.lock $(VENV)/.run
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --require-hashes -r requirements/dev.lock
	@touch $@

$(VENV)/.deploy: requirements/deploy.lock $(VENV)/.dev
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --require-hashes -r requirements/deploy.lock
	@touch $@

lock: $(VENV)/bin/uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url -p 3.11 pyproject.toml -o requirements/run.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url -p 3.11 --extra dev --extra aws pyproject.toml -o requirements/dev.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url -p 3.11 --extra aws pyproject.toml -o requirements/aws.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --no-emit-index-url -p 3.11 -c requirements/dev.lock --extra deploy pyproject.toml -o requirements/deploy.lock

clean:
	rm -rf $(VENV) .askline build *.egg-info
