#!/usr/bin/env bash
# Mirrors that are killed at a hundred random points, and whose every write fails once: what is visible is exact,
# and the next run ends with the same bytes. Needs the variables of `./run env`, and the command.
# Where it fails, all that was said is kept in a file, and why it failed comes last.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# By their whole names: a test that has another one by now is an error, and not left out.
faults=test/python/test_mirror_faults.py
log=$(mktemp "${TMPDIR:-/tmp}/mirror_faults.XXXXXX") || exit 1
H5ZARR_MIRROR_KILLS=100 "$H5ZARR_PYTHON" -m pytest -q -p no:cacheprovider -o faulthandler_timeout=3600 --tb=long --showlocals \
  "$faults::test_killed_at_any_time_what_is_visible_is_exact_and_a_run_converges" \
  "$faults::test_a_write_that_fails_is_told_and_a_run_converges" \
  "$faults::test_a_failure_of_a_large_pack_is_told_and_a_run_converges" \
  test/python/test_mirror_state.py::test_killed_at_any_time_the_history_is_whole 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
if [ "$status" -eq 0 ]; then
  rm -f "$log"
else
  echo "kept in $log:"
  grep -E '^(E |FAILED|ERROR)' "$log"
fi
exit "$status"
