#!/usr/bin/env bash
# HDF5's own VOL test program (h5_api_test) through the connector. Usage: api_test.sh native|zarr
# native: files keep their .h5 names and stay HDF5; zarr: every file created becomes a store.
# Passes when nothing fails but what api_test.<mode>.known names, and nothing is skipped that HDF5
# alone does not skip. Needs the variables of `./run env`.
set -uo pipefail
mode=$1
known=$(dirname "$(realpath "$0")")/api_test.$mode.known
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/alone" "$work/ours"

(cd "$work/alone" && "$H5ZARR_API_TEST" >"$work/alone.log" 2>&1)
connector=zarr
[ "$mode" = native ] || connector="zarr create=zarr"
(cd "$work/ours" && HDF5_PLUGIN_PATH=$H5ZARR_PLUGIN_DIR HDF5_VOL_CONNECTOR=$connector \
  timeout 1200 "$H5ZARR_API_TEST" >"$work/ours.log" 2>&1)
code=$?

# names OUTCOME LOG: the tests with that outcome.
names() { sed -nE "s/^ *Testing (.*[^ ]) +$1\$/\1/p" "$2" | LC_ALL=C sort; }
unexpected() { LC_ALL=C comm -23 <(names "$1" "$work/ours.log") - | sed "s/^/$2: /"; }

grep -E 'API tests' "$work/ours.log"
{
  sed -E 's/ *#.*//; /^$/d' "$known" | LC_ALL=C sort | unexpected '[*]FAILED[*]' 'failed'
  names '-SKIP-' "$work/alone.log" | unexpected '-SKIP-' 'skipped, though not by HDF5 alone'
} >"$work/verdict"
cat "$work/verdict"
if ! grep -q 'API tests passed' "$work/ours.log" || [ $code -gt 1 ]; then
  tail -n 30 "$work/ours.log"
  echo "h5_api_test ended with code $code"
  exit 1
fi
[ ! -s "$work/verdict" ]
