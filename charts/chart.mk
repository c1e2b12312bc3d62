# The Helm chart; how it is tested: tests/chart. Included by the Makefile, which names BIN and READY.

.PHONY: chart-tools charts

chart-tools: $(READY) ## Build Helm 4 into the cache folder, unless it is on PATH, and what the chart's tests need.
	@$(BIN)/python -m tests.chart.tools

charts: chart-tools ## Generate the files of charts/ and the snapshots of its tests.
	$(BIN)/python charts/generate.py
	$(BIN)/python -m tests.chart.snapshots
