#!/usr/bin/env bash
# The Python tests with the plugin built under the address sanitizer. The runtime comes by
# LD_PRELOAD, since Python has none. Needs the variables of `./run env`, and build/asan configured.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
ninja -C build/asan h5zarr || exit 1
libraries=$(for name in libasan.so libubsan.so libstdc++.so; do g++ -print-file-name=$name; done)
export H5ZARR_PLUGIN_DIR=$PWD/build/asan/plugin
# Python and the wheels have leaks of their own.
LD_PRELOAD=${libraries//$'\n'/:} ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0 \
  UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
  "$H5ZARR_PYTHON_114" -m pytest -q -p no:cacheprovider test/python
