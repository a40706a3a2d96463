#!/usr/bin/env bash
# Copyright The Wavefront Controller Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Puts a file into a GitHub repository, in a commit of its own: the formula into the
# Homebrew tap, the manifest into the krew index.
#
#   GH_TOKEN=... hack/release/publish.sh OWNER/REPOSITORY PATH FILE

set -euo pipefail

repository=$1 path=$2 file=$3

# What replaces a file must name what it replaces.
replaced=()
if blob=$(gh api "repos/$repository/contents/$path" --jq .sha 2>/dev/null); then
  replaced=(--field "sha=$blob")
fi
gh api --method PUT "repos/$repository/contents/$path" --silent \
  --field "message=$(basename "$path") of ${GITHUB_REF_NAME:?}" \
  --field "content=$(base64 --wrap=0 "$file")" "${replaced[@]}"
echo "$repository: $path"
