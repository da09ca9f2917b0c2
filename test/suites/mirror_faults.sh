#!/usr/bin/env bash
# Mirrors that are killed at a hundred random points, and whose every write fails once: what is visible is exact,
# and the next run ends with the same bytes. Needs the variables of `./run env`, and the command.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
H5ZARR_MIRROR_KILLS=100 "$H5ZARR_PYTHON" -m pytest -q -p no:cacheprovider test/python/test_mirror.py test/python/test_mirror_state.py \
  -k "killed_at_any_time or write_that_fails"
