# The two commands of a newcomer: `make demo` and `make test`. `make help` lists
# the rest.
SHELL := /usr/bin/env bash -o pipefail
.DEFAULT_GOAL := help

BIN := $(CURDIR)/bin
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)

CONTROLLER_GEN_VERSION := v0.21.0
GOTESTSUM_VERSION := v1.13.0
GOLANGCI_LINT_VERSION := v2.12.2
CONTROLLER_GEN := $(BIN)/controller-gen-$(CONTROLLER_GEN_VERSION)
GOTESTSUM := $(BIN)/gotestsum-$(GOTESTSUM_VERSION)
GOLANGCI_LINT := $(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION)

# More arguments of `go test`, in every target that runs tests: GO_TEST_ARGS='-run X'.
GO_TEST_ARGS ?=

-include $(wildcard hack/*.mk)

##@ General

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*##"; printf "Usage: make \033[36m<target>\033[0m [VAR=value]\n"} \
	  /^##@/ {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)} \
	  /^[a-zA-Z0-9_-]+:.*##/ {printf "  \033[36m%-18s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Development

.PHONY: build
build: ## Build the controller and wfctl into bin/
	go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/manager .
	go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/wfctl ./cmd/wfctl

.PHONY: fmt
fmt: ## Format the Go code
	gofmt -l -w $$(git ls-files '*.go')

.PHONY: vet
vet: ## Run go vet
	go vet ./...

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run golangci-lint
	$(GOLANGCI_LINT) run

.PHONY: tidy
tidy: ## Tidy the root module
	go mod tidy

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Generate deepcopy functions, CRDs and RBAC
	$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt paths=./api/...
	$(CONTROLLER_GEN) crd paths=./api/wavefront/... output:crd:dir=config/crd/bases
	$(CONTROLLER_GEN) crd paths=./api/apps/... output:crd:dir=config/fluxapp/crd/bases
	$(CONTROLLER_GEN) rbac:roleName=wavefront-controller paths=./internal/controller/... output:rbac:dir=config/rbac
	$(CONTROLLER_GEN) rbac:roleName=wavefront-controller-fluxapp paths=./internal/fluxapp/... output:rbac:dir=config/fluxapp/rbac
	@$(MAKE) --no-print-directory generate-docs

.PHONY: verify
verify: generate tidy fmt ## Fail if generated files, formatting or go.mod drifted
	@if [ -n "$$(git status --porcelain)" ]; then \
	  echo "these files drifted; run 'make generate tidy fmt' and commit:"; git status --short; git diff --stat; exit 1; fi
	@echo "verify: nothing drifted"

##@ Tests

.PHONY: test
test: deps programs ## Run everything: static checks, package tests, and tests on the real control plane
	@echo "test: static checks"
	@$(MAKE) --no-print-directory vet
	@$(MAKE) --no-print-directory unit
	@$(MAKE) --no-print-directory fuzz FUZZTIME=20000x
	@$(MAKE) --no-print-directory e2e
	@$(MAKE) --no-print-directory test-modules
	@echo "test: everything passed"

.PHONY: unit
unit: ## Run the tests that need no control plane
	@echo "test: packages"
	go test -timeout 20m $(GO_TEST_ARGS) . ./api/... ./cmd/... ./hack/... ./internal/...

# One package after the other: each runs control planes of its own, and many tests at
# once. A test that fails is run once more, alone, and both runs are reported: the machine
# may have been too busy for a real control plane. More than six failures end it at once.
.PHONY: e2e
e2e: deps programs $(GOTESTSUM) ## Run the tests on the real control plane
	@echo "test: on the real control plane"
	$(GOTESTSUM) --format pkgname --rerun-fails=1 --rerun-fails-max-failures=6 --packages ./tests/... -- \
	  -p 1 -timeout 30m $(GO_TEST_ARGS)

.PHONY: race
race: ## Run the package tests under the race detector
	go test -race -timeout 20m ./internal/...

.PHONY: fuzz
fuzz: fuzz-refs ## Fuzz the readers of foreign input and the graph briefly (FUZZTIME=20s each)
	go test ./internal/fleet -run '^$$' -fuzz '^FuzzGraph$$' -fuzztime $(or $(FUZZTIME),20s)

.PHONY: bench
bench: ## Run the benchmarks
	go test -run '^$$' -bench . -benchmem ./internal/...

.PHONY: demo
demo: deps programs build ## Show a fleet roll out in order (KEEP=1 leaves it running)
	go run ./tests/demo $(if $(KEEP),--keep)

.PHONY: deps
deps: ## Install what the scripts need from the distribution (git, if it is missing)
	@hack/deps.sh

##@ Tools

$(CONTROLLER_GEN):
	@echo "tools: installing controller-gen $(CONTROLLER_GEN_VERSION)"
	GOBIN=$(BIN) go install sigs.k8s.io/controller-tools/cmd/controller-gen@$(CONTROLLER_GEN_VERSION)
	mv $(BIN)/controller-gen $@

$(GOLANGCI_LINT):
	@echo "tools: installing golangci-lint $(GOLANGCI_LINT_VERSION)"
	GOBIN=$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	mv $(BIN)/golangci-lint $@

$(GOTESTSUM):
	@echo "tools: installing gotestsum $(GOTESTSUM_VERSION)"
	GOBIN=$(BIN) go install gotest.tools/gotestsum@$(GOTESTSUM_VERSION)
	mv $(BIN)/gotestsum $@
