PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# The tools of a release, apart from what the project itself needs.
RELEASE := build/release
# The tools of the site.
SITE    := build/site-tools

# Some images of containers set it. Without bytecode, each process of the tests compiles all modules again, and pytest
# rewrites all assertions.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo serve certs test test-load test-chart test-all lint types layers unit quick fuzz mutate bench bench-gate bench-accept survey claims
.PHONY: docs site constraints image-lock command-line-lock sbom rehearse-release clean crd-definitions bench-tools budget plugin-loaders

help: # Groups begin with `##@`, and a target of a group says after `##` what it does.
	@awk '/^##@ / {print "\n" substr($$0, 5)} /^[a-z-]+:.*## / {sub(/:.*## /, ":"); split($$0, one, ":"); \
		printf "  %-18s %s\n", one[1], substr($$0, length(one[1]) + 2)}' $(MAKEFILE_LIST)

# Without --no-compile, half of the installation compiles modules, two thirds of which nothing here imports.
QUIETLY := --quiet --disable-pip-version-check --no-compile --constraint constraints.txt

$(READY): pyproject.toml constraints.txt webhook/__init__.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version.split()[0])'
	@echo "installing into $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip uninstall -qq --yes setuptools
	@$(BIN)/python -m pip install $(QUIETLY) --upgrade pip
	@$(BIN)/python -m pip install $(QUIETLY) --group dev --editable ".[server]"
	@touch $@

##@ Start here

demo: $(READY) ## Start the webhook on loopback, send it reviews over TLS, and show the answers.
	@$(BIN)/python certs/generate.py
	@$(BIN)/python examples/demo.py

serve: $(READY) ## Run the webhook on loopback until you stop it.
	@$(BIN)/python certs/generate.py
	@$(BIN)/gpushare-webhook serve --host 127.0.0.1 --port 8443 --health-port 8080 \
		--tls-cert certs/tls.crt --tls-key certs/tls.key --log-format text

test: $(READY) ## Run every check and all tests that need Python and make alone, in five minutes.
	@$(MAKE) --jobs=2 --no-print-directory unit types lint layers
	@$(SUMMARY) "needs Go: make test-chart=$(WITH_GO)" "needs a quiet machine: make test-load=$(LOAD)" "needs a cluster: make test-cluster=tests/cluster"

quick: $(READY) ## Run the tests that are not slow, in a minute, and print the slowest of them.
	$(PYTEST) --numprocesses=2 --dist=loadfile -m "not slow" --durations=10 --durations-min=1 $(addprefix --ignore=,$(WITH_GO))

##@ Tests

# The exhaustive tests that run: all, or none.
EXHAUSTIVE ?= none
RECORDS    := build/tests
PYTEST      = $(BIN)/python -m pytest --quiet --exhaustive $(EXHAUSTIVE)
# For two processors. A third process works while others wait; where none waits, it would only collect the tests once more.
PARALLEL   := --numprocesses=3 --dist=loadfile
COMPUTING  := --numprocesses=2 --dist=loadfile
SUMMARY    := $(BIN)/python -m tests.summary $(RECORDS)

# The tests that reach every branch of the packages which coverage measures. It makes Python code twice as slow, so that it
# traces no other test: none that is slow, and none of Hypothesis, which spends most of its time on drawing examples.
COVERING := tests/policy tests/patch tests/admission tests/fixtures tests/settings \
	tests/facts/test_node_bounds.py tests/facts/test_plugin_config.py
UNTRACED  = $(shell grep --recursive --files-with-matches --include='*.py' 'mark\.slow\|@given' $(COVERING))
ALL_SLOW  = $(shell grep --recursive --files-with-matches --include='*.py' '^pytestmark = pytest.mark.slow' $(COVERING))
LOAD     := tests/server/under_load
WITH_GO  := tests/chart tests/crds tests/deviceplugin tests/bench/test_load_generator.py tests/bench/test_suites.py

unit: $(READY)
	@rm -rf $(RECORDS)
	$(PYTEST) $(COMPUTING) -m "not slow and not hypothesis" --cov --cov-report=term --record $(RECORDS)/covering.json $(addprefix --ignore=,$(ALL_SLOW)) $(COVERING)
	$(PYTEST) $(COMPUTING) -m "slow or hypothesis" --record $(RECORDS)/untraced.json $(UNTRACED)
	$(PYTEST) $(PARALLEL) --record $(RECORDS)/others.json $(addprefix --ignore=,$(COVERING) $(LOAD) $(WITH_GO))

# Programs in Go would spend a third of their time on collecting garbage. The files run in their order, since the dearest
# have the fewest tests and would begin last.
test-chart: $(READY) chart-tools bench-tools crd-definitions plugin-loaders ## Run the tests that need Go: chart, custom kinds, plugin.
	GOGC=400 $(PYTEST) $(PARALLEL) --no-loadscope-reorder --record $(RECORDS)/chart.json $(WITH_GO)

test-load: $(READY) ## Run the tests of the server under load, one after the other, in a minute and a half.
	$(PYTEST) --record $(RECORDS)/load.json $(LOAD)

test-all: ## Run all tests, those on a cluster and those that try every case included. They take hours.
	@$(MAKE) EXHAUSTIVE=all lint types layers unit test-load test-chart test-cluster
	@$(SUMMARY)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

budget: $(READY) ## Print the processor time of the tests beside the committed figures, after a run as in CI.
	@$(BIN)/python -m tests.budget

bench-tools: $(READY)
	@$(BIN)/python -m bench.gotools

crd-definitions: $(READY) ## Download the resource definitions of the workload presets into the cache folder.
	@$(BIN)/python -m tests.crds.published

plugin-loaders: $(READY) ## Build NVIDIA's device plugin of each release, which says whether it starts with a configuration.
	@$(BIN)/python -m tests.deviceplugin.loaders

SECONDS ?= 600

fuzz: $(READY) ## Fuzz the YAML reader, patterns of paths and reviews, SECONDS=600 for each.
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group fuzz 2>/dev/null \
		|| echo "atheris does not install here; hypothesis searches without it"
	@for target in yaml patterns review; do $(BIN)/python -m tests.fuzz $$target $(SECONDS) || exit 1; done

mutate: $(READY) ## Run the quick tests against COUNT=100 random changes of the product, chosen by SEED=1.
	@$(BIN)/python -m tests.mutate $(or $(COUNT),100) $(or $(SEED),1)

include charts/chart.mk
include tests/cluster/cluster.mk

##@ Measure

bench: $(READY) ## Benchmark the webhook and its peers, and write the page; SUITES="throughput latency" selects suites.
	@$(BIN)/python -m bench $(SUITES)

bench-gate: $(READY) ## Fail if a step of a review, or a whole server, costs 10 percent and 1,000 instructions more than committed.
	@$(BIN)/python -m bench.gate

bench-accept: $(READY) ## Count the instructions of each step again, and write the figures that bench-gate compares with.
	@$(BIN)/python -m bench micro

survey: $(READY) ## Check every repository in a folder, FOLDER=path, and count kinds, findings, reasons and errors.
	@$(BIN)/python -m survey $(if $(FOLDER),"$(FOLDER)")

claims: $(READY) ## Hold the statements about other projects against their releases; NEWEST=1 against newer ones. CLONES=folder.
	@$(BIN)/python -m claims $(if $(NEWEST),--newest) $(if $(CLONES),--clones "$(CLONES)")

##@ Generate

docs: $(READY) ## Generate the pages and pictures of docs.
	$(BIN)/python -m docs.generate
	$(BIN)/python -m tests.cluster.pod_storm

$(SITE)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -m venv $(SITE)
	@$(SITE)/bin/python -m pip install --quiet --constraint constraints.txt --upgrade pip
	@$(SITE)/bin/python -m pip install --quiet --constraint constraints.txt --group site
	@touch $@

site: $(SITE)/.ready ## Build the site of this version in build/site, and fail for a broken link.
	@$(SITE)/bin/python -m docs.site.build

certs: $(READY) ## Create development certificates in certs/.
	@$(BIN)/python certs/generate.py --force

# A new environment of Python 3.11 contains an old setuptools, which nothing here needs. If a library comes to need it, pip
# installs the newest.
constraints: ## Write the newest versions that pyproject.toml allows to constraints.txt, and write both locks.
	@rm -rf build/constraints && $(PYTHON) -m venv build/constraints
	@build/constraints/bin/python -m pip uninstall -qq --yes setuptools
	@build/constraints/bin/python -m pip install --quiet --upgrade pip
	@build/constraints/bin/python -m pip install --quiet --group dev --group release --group site --editable . hatchling
	@build/constraints/bin/python -m pip freeze --all --exclude-editable > constraints.txt
	@$(MAKE) --no-print-directory image-lock command-line-lock

image-lock: $(RELEASE)/.ready ## Write release/image/requirements.txt: the libraries of the image, with the digests of their wheels.
	@$(RELEASE)/bin/python -m release.image.lock

command-line-lock: $(RELEASE)/.ready ## Write integrations/requirements.txt: the same for the command line without the server.
	@$(RELEASE)/bin/python -m integrations.lock

##@ Release

$(RELEASE)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -m venv $(RELEASE)
	@$(RELEASE)/bin/python -m pip install --quiet --constraint constraints.txt --upgrade pip
	@$(RELEASE)/bin/python -m pip install --quiet --constraint constraints.txt --group release
	@touch $@

sbom: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)
sbom: $(RELEASE)/.ready ## Write the image's bill of materials (CycloneDX) to build/sbom/gpushare-webhook.cdx.json.
	@$(RELEASE)/bin/python -m release.image.sbom build/sbom/gpushare-webhook.cdx.json

rehearse-release: $(READY) ## Run the release guide against a registry and a cluster on this machine (root, Go, buildah).
	@$(BIN)/python -m release.rehearsal.machine
	@$(MAKE) --no-print-directory cluster-tools chart-tools
	@$(BIN)/python -m release.rehearsal

clean: ## Remove everything that make created here.
	rm -rf $(VENV) build dist certs/*.crt certs/*.key .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis
