# The Helm chart; how it is tested: tests/chart. Included by the Makefile, which names BIN and READY.

.PHONY: chart-tools charts

##@ Chart

chart-tools: $(READY) ## Build the tools for the chart's tests into the cache folder.
	@$(BIN)/python -m tests.chart.tools

charts: chart-tools ## Generate the files of charts/ and the snapshots of its tests.
	$(BIN)/python -m charts.generate
	$(BIN)/python -m tests.chart.snapshots
