##@ Metrics and soak tests

.PHONY: metrics-docs
metrics-docs: ## Generate docs/metrics.md (called by generate)
	go run ./internal/report/cmd/metricsdoc > docs/metrics.md.new && mv docs/metrics.md.new docs/metrics.md

generate-docs: metrics-docs

.PHONY: soak
soak: programs ## Count status writes on a fleet of 500 (half an hour; SOAK_NODES=n for another size)
	WAVEFRONT_SOAK_NODES=$(or $(SOAK_NODES),500) go test -count=1 -v -timeout 60m -run '^TestWrites$$' ./tests/report
