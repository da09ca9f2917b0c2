#!/usr/bin/env bash
# The Python tests with the plugins and the command built under the address sanitizer: all of them on HDF5 1.14, and
# on HDF5 2.x those that need it (views), or packages that the other environment has not. The runtime comes by
# LD_PRELOAD, since Python has none. Needs the variables of `./run env`, and build/asan configured.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# (`h5zarr` is to ninja the command's file, and not the plugin's target.)
ninja -C build/asan plugins h5zarr_command || exit 1
export H5ZARR_PLUGIN_DIR=$PWD/build/asan/plugin H5ZARR_COMMAND=$PWD/build/asan/h5zarr
libraries=$(for name in libasan.so libubsan.so libstdc++.so; do g++ -print-file-name=$name; done)

# tests PYTHON PLACE...: in worker processes, so that a crash fails the test it happened in, and no other.
# Python and the wheels have leaks of their own.
tests() {
  LD_PRELOAD=${libraries//$'\n'/:} ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0 \
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
    "$1" -m pytest -q -n "$(nproc)" --dist loadfile -p no:cacheprovider "${@:2}"
}

outcome=0
tests "$H5ZARR_PYTHON_114" test/python || outcome=1
mapfile -t newer < <(grep -lE 'versioned_hdf5|icechunk|xarray|h5netcdf|hdf5_version_tuple < \(2' test/python/test_*.py)
[ ${#newer[@]} -gt 0 ] || { echo "no file of test/python names what only the main environment has"; exit 1; }
tests "$H5ZARR_PYTHON" "${newer[@]}" || outcome=1
exit $outcome
