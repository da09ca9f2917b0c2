#!/usr/bin/env bash
# PyTables' and netCDF4-python's own tests on HDF5 files, without the connector and with it. Usage:
#   users_tests.sh pytables
#   users_tests.sh netcdf4 FOLDER    FOLDER: `test` of its source package, of the version installed (a wheel has none)
# Passes when some test passes, and every test has the same outcome both ways.
# Needs the variables of `./run env`.
set -uo pipefail
suite=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run_pytables() { "$H5ZARR_PYTHON" -m tables.tests.test_all -v; }
# (Without its tests of servers, and of ncdump, which a wheel lacks.)
run_netcdf4() { NO_NET=1 NO_CDL=1 "$H5ZARR_PYTHON" -m pytest -v --color=no -p no:cacheprovider .; }

# Prints every test with its outcome, sorted. What tests print themselves goes before.
outcomes() {
  sed -nE 's/^.*(\.\.\. |::[^ ]+ )(ok|FAIL|ERROR|skipped.*|PASSED|FAILED|SKIPPED.*|XPASS|XFAIL)( .*)?$/&/p' "$1" |
    sed -E 's/ +\[ *[0-9]+%\]$//' | LC_ALL=C sort
}

# go WAY NAME=VALUE...: the suite in a folder of its own.
go() {
  local way=$1
  shift
  mkdir "$work/$way"
  [ "$suite" = pytables ] || cp -r "$folder/." "$work/$way"
  (cd "$work/$way" && export "$@" && "run_$suite") </dev/null >"$work/$way.log" 2>&1
  printf '%s: ends with %d; %s\n' "$way" $? "$(grep -E '^Ran |^=+ .* in [0-9.]+s|^(OK|FAILED)' "$work/$way.log" | tail -n 2 | paste -sd ' ')"
  outcomes "$work/$way.log" >"$work/$way.outcomes"
}

plugins=$H5ZARR_PLUGIN_DIR
if [ "$suite" = netcdf4 ]; then
  folder=$2
  # It brings filters in a folder of its own, and takes it only where nobody named one.
  plugins=$plugins:$("$H5ZARR_PYTHON" -c 'import netCDF4, os; print(os.environ["HDF5_PLUGIN_PATH"])') || exit 1
fi
go alone PYTHONUNBUFFERED=1
go ours PYTHONUNBUFFERED=1 HDF5_PLUGIN_PATH="$plugins" HDF5_VOL_CONNECTOR=zarr
echo "skipped, and why:"
sed -nE 's/^.*(\.\.\. |::[^ ]+ )(skipped|SKIPPED) *//p' "$work/ours.outcomes" | LC_ALL=C sort | uniq -c
diff "$work/alone.outcomes" "$work/ours.outcomes" && grep -qE '(ok|PASSED)$' "$work/ours.outcomes"
