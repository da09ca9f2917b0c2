#!/usr/bin/env bash
# h5py's own tests through the connector, a process a file. Usage: h5py_tests.sh native|zarr
# Passes when nothing fails but what h5py_tests.<mode>.known names and no file's process crashes.
# Tests under MPI are left out. Needs the variables of `./run env`; H5ZARR_PYTHON says which h5py.
set -uo pipefail
mode=$1
known=$(dirname "$(realpath "$0")")/h5py_tests.$mode.known
tests=$(cd / && "$H5ZARR_PYTHON" -c 'import h5py.tests; print(*h5py.tests.__path__)') ||
  { echo "no h5py with its tests: see ./run env"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
connector=zarr
[ "$mode" = native ] || connector="zarr create=zarr"

cd "$work" || exit 1
crashed=0
passed=0
while read -r file; do
  # h5py's tests make their files in the temporary folder.
  mkdir -p "$work/tmp"
  TMPDIR=$work/tmp HDF5_PLUGIN_PATH=$H5ZARR_PLUGIN_DIR HDF5_VOL_CONNECTOR=$connector \
    timeout 900 "$H5ZARR_PYTHON" -m pytest -q -rfEs --tb=line -m 'not mpi' \
    -p no:cacheprovider --confcutdir "$tests" "$file" </dev/null >"$work/log" 2>&1
  code=$?
  passed=$((passed + $(sed -nE '$s/^(.* )?([0-9]+) passed.*/\2/p' "$work/log" | grep . || echo 0)))
  printf '%-28s %s\n' "$(basename "$file")" "$(tail -n 1 "$work/log")"
  sed -nE 's/^(FAILED|ERROR) .*h5py\/tests\/([^ ]+).*/\2/p' "$work/log" >>"$work/failed"
  sed -nE 's/^SKIPPED \[([0-9]+)\] ([^ ]*:)? *(.*)/\1 \3/p' "$work/log" >>"$work/skipped"
  # 1: some test failed, 5: the file holds no test for this platform.
  case $code in
    0 | 1 | 5) ;;
    *) crashed=1; echo "crashed or hung ($code):"; tail -n 30 "$work/log" ;;
  esac
  rm -rf "$work/tmp"
done < <(find "$tests" -name 'test_*.py' | LC_ALL=C sort)

touch "$work/failed" "$work/skipped"
echo "skipped, and why:"
awk '{ count = $1; $1 = ""; of[$0] += count } END { for (why in of) printf "%7d%s\n", of[why], why }' "$work/skipped" |
  LC_ALL=C sort -k 2
echo "$passed passed, $(LC_ALL=C sort -u "$work/failed" | wc -l) failed"
LC_ALL=C comm -23 <(LC_ALL=C sort -u "$work/failed") \
  <(sed -E 's/ *#.*//; /^$/d' "$known" | LC_ALL=C sort) | sed 's/^/failed: /' | tee "$work/verdict"
[ "$passed" -gt 0 ] && [ $crashed -eq 0 ] && [ ! -s "$work/verdict" ]
