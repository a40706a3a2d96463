##@ Metrics and soak tests

.PHONY: metrics-docs
metrics-docs: ## Generate docs/metrics.md (called by generate)
	go run ./internal/report/cmd/metricsdoc > docs/metrics.md.new && mv docs/metrics.md.new docs/metrics.md

generate-docs: metrics-docs

# The nodes of a soak.
SOAK_NODES ?= 500

.PHONY: soak
soak: programs ## Count writes on a large fleet, idle and rolling out (SOAK_NODES=500; twelve minutes on two cores)
	WAVEFRONT_SOAK_NODES=$(SOAK_NODES) go test -count=1 -v -timeout 40m -run '^TestWrites$$' ./tests/report
