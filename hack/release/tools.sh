#!/usr/bin/env bash
# Copyright The Wavefront Controller Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Installs tools for releasing and checking into bin/, from their Go modules at pinned
# versions: what is downloaded is verified by Go's checksum database.
#
#   hack/release/tools.sh goreleaser cosign ...

set -euo pipefail

bin=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/bin

package_of() {
  case $1 in
    actionlint) echo github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 ;;
    cosign) echo github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3 ;;
    gen-crd-api-reference-docs) echo github.com/ahmetb/gen-crd-api-reference-docs@v0.3.0 ;;
    goreleaser) echo github.com/goreleaser/goreleaser/v2@v2.15.1 ;;
    helm) echo helm.sh/helm/v3/cmd/helm@v3.22.0 ;;
    syft) echo github.com/anchore/syft/cmd/syft@v1.57.1 ;;
    *)
      echo "tools.sh: unknown tool \"$1\" (actionlint, cosign, gen-crd-api-reference-docs, goreleaser, helm, syft)" >&2
      return 2
      ;;
  esac
}

mkdir -p "$bin/.stamps"
for tool in "$@"; do
  package=$(package_of "$tool")
  if [[ -x $bin/$tool && $(cat "$bin/.stamps/$tool" 2>/dev/null) == "$package" ]]; then
    continue
  fi
  echo "tools: installing $package" >&2
  (cd / && GOBIN=$bin GOFLAGS=-buildvcs=false go install "$package")
  echo "$package" >"$bin/.stamps/$tool"
done
