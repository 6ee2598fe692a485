#!/usr/bin/env bash
# Fetches the published packages that tests compare with into target/third-party/, each once, by its
# exact version and checksum.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
into=target/third-party
mkdir -p "$into"

# fetch NAME PACKAGE@VERSION SHA256: unpacks the npm package to target/third-party/NAME.
fetch() {
  local name=$1 package=$2 sum=$3 work archive
  if [ -e "$into/$name/.complete-$sum" ]; then
    return
  fi
  work=$(mktemp -d "$into/.fetch.XXXXXX")
  trap 'rm -rf "$work"' RETURN
  (cd "$work" && npm pack --silent "$package" >/dev/null)
  archive=$(echo "$work"/*.tgz)
  echo "$sum  $archive" | sha256sum --check --quiet
  tar -xzf "$archive" -C "$work"
  touch "$work/package/.complete-$sum"
  rm -rf "${into:?}/$name"
  mv "$work/package" "$into/$name"
  echo "fetched $package"
}

fetch webhooks-examples @octokit/webhooks-examples@7.6.1 \
  89e6cb1c6345d32e3dd775617fa54effbdc26c859e514898d7728e95e9738280
