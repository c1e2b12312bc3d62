# Tests on a real cluster; how they work: docs/how-to/cluster-tests.md. Included by the Makefile, which names BIN and READY.

# The Kubernetes under test: any patch release from 1.34 on.
KUBERNETES_VERSION ?= 1.36.3
export KUBERNETES_VERSION

.PHONY: cluster-tools test-cluster demo-cluster

##@ Cluster

cluster-tools: $(READY) ## Build the programs of a test cluster into the cache folder.
	@$(BIN)/python -m tests.cluster.harness.tools

# A third process works while others wait. The control planes are small, and collect garbage less often.
test-cluster: cluster-tools chart-tools ## Run the tests that need a real cluster.
	GOGC=400 $(PYTEST) -m "not alone" --numprocesses=3 --dist=loadfile --no-loadscope-reorder --record $(RECORDS)/cluster.json tests/cluster
	$(PYTEST) -m alone --record $(RECORDS)/cluster-alone.json tests/cluster

demo-cluster: cluster-tools ## Show a real cluster with and without the webhook; KEEP=1 ends in a shell.
	@$(BIN)/python -m tests.cluster.demo $(if $(KEEP),--keep)
