#!/usr/bin/env bash
# The demonstration behind `./run demo`, which sets the variables used here:
#   H5ZARR_PLUGIN_DIR  H5ZARR_HDF5 (prefix)  H5ZARR_PYTHON  H5ZARR_WRITE_SHARDED (built C program)
# Usage: demo.sh [DIR [PLANES ROWS COLUMNS]]: works in DIR and keeps it, else in a temporary folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -gt 0 ]; then
  mkdir -p "$1"
  cd "$1"
else
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cd "$work"
fi
shape=("${@:2}")
unset HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR

step() { printf '\n\033[1m%s\033[0m\n' "$1"; }
with_both() { HDF5_PLUGIN_PATH=$H5ZARR_PLUGIN_DIR HDF5_VOL_CONNECTOR=zarr "$@"; }

step "1. zarr-python makes image.zarr: a sharded, compressed 3-D image in a group, with attributes"
"$H5ZARR_PYTHON" "$here/make_image.py" image.zarr ${shape[@]+--shape "${shape[@]}"}

step "2. zarr-python reads it, for comparison"
"$H5ZARR_PYTHON" "$here/check_image.py" image.zarr | tee zarr.log

step "3. an unchanged h5py script reads it, with HDF5_PLUGIN_PATH and HDF5_VOL_CONNECTOR=zarr"
with_both "$H5ZARR_PYTHON" "$here/read_image.py" image.zarr | tee h5py.log
[ "$(grep -o 'crc .*' zarr.log)" = "$(grep -o 'crc .*' h5py.log)" ]
echo "the same bytes as zarr-python's"

step "4. h5dump (HDF5 1.14) reads it, with HDF5_PLUGIN_PATH alone"
HDF5_PLUGIN_PATH=$H5ZARR_PLUGIN_DIR "$H5ZARR_HDF5/bin/h5dump" -d /labels image.zarr
HDF5_PLUGIN_PATH=$H5ZARR_PLUGIN_DIR "$H5ZARR_HDF5/bin/h5dump" -n 1 image.zarr

step "5. a C program writes new.zarr with plain HDF5 calls, one shard at a time"
begin=$(date +%s%N)
with_both "$H5ZARR_WRITE_SHARDED" new.zarr ${shape[@]+"${shape[@]}"}
printf 'in %d ms\n' $((($(date +%s%N) - begin) / 1000000))

step "6. zarr-python reads new.zarr and checks every element"
"$H5ZARR_PYTHON" "$here/check_image.py" --written new.zarr

step "To do this in your own shell:"
printf 'export HDF5_PLUGIN_PATH=%s\nexport HDF5_VOL_CONNECTOR=zarr\n' "$H5ZARR_PLUGIN_DIR"
