# Targets that ship the project: image, installers, CLI, chart, documentation.
# Included by the Makefile.

IMG ?= ghcr.io/isometry/wavefront-controller:$(VERSION)
PLATFORMS ?= linux/amd64,linux/arm64
OVERLAY ?= config/flux-system
KUBECTL ?= kubectl
GO_BUILD_FLAGS ?= -trimpath
DIST ?= $(CURDIR)/dist
INSTALLER := go run ./hack/release/installer
GOBIN_DIR = $(or $(shell go env GOBIN),$(shell go env GOPATH)/bin)

##@ Deployment

.PHONY: install
install: ## Install the custom resource definitions into the cluster
	$(INSTALLER) --overlay $(OVERLAY) --definitions only | $(KUBECTL) apply --server-side -f -

.PHONY: uninstall
uninstall: ## Remove the definitions (refuses while there are Wavefronts, unless FORCE=1)
	@if [ -z "$(FORCE)" ] && [ -n "$$($(KUBECTL) get wavefronts -o name 2>/dev/null)" ]; then \
	  echo "uninstall: there are Wavefronts; delete them while the controller runs ('wfctl uninstall'), or repeat with FORCE=1" >&2; \
	  exit 1; fi
	$(INSTALLER) --overlay $(OVERLAY) --definitions only | $(KUBECTL) delete --ignore-not-found -f -

.PHONY: deploy
deploy: ## Deploy the controller with IMG, definitions included
	$(INSTALLER) --overlay $(OVERLAY) --image $(IMG) | $(KUBECTL) apply --server-side -f -

.PHONY: undeploy
undeploy: ## Remove the controller and its roles; the definitions and the Wavefronts stay
	$(INSTALLER) --overlay $(OVERLAY) --definitions without | $(KUBECTL) delete --ignore-not-found -f -

##@ Release

.PHONY: ko-build
ko-build: ## Build the image IMG for PLATFORMS without an engine, into dist/image (PUSH=1 pushes it)
	@go run -C hack/image . --source $(CURDIR) --output $(DIST)/image --image $(IMG) --platforms $(PLATFORMS) \
	  --version $(VERSION) --revision "$$(git rev-parse HEAD 2>/dev/null)" $(if $(PUSH),--push)

.PHONY: build-installer
build-installer: ## Write the installers with IMG into dist/
	@$(INSTALLER) --overlay $(OVERLAY) --image $(IMG) --version $(VERSION) --output $(DIST)/install.yaml
	@$(INSTALLER) --overlay $(OVERLAY) --version $(VERSION) --definitions only --output $(DIST)/crds.yaml
	@$(INSTALLER) --overlay config/flux --version $(VERSION) --output $(DIST)/flux.yaml
	@echo "dist/install.yaml, crds.yaml and flux.yaml: $(IMG)"

.PHONY: release-snapshot
release-snapshot: ## Build the files of a release into dist/, without signatures and bills of materials
	@hack/release/tools.sh goreleaser
	$(BIN)/goreleaser check
	$(BIN)/goreleaser release --snapshot --clean --parallelism $(or $(PARALLELISM),1) --skip=sign,sbom,publish
	@go run ./hack/release/formula --version "$$(sed -n 's/.*"version":"\([^"]*\)".*/\1/p' $(DIST)/release/metadata.json)"

.PHONY: build-wfctl
build-wfctl: ## Build wfctl into bin/
	go build $(GO_BUILD_FLAGS) -ldflags '$(LDFLAGS)' -o $(BIN)/wfctl ./cmd/wfctl

.PHONY: install-wfctl
install-wfctl: build-wfctl ## Install wfctl into GOBIN, also as kubectl and flux plugins
	mkdir -p "$(GOBIN_DIR)" && install -m 0755 $(BIN)/wfctl "$(GOBIN_DIR)/wfctl"
	ln -sf wfctl "$(GOBIN_DIR)/kubectl-wavefront"
	ln -sf wfctl "$(GOBIN_DIR)/flux-wavefront"

CHART := charts/wavefront-controller

.PHONY: chart
chart: ## Generate what the chart takes from the overlays, and its README
	@$(INSTALLER) --overlay config/crd --output $(CHART)/files/crds.yaml
	@$(INSTALLER) --overlay config/rbac --output $(CHART)/files/rbac.yaml
	@$(INSTALLER) --overlay config/network-policy --output $(CHART)/files/network-policy.yaml
	@$(INSTALLER) --overlay config/fluxapp/crd --output $(CHART)/files/fluxapp-crds.yaml
	@$(INSTALLER) --overlay config/fluxapp/rbac --output $(CHART)/files/fluxapp-rbac.yaml
	@go run ./hack/release/chartdocs $(CHART)

##@ Documentation

.PHONY: generate-docs
generate-docs: chart api-docs ## Generate the chart's files and the table of flags (called by generate)
	@go run . --help 2>&1 | go run ./hack/release/flagdocs docs/README.md

.PHONY: api-docs
api-docs: ## Generate the API reference
	hack/release/tools.sh gen-crd-api-reference-docs
	$(BIN)/gen-crd-api-reference-docs -api-dir ./api/wavefront/v1alpha1 -config hack/api-docs/config.json \
	  -template-dir hack/api-docs/template -out-file docs/api/v1alpha1/wavefront.md
	$(BIN)/gen-crd-api-reference-docs -api-dir ./api/apps/v1 -config hack/api-docs/config.json \
	  -template-dir hack/api-docs/template -out-file docs/api/apps/v1/fluxapp.md

##@ Tests

# Modules of their own, each for what must stay out of the project's go.mod.
TEST_MODULES := hack/image tests/chart tests/dockerfile

.PHONY: test-modules
test-modules: ## Run the tests of the modules beside the project's (called by test)
	@set -e; for module in $(TEST_MODULES); do \
	  echo "test-modules: $$module"; (cd $$module && go vet ./... && go test -timeout 20m $(GO_TEST_ARGS) ./...); done

.PHONY: tidy-modules
tidy-modules: ## Tidy the modules beside the project's
	@set -e; for module in $(TEST_MODULES); do (cd $$module && go mod tidy); done

.PHONY: lint-workflows
lint-workflows: ## Check the GitHub workflows
	hack/release/tools.sh actionlint && $(BIN)/actionlint

.PHONY: test-release
test-release: deps programs ## Build all that a release publishes, compare, and run it (minutes)
	go test -tags release -timeout 60m -run '^TestRelease' -v $(GO_TEST_ARGS) ./tests/ship
