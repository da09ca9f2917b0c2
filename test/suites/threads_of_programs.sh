#!/usr/bin/env bash
# The C programs of test/h5 with the plugin, both built under the thread sanitizer. HDF5 itself is not.
# Needs the variables of `./run env`, and build/tsan configured.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
ninja -C build/tsan plugins || exit 1
export H5ZARR_TEST_PROGRAM_PLUGIN_DIR=$PWD/build/tsan/plugin H5ZARR_TEST_CFLAGS="-fsanitize=thread -g"
TSAN_OPTIONS="suppressions=$PWD/test/tsan.supp halt_on_error=1" \
  "$H5ZARR_PYTHON_114" -m pytest -q -p no:cacheprovider test/python/test_c_programs.py
