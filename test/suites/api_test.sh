#!/usr/bin/env bash
# HDF5's own VOL test program (h5_api_test) through the connector. Usage: api_test.sh native|zarr
# native: files keep their .h5 names and stay HDF5; zarr: every file created becomes a store.
# Passes when
# - nothing fails but what api_test.<mode>.known names, nothing is skipped that HDF5 alone does not
#   skip, and as many tests pass as with HDF5 alone,
# - nothing is printed on stderr that HDF5 alone does not print (errors of calls that succeed,
#   "infinite loop closing library"),
# - zarr-python reads every array of the stores that are left.
# Needs the variables of `./run env`.
set -uo pipefail
mode=$1
here=$(dirname "$(realpath "$0")")
known=$here/api_test.$mode.known
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/alone" "$work/ours"

(cd "$work/alone" && "$H5ZARR_API_TEST" >"$work/alone.log" 2>"$work/alone.err")
connector=zarr
[ "$mode" = native ] || connector="zarr create=zarr"
(cd "$work/ours" && HDF5_PLUGIN_PATH=$H5ZARR_PLUGIN_DIR HDF5_VOL_CONNECTOR=$connector \
  timeout 1200 "$H5ZARR_API_TEST" >"$work/ours.log" 2>"$work/ours.err")
code=$?

# names OUTCOME LOG: the tests with that outcome.
names() { sed -nE "s/^ *Testing (.*[^ ]) +$1\$/\1/p" "$2" | LC_ALL=C sort; }
unexpected() { LC_ALL=C comm -23 <(names "$1" "$work/ours.log") - | sed "s/^/$2: /"; }
passed() { sed -nE 's/^([0-9]+)\/.* API tests passed .*/\1/p' "$1"; }

grep -E 'API tests' "$work/ours.log"
if [ -z "$(passed "$work/ours.log")" ] || [ $code -gt 1 ]; then
  tail -n 30 "$work/ours.log" "$work/ours.err"
  echo "h5_api_test ended with code $code"
  exit 1
fi
{
  sed -E 's/ *#.*//; /^$/d' "$known" | LC_ALL=C sort | unexpected '[*]FAILED[*]' 'failed'
  names '-SKIP-' "$work/alone.log" | unexpected '-SKIP-' 'skipped, though not by HDF5 alone'
  expected=$(($(passed "$work/alone.log") - $(grep -cvE '^(#|$)' "$known")))
  [ "$(passed "$work/ours.log")" -ge $expected ] || echo "fewer than $expected tests passed"
  # (A test that is known to fail prints why.)
  grep -qvE '^(#|$)' "$known" ||
    grep -vxFf "$work/alone.err" "$work/ours.err" | head -n 30 | sed 's/^/stderr: /'
} >"$work/verdict"
# The program leaves the store that most of its tests work in: it leaks an identifier there, and what
# is open is not deleted.
[ "$mode" = native ] ||
  "$H5ZARR_PYTHON" "$here/check_stores.py" "$work/ours" 300 || echo "stores are damaged" >>"$work/verdict"
cat "$work/verdict"
[ ! -s "$work/verdict" ]
