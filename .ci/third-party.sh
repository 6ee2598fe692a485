#!/usr/bin/env bash
# Fetches the published packages that tests compare with or run into target/third-party/, each once, by
# its exact version; what is unpacked here by its checksum too.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
into=target/third-party
mkdir -p "$into"
# Tests that run at the same time may both ask for the packages.
exec 9>"$into/.lock"
if command -v flock >/dev/null; then flock 9; fi

# fetch NAME PACKAGE@VERSION SHA256 [FILE…]: unpacks the npm package, or only those of its files, to
# target/third-party/NAME.
fetch() {
  local name=$1 package=$2 sum=$3 work archive
  shift 3
  if [ -e "$into/$name/.complete-$sum" ]; then
    return
  fi
  work=$(mktemp -d "$into/.fetch.XXXXXX")
  trap 'rm -rf "$work"' RETURN
  (cd "$work" && npm pack --silent "$package" >/dev/null)
  archive=$(echo "$work"/*.tgz)
  echo "$sum  $archive" | sha256sum --check --quiet
  tar -xzf "$archive" -C "$work" "${@/#/package/}"
  touch "$work/package/.complete-$sum"
  rm -rf "${into:?}/$name"
  mv "$work/package" "$into/$name"
  echo "fetched $package"
}

fetch webhooks-examples @octokit/webhooks-examples@7.6.1 \
  89e6cb1c6345d32e3dd775617fa54effbdc26c859e514898d7728e95e9738280
fetch openapi @octokit/openapi@23.0.2 \
  71a18407dd5e8464f4e0525daf03deabbe65abd9287d6adc7b5d98f516cd0d0c \
  generated/api.github.com.json
fetch sarif @microsoft/jest-sarif@1.0.0-beta.0 \
  748e2c3d1a842e7bb258416685c7ea3a0da40005b72267b2052c2856d48ad102 \
  lib/schemas/sarif-2.1.0-rtm.5.json
fetch graphql graphql@16.11.0 \
  7e34f9274fdf64549b08d23ab7480afbe47add16974de698cd387a36b09db1f6
fetch graphql-schema @octokit/graphql-schema@15.26.1 \
  053e74249dafce2118fd9b7ae499b067d57c5f910c57745699ac45108bc68d1e \
  schema.graphql

# venv NAME PACKAGE==VERSION…: a virtual environment with these packages, in target/third-party/NAME.
venv() {
  local name=$1 mark
  shift
  mark=$into/$name/.complete-$(echo "$*" | sha256sum | cut -c1-16)
  if [ -e "$mark" ]; then
    return
  fi
  rm -rf "${into:?}/$name"
  if ! { python3 -m venv "$into/$name" &&
    "$into/$name/bin/python" -m pip --quiet --disable-pip-version-check install "$@"; }; then
    # Half of it would be taken for the whole.
    rm -rf "${into:?}/$name"
    return 1
  fi
  touch "$mark"
  echo "installed $*"
}

venv pytest pytest==9.2.0 hypothesis==6.170.17 pytest-randomly==5.1.0
venv pytest-old pytest==9.2.0 hypothesis==6.100.0
# Importing Hypothesis takes three times as long as pytest alone.
venv pytest-bare pytest==9.2.0

# modules NAME PACKAGE@VERSION…: these npm packages and what they need, in target/third-party/NAME.
modules() {
  local name=$1 mark work
  shift
  mark=$into/$name/.complete-$(echo "$*" | sha256sum | cut -c1-16)
  if [ -e "$mark" ]; then
    return
  fi
  work=$(mktemp -d "$into/.fetch.XXXXXX")
  trap 'rm -rf "$work"' RETURN
  echo '{"private": true}' >"$work/package.json"
  npm install --prefix "$work" --silent --no-audit --no-fund --ignore-scripts "$@"
  touch "$work/$(basename "$mark")"
  rm -rf "${into:?}/$name"
  mv "$work" "$into/$name"
  echo "installed $*"
}

modules javascript vitest@4.1.12 jest@30.5.2 fast-check@4.11.0 @fast-check/vitest@0.5.0 \
  @fast-check/jest@2.3.0
