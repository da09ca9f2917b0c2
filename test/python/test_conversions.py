"""Numbers of one type in memory and another in the store."""
import h5py
import numpy as np
import pytest

from support import run_python


@pytest.mark.parametrize("stored", ["<f8", "<f4", ">f8", ">f4", ">i2", "<u4", ">i8"])
def test_numbers_convert_as_in_hdf5(store, tmp_path, stored):
    """Byte order and precision, whole, strided and by points, beside the same on an HDF5 file."""
    rng = np.random.default_rng(3)
    values = np.r_[rng.normal(0, 1e4, 29_994), [0, -0.0, 1, -1, 2, 3]].reshape(300, 100)
    if stored[1] == "f":
        values[0, :8] = [np.nan, np.inf, -np.inf, 1e308, -1e308, 3.4028235e38, 3.40282357e38, 1e-320]
    with np.errstate(all="ignore"):
        values = np.abs(values).astype(stored) if stored[1] == "u" else values.astype(stored)
    kind = stored[1]
    others = {"f": ["<f4", "<f8", ">f4", ">f8"]}.get(kind, [f"<{stored[1:]}", f">{stored[1:]}", "<f8"])
    with h5py.File(store, "w") as zarr, h5py.File(tmp_path / "x.h5", "w") as native:
        for f in (zarr, native):
            f.create_dataset("d", data=values, chunks=(70, 33), compression="gzip")
            f.create_dataset("w", (300, 100), stored, chunks=(70, 33))
        for memory in others:
            for picked in (np.s_[...], np.s_[3:200:7, 5:90], np.s_[10], np.s_[[1, 4, 100], 20:40]):
                got = [f["d"].astype(memory)[picked] for f in (zarr, native)]
                assert got[0].dtype == got[1].dtype and got[0].tobytes() == got[1].tobytes()
            whole = native["d"].astype(memory)[...]
            for f in (zarr, native):
                f["w"][...] = whole
                f["w"][5:250:3, ::2] = whole[5:250:3, ::2][::-1]
            assert zarr["w"][...].tobytes() == native["w"][...].tobytes()


@pytest.mark.parametrize("base", ["i1", "<i2", ">u2", ">i4"])
def test_compounds_of_enumerations_in_any_byte_order(tmp_path, base):
    named = np.dtype([("x", ">f4"), ("e", h5py.enum_dtype({"A": 0, "B": 5}, basetype=base))])
    values = np.array([(1.5, 5), (2.5, 0), (3.5, 77)], np.dtype([("x", ">f4"), ("e", base)]))  # 77 has no name
    for kind in (".h5", ".zarr"):
        with h5py.File(tmp_path / ("f" + kind), "w") as f:
            f.create_dataset("d", (3,), named)[...] = values
        with h5py.File(tmp_path / ("f" + kind), "r") as f:
            assert f["d"][...].tolist() == values.tolist()


BYTES_OF_BIG_ENDIAN = """
import sys
import h5py, numpy as np
path, sign = sys.argv[1:]
big, little = ((h5py.h5t.STD_I8BE, h5py.h5t.STD_I8LE), (h5py.h5t.STD_U8BE, h5py.h5t.STD_U8LE))[sign == "u"]
kind = sign + "1"
values = np.arange(1 << 20).astype(kind).reshape(1024, 1024)
with h5py.File(path, "w") as f:
    space = h5py.h5s.create_simple(values.shape)
    chunked = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    chunked.set_chunk((100, 1024))
    chunked.set_deflate(1)
    for name, stored in ((b"big", big), (b"little", little)):
        made = h5py.h5d.create(f.id, name, stored, space, dcpl=chunked)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, values, mtype=little if stored == big else big)
with h5py.File(path) as f:
    for name in (b"big", b"little"):
        for memory in (big, little):
            read = np.zeros_like(values)
            h5py.h5d.open(f.id, name).read(h5py.h5s.ALL, h5py.h5s.ALL, read, mtype=memory)
            assert (read == values).all(), (name, memory)
"""


@pytest.mark.parametrize("sign", ["u", "i"])
@pytest.mark.parametrize("suffix", [".zarr", ".h5"])
def test_bytes_of_either_order_are_the_same_numbers(tmp_path, suffix, sign):
    run_python(BYTES_OF_BIG_ENDIAN, tmp_path / ("x" + suffix), sign)
