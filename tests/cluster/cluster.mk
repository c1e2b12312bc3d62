# Tests on a real cluster; how they work: docs/how-to/cluster-tests.md.
PYTHON ?= python3
# The Kubernetes under test: any patch release from 1.34 on.
KUBERNETES_VERSION ?= 1.36.3
export KUBERNETES_VERSION

.PHONY: cluster-tools test-cluster

cluster-tools: ## build what a cluster runs, into the cache folder
	$(PYTHON) -m tests.cluster.harness.tools

test-cluster: cluster-tools ## run the tests that need a real cluster
	$(PYTHON) -m pytest tests/cluster
