##@ Listing refs against real servers

# These need minutes to build or Debian's packages, so they are not part of `make test`.

.PHONY: gitea
gitea: bin/gitea ## Build Gitea, a complete forge, into bin/ (minutes, once)

bin/gitea: hack/programs/gitea/go.mod hack/programs/gitea/go.sum
	@mkdir -p bin
	cd hack/programs/gitea && GOWORK=off CGO_ENABLED=1 go build -trimpath -buildvcs=false \
		-tags sqlite,sqlite_unlock_notify -ldflags "-s -w" -o ../../../bin/gitea code.gitea.io/gitea

.PHONY: test-refs
test-refs: ## List refs from OpenSSH, Gitea and hostile servers (needs openssh-server and make gitea)
	REFS_REQUIRED=1 go test -count=1 -timeout 15m ./tests/refs/...

.PHONY: bench-refs
bench-refs: ## Compare listing refs with go-git and git (minutes)
	go test -run '^$$' -bench 'List|Sweep' -benchmem -count=1 -timeout 30m ./tests/refs/

.PHONY: fuzz-refs
fuzz-refs: ## Fuzz the readers of the git protocol briefly (FUZZTIME=20s each)
	go test ./internal/refs/wire -run '^$$' -fuzz '^FuzzRefs$$' -fuzztime $(or $(FUZZTIME),20s)
	go test ./internal/refs/wire -run '^$$' -fuzz '^FuzzDiscover$$' -fuzztime $(or $(FUZZTIME),20s)
