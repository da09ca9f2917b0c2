"""Filters that change values: what is stored is what HDF5 gives back after a round trip, for every
reader, and the filter is still reported."""

import h5py
import numpy as np
import pytest

from support import READERS, assert_equal, run_python

SHAPE, CHUNKS = (23, 17), (8, 5)  # chunks stand over on both sides


def round_trip(name, data, dtype=None, **how):
    with h5py.File(name, "w") as f:
        d = f.create_dataset("a", data.shape, dtype or data.dtype, chunks=CHUNKS, **how)
        d[...] = data
        f.create_dataset("by_rows", data.shape, dtype or data.dtype, chunks=CHUNKS, **how)
    for row in range(0, SHAPE[0], 3):
        with h5py.File(name, "r+") as f:
            f["by_rows"][row:row + 3] = data[row:row + 3]
    with h5py.File(name, "r") as f:
        return f["a"][...], f["by_rows"][...], f["a"].id.get_create_plist().get_filter(0)


def integers(dtype, low, high):
    values = np.random.default_rng(5).integers(low, high, SHAPE, dtype=np.dtype(dtype).newbyteorder("="))
    return values.astype(dtype)


def check(tmp_path, store, data, **how):
    native, native_rows, native_filter = round_trip(tmp_path / "x.h5", data, **how)
    ours, our_rows, our_filter = round_trip(store, data, **how)
    assert_equal(ours, native)
    assert_equal(our_rows, native_rows)
    assert our_filter[:2] == native_filter[:2]
    assert our_filter[2][:9] == native_filter[2][:9]  # HDF5 1.14 leaves the words behind to chance
    for reader in READERS.values():
        assert_equal(reader(store, "a"), native)
    return native


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", ">i2", "u2", "i4", "<u4", ">u4", "i8", ">i8", "u8"])
@pytest.mark.parametrize("bits", [1, 3, 7])
@pytest.mark.parametrize("fill", [None, 2])
def test_scale_offset_keeps_the_low_bits(tmp_path, store, dtype, bits, fill):
    low = -40 if np.dtype(dtype).kind == "i" else 0
    how = {} if fill is None else {"fillvalue": fill}
    native = check(tmp_path, store, integers(dtype, low, 80), scaleoffset=bits, **how)
    if bits < 7:
        assert (native != integers(dtype, low, 80)).any()


def test_scale_offset_of_integers_without_bits_loses_nothing(tmp_path, store):
    data = integers("i4", -1000, 1000)
    assert_equal(check(tmp_path, store, data, scaleoffset=0), data)


@pytest.mark.parametrize("dtype", ["f4", "f8", ">f8"])
@pytest.mark.parametrize("digits", [0, 1, 3])
@pytest.mark.parametrize("fill", [None, 2.5])
def test_scale_offset_keeps_decimal_digits(tmp_path, store, dtype, digits, fill):
    data = (np.random.default_rng(7).random(SHAPE) * 100 - 50).astype(dtype)
    data[3:9, 2:7] = 2.5
    data[0, 0] = 2.5 + 1e-6
    how = {} if fill is None else {"fillvalue": fill}
    native = check(tmp_path, store, data, scaleoffset=digits, **how)
    assert (native != data).any()


def test_values_are_whole_until_the_chunk_is_stored(store):
    with h5py.File(store, "w") as f:
        d = f.create_dataset("a", (4,), "f8", chunks=(4,), scaleoffset=1, fillvalue=9)
        d[1], d[2] = 1.23456, 2.71828
        assert d[2] == 2.71828
    with h5py.File(store, "r") as f:
        assert f["a"][2] == pytest.approx(1.23456 + 1.5)


def nbit_file(name, data):
    tid = h5py.h5t.STD_I32LE.copy()
    tid.set_precision(13)
    tid.set_offset(3)
    with h5py.File(name, "w") as f:
        dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        dcpl.set_chunk(CHUNKS)
        dcpl.set_filter(h5py.h5z.FILTER_NBIT, 0, ())
        space = h5py.h5s.create_simple(data.shape)
        did = h5py.h5d.create(f.id, b"a", tid, space, dcpl)
        # Raw elements, with rubbish in the bits that mean nothing.
        did.write(h5py.h5s.ALL, h5py.h5s.ALL, data, tid)
    with h5py.File(name, "r") as f:
        raw, values = np.empty_like(data), np.empty_like(data)
        f["a"].id.read(h5py.h5s.ALL, h5py.h5s.ALL, raw, tid)
        f["a"].id.read(h5py.h5s.ALL, h5py.h5s.ALL, values, h5py.h5t.STD_I32LE)
        return raw, values, f["a"].id.get_create_plist().get_filter(0)[0]


def test_nbit_drops_the_bits_without_meaning(tmp_path, store):
    data = integers("i4", -2**31, 2**31 - 1)
    native = nbit_file(tmp_path / "x.h5", data)
    ours = nbit_file(store, data)
    assert_equal(ours[0], native[0])
    assert_equal(ours[1], native[1])
    assert ours[2] == native[2] == h5py.h5z.FILTER_NBIT
    assert (native[0] != data).any()


@pytest.mark.skipif(not h5py.h5z.filter_avail(h5py.h5z.FILTER_SZIP), reason="this HDF5 has no szip")
def test_szip_is_reported_and_loses_nothing(store):
    data = integers("i4", 0, 1000)
    with h5py.File(store, "w") as f:
        f.create_dataset("a", data=data, chunks=CHUNKS, compression="szip")
    with h5py.File(store, "r") as f:
        assert f["a"].compression == "szip"
        assert_equal(f["a"][...], data)
    for reader in READERS.values():
        assert_equal(reader(store, "a"), data)


@pytest.mark.parametrize("dtype, fill", [("f4", 4.0), ("i2", 7), ("S4", b"text")])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_fill_value_that_is_never_filled_in_is_only_kept(tmp_path, dtype, fill, zarr_format):
    store = tmp_path / "x.zarr"
    code = f"""
import h5py, sys
h5py.File(sys.argv[1], "w").create_dataset("a", (6,), "{dtype}", chunks=(3,), fillvalue={fill!r}, fill_time="never")
"""
    run_python(code, store, connector=f"zarr zarr_format={zarr_format}")
    with h5py.File(store, "r") as f:
        assert f["a"].id.get_create_plist().get_fill_time() == h5py.h5d.FILL_TIME_NEVER
        assert f["a"].fillvalue == fill
        assert (f["a"][...] == np.zeros(6, dtype)).all()
    for reader in READERS.values() if dtype != "S4" else ():
        assert (reader(store, "a") == np.zeros(6, dtype)).all()
