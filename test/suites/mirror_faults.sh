#!/usr/bin/env bash
# Mirrors that are killed at a hundred random points, and whose every write fails once: what is visible is exact,
# and the next run ends with the same bytes. Needs the variables of `./run env`, and the command.
# Where it fails, all that was said is kept in a file, and why it failed comes last.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
log=$(mktemp "${TMPDIR:-/tmp}/mirror_faults.XXXXXX") || exit 1
H5ZARR_MIRROR_KILLS=100 "$H5ZARR_PYTHON" -m pytest -q -p no:cacheprovider -o faulthandler_timeout=3600 --tb=long --showlocals \
  test/python/test_mirror_faults.py test/python/test_mirror_state.py \
  -k "killed_at_any_time or write_that_fails or failure_of_a_large_pack" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
if [ "$status" -eq 0 ]; then
  rm -f "$log"
else
  echo "kept in $log:"
  grep -E '^(E |FAILED|ERROR)' "$log"
fi
exit "$status"
