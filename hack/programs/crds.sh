#!/usr/bin/env bash
# Copyright The Wavefront Controller Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Regenerates tests/env/crds, Flux's CRDs at the versions that the tool modules pin:
# of the controllers that run, their own files; of the others, what controller-gen
# makes of their API modules.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-$(cd "$here/../.." && pwd)/tests/env/crds}
export GOWORK=off GOFLAGS=-buildvcs=false

mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -f "$out"/*.yaml

for name in source-controller kustomize-controller; do
  dir=$(cd "$here/$name" && go mod download -json "github.com/fluxcd/$name" | sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p')
  for file in "$dir"/config/crd/bases/*.yaml; do
    install -m 0644 "$file" "$out/"
  done
done

cd "$here/controller-gen"
for name in helm-controller image-reflector-controller notification-controller; do
  go tool controller-gen crd:crdVersions=v1 "paths=github.com/fluxcd/$name/api/..." "output:crd:dir=$out"
done
ls "$out"
