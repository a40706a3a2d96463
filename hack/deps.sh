#!/usr/bin/env bash
# Installs the few distribution packages that the tests and the demo use and
# that Go modules can't bring. Does nothing where they are present.
set -euo pipefail

packages=()
command -v git >/dev/null || packages+=(git)
[ -x "$(git --exec-path 2>/dev/null)/git-http-backend" ] || packages+=(git)
command -v sshd >/dev/null || [ -x /usr/sbin/sshd ] || packages+=(openssh-server)
command -v promtool >/dev/null || packages+=(prometheus)
command -v tmux >/dev/null || packages+=(tmux)
command -v curl >/dev/null || packages+=(curl)
[ ${#packages[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
  echo "deps: please install: ${packages[*]}" >&2
  exit 1
fi
echo "deps: installing ${packages[*]}"
# The services that some of these packages bring must not start by themselves.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' > "$policy" && chmod +x "$policy"
  trap 'rm -f "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
apt-get -qq -y install --no-install-recommends "${packages[@]}" >/dev/null
