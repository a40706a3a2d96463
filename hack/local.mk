##@ Local control plane

# The folder of the local control plane; another one is a second copy beside it.
LOCAL ?= .local
# Flags for the controller in `make run`.
ARGS ?=

.PHONY: programs
programs: ## Build etcd, kube-apiserver and Flux's controllers into bin/ (minutes, once)
	@hack/programs/build.sh

.PHONY: local-up
local-up: programs bin/local ## Start a control plane in the background, say where (LOCAL=.local/two for a second)
	@$(BIN)/local up --dir $(LOCAL)

.PHONY: local-down
local-down: bin/local ## Stop it and remove what it made
	@$(BIN)/local down --dir $(LOCAL)

.PHONY: run
run: bin/local ## Run the controller against it as it is shipped (ARGS='--flag ...')
	@$(BIN)/local run --dir $(LOCAL) -- $(ARGS)

.PHONY: env-crds
env-crds: ## Regenerate tests/env/crds from the pinned Flux modules
	@hack/programs/crds.sh

# Go's own cache knows best whether there is anything to do.
.PHONY: bin/local
bin/local:
	@go build -o $(BIN)/local ./tests/env/cmd/local
