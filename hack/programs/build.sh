#!/usr/bin/env bash
# Copyright The Wavefront Controller Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Builds the programs of the local control plane from their Go modules, one tool
# module a program, into bin/ (or $PROGRAMS_DIR). What is there already at the
# pinned version is left alone, so it is cheap to call first thing everywhere.
#
#   hack/programs/build.sh                 all four
#   hack/programs/build.sh etcd ...        only those
#
# KUBEBUILDER_ASSETS naming a folder with etcd and kube-apiserver: these two are
# taken from there and are not built.
#
# All are built with the same flags, and the tool modules agree on the versions of
# what they have in common, so that a package is compiled once for all of them.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=${PROGRAMS_DIR:-$(cd "$here/../.." && pwd)/bin}
progress_every=${PROGRESS_SECONDS:-20}

# Neither the caller's workspace nor its flags may change what is built.
export GOWORK=off GOFLAGS=-buildvcs=false
# The compiler spends a fifth of its time collecting garbage at the default.
export GOGC=${GOGC:-400}

# module_of and package_of say what a program is built from.
module_of() {
  case $1 in
    etcd) echo go.etcd.io/etcd/server/v3 ;;
    kube-apiserver) echo k8s.io/kubernetes ;;
    source-controller) echo github.com/fluxcd/source-controller ;;
    kustomize-controller) echo github.com/fluxcd/kustomize-controller ;;
    *)
      echo "build.sh: unknown program \"$1\" (etcd, kube-apiserver, source-controller, kustomize-controller)" >&2
      return 2
      ;;
  esac
}

package_of() {
  case $1 in
    kube-apiserver) echo k8s.io/kubernetes/cmd/kube-apiserver ;;
    *) module_of "$1" ;;
  esac
}

# version_of prints the version that a program's tool module pins.
version_of() {
  awk -v module="$(module_of "$1")" '{ sub(/^require /, "") } $1 == module { print $2; exit }' "$here/$1/go.mod"
}

# ldflags_of strips what nobody debugs, and stamps the API server's version, without
# which clients can't parse its /version.
ldflags_of() {
  local flags="-s -w" version major minor
  if [[ $1 == kube-apiserver ]]; then
    version=$(version_of "$1")
    IFS=. read -r major minor _ <<<"${version#v}"
    flags+=" -X k8s.io/component-base/version.gitVersion=$version"
    flags+=" -X k8s.io/component-base/version.gitMajor=$major"
    flags+=" -X k8s.io/component-base/version.gitMinor=$minor"
  fi
  echo "$flags"
}

# stamp_of identifies a build: sources, flags and compiler.
stamp_of() {
  { (cd "$here/$1" && go env GOVERSION GOOS GOARCH); ldflags_of "$1"; cat "$here/$1/go.mod" "$here/$1/go.sum"; } | sha256sum | cut -d' ' -f1
}

elapsed() { printf '%dm%02ds' $((($1) / 60)) $((($1) % 60)); }

# report prints a line now and then while process $2 builds program $1.
report() {
  local name=$1 pid=$2 log=$3 began=$SECONDS next=$progress_every
  while kill -0 "$pid" 2>/dev/null; do
    sleep 1
    if ((SECONDS - began >= next)); then
      next=$((next + progress_every))
      echo "  $name: $(compiled "$log") packages compiled, $(elapsed $((SECONDS - began)))"
    fi
  done
}

# compiled counts the packages in the output of go build -v.
compiled() { grep -cvE '^(go: |#|$)' "$1" || true; }

up_to_date() {
  [[ -x $bin/$1 && $(cat "$bin/.stamps/$1" 2>/dev/null) == "$(stamp_of "$1")" ]]
}

build() {
  local name=$1 log=$bin/.stamps/$1.log began=$SECONDS pid
  echo "$name $(version_of "$name"): building (minutes from an empty cache, seconds after that)"
  (cd "$here/$name" && exec go build -v -mod=readonly -trimpath -gcflags=all=-dwarf=false \
    -ldflags "$(ldflags_of "$name")" -o "$bin/$name.new" "$(package_of "$name")") >"$log" 2>&1 9>&- &
  pid=$!
  trap 'kill "$pid" 2>/dev/null || true; exit 130' INT TERM
  report "$name" "$pid" "$log"
  if ! wait "$pid"; then
    echo "build.sh: failed to build $name $(version_of "$name"); the last lines of $log:" >&2
    tail -n 20 "$log" >&2
    return 1
  fi
  trap - INT TERM
  mv "$bin/$name.new" "$bin/$name"
  stamp_of "$name" >"$bin/.stamps/$name"
  echo "$name $(version_of "$name"): built in $(elapsed $((SECONDS - began))), $(compiled "$log") packages compiled"
}

# has_assets tells whether KUBEBUILDER_ASSETS provides a program.
has_assets() {
  [[ -n ${KUBEBUILDER_ASSETS:-} && ($1 == etcd || $1 == kube-apiserver) &&
    -x $KUBEBUILDER_ASSETS/etcd && -x $KUBEBUILDER_ASSETS/kube-apiserver ]]
}

main() {
  command -v go >/dev/null || { echo "build.sh: go is not in PATH; install Go 1.26 or later" >&2; exit 1; }
  mkdir -p "$bin/.stamps"
  local name
  local -a missing=()
  (($#)) || set -- etcd kube-apiserver source-controller kustomize-controller
  for name in "$@"; do
    package_of "$name" >/dev/null
    if has_assets "$name"; then
      echo "$name: from KUBEBUILDER_ASSETS"
    elif up_to_date "$name"; then
      echo "$name $(version_of "$name"): already built"
    else
      missing+=("$name")
    fi
  done
  ((${#missing[@]})) || return 0
  # Two callers at once (a test and a shell, say) would build everything twice.
  exec 9>"$bin/.stamps/lock"
  flock -n 9 || { echo "build.sh: another build is under way, waiting for it"; flock 9; }
  for name in "${missing[@]}"; do
    up_to_date "$name" || build "$name"
  done
}

main "$@"
