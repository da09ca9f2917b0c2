"""Several copies of HDF5 in one process (each wheel brings its own), each with an image of the plugin."""
import pytest

from support import run_python

CODE = """
import sys
import numpy as np
store, native = sys.argv[1:3]
names = sys.argv[3].split(",")
for name in names:
    __import__(name)
import h5py, zarr
with h5py.File(store, "w") as f:
    f["a"] = np.arange(1000)
if "tables" in names:
    import tables
    with tables.open_file(native + ".pt", "w") as f:
        f.create_array("/", "b", np.arange(10))
    with tables.open_file(native + ".pt", "r") as f:
        assert f.root.b[...].tolist() == list(range(10))
if "netCDF4" in names:
    import netCDF4
    with netCDF4.Dataset(native + ".nc", "w") as f:
        f.createDimension("x", 10)
        f.createVariable("c", "i4", ("x",), zlib=True)[:] = np.arange(10)
    with netCDF4.Dataset(native + ".nc") as f:
        assert f["c"][:].tolist() == list(range(10))
with h5py.File(store, "r+") as f:
    assert f["a"][::100].tolist() == list(range(0, 1000, 100))
    f["d"] = 5
assert zarr.open_array(store + "/a", mode="r")[...].tolist() == list(range(1000))
print("good")
"""


@pytest.mark.parametrize("names", ["h5py,tables,netCDF4", "netCDF4,tables,h5py", "tables,h5py", "h5py,netCDF4"])
def test_every_host_works_in_whatever_order_they_come(store, tmp_path, names):
    for name in names.split(","):
        pytest.importorskip(name, reason=f"{name} is not in this environment") if name != "h5py" else None
    assert run_python(CODE, store, tmp_path / "native", names).strip() == "good"


def test_loading_the_plugin_changes_nothing_for_a_program_that_never_uses_it(tmp_path):
    code = """
import h5py, sys
h5py.h5z.filter_avail(12345)
with h5py.File(sys.argv[1], "w") as f:
    f["a"] = [1, 2]
assert h5py.File(sys.argv[1])["a"][1] == 2
"""
    assert run_python(code, tmp_path / "x.h5", connector=None) == ""
