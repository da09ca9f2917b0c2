"""External storage: HDF5 reads and writes a dataset's own flat files; readers of Zarr find a copy."""
import os

import h5py
import numpy as np
import pytest

from support import READERS, assert_equal, documents, numbers, run_python

DATA = numbers((6, 10), "i4")


def create(f, name, files, shape=(6, 10), dtype="i4", **how):
    return f.create_dataset(name, shape, dtype, external=files, **how)


@pytest.mark.parametrize("reader", READERS)
def test_written_data_is_in_the_files_and_in_the_store(store, tmp_path, reader):
    with h5py.File(store, "w") as f:
        d = create(f, "a", [(str(tmp_path / "raw"), 4, 120), (str(tmp_path / "more"), 0, h5py.h5f.UNLIMITED)])
        d[...] = DATA
        assert_equal(d[1:4, ::3], DATA[1:4, ::3])
    assert (tmp_path / "raw").read_bytes()[4:] + (tmp_path / "more").read_bytes() == DATA.tobytes()
    assert_equal(READERS[reader](store, "a"), DATA)


@pytest.mark.parametrize("reader", READERS)
def test_data_that_was_there_is_read_and_copied(store, tmp_path, reader):
    (tmp_path / "raw").write_bytes(DATA.tobytes())
    with h5py.File(store, "w") as f:
        assert_equal(create(f, "a", str(tmp_path / "raw"))[...], DATA)
    assert_equal(READERS[reader](store, "a"), DATA)


def test_another_process_reads_the_files_and_reports_them(store, tmp_path):
    with h5py.File(store, "w") as f:
        create(f, "a", [(str(tmp_path / "raw"), 8, 240)])[...] = DATA
    with open(tmp_path / "raw", "r+b") as raw:
        raw.seek(8)
        raw.write(np.int32(-5).tobytes())
    code = """
import sys, h5py
with h5py.File(sys.argv[1]) as f:
    d = f["a"]
    print(d.external, d.chunks, d[0, :2], d.id.get_storage_size())
"""
    assert run_python(code, store) == f"[('{tmp_path / 'raw'}', 8, 240)] None [-5  8] 240\n"


@pytest.mark.parametrize("prefix", ["${ORIGIN}", "given"])
def test_relative_names_follow_the_prefix(store, tmp_path, prefix):
    folder = os.path.dirname(os.path.abspath(store)) if prefix == "${ORIGIN}" else str(tmp_path / "given")
    os.makedirs(folder, exist_ok=True)
    prefix = prefix if prefix == "${ORIGIN}" else folder
    with h5py.File(store, "w") as f:
        create(f, "a", "raw", efile_prefix=prefix)[...] = DATA
        create(f, "b", "raw", efile_prefix=prefix)
    assert (open(os.path.join(folder, "raw"), "rb").read()) == DATA.tobytes()
    with h5py.File(store) as f:
        dapl = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
        dapl.set_efile_prefix(prefix.encode())
        assert_equal(h5py.Dataset(h5py.h5d.open(f.id, b"b", dapl))[...], DATA)
    assert_equal(READERS["zarr-python"](store, "b"), DATA)


def test_without_the_files_a_read_fails_as_in_hdf5(store, tmp_path):
    outcomes = []
    for name in (tmp_path / "x.h5", store):
        with h5py.File(name, "w") as f:
            d = create(f, "a", str(tmp_path / "missing"))
            with pytest.raises(OSError) as error:
                d[...]
            outcomes.append(str(error.value))
    assert outcomes[0] == outcomes[1]
    assert "copied" not in documents(store)["a/zarr.json"]["attributes"]["_hdf5"]["external"]


def test_files_that_came_later_are_copied_when_next_opened_for_writing(store, tmp_path):
    with h5py.File(store, "w") as f:
        create(f, "a", str(tmp_path / "raw"))
    (tmp_path / "raw").write_bytes(DATA.tobytes())
    with h5py.File(store, "r+") as f:
        f["a"]
    assert_equal(READERS["zarr-python"](store, "a"), DATA)


def test_an_extendible_one_grows_into_its_file(store, tmp_path):
    (tmp_path / "raw").write_bytes(np.concatenate([DATA, DATA + 100]).tobytes())
    with h5py.File(store, "w") as f:
        d = create(f, "a", str(tmp_path / "raw"), maxshape=(None, 10))
        assert d.chunks is None and d.maxshape == (None, 10)
    with h5py.File(store, "r+") as f:
        assert f["a"].maxshape == (None, 10)
        f["a"].id.set_extent((12, 10))
        assert_equal(f["a"][6:], DATA + 100)
    assert_equal(READERS["zarr-python"](store, "a"), np.concatenate([DATA, DATA + 100]))


def test_byte_order_and_compounds_are_those_of_the_file(store, tmp_path):
    dtype = np.dtype([("a", ">i2"), ("b", "<f8")], align=True)
    data = np.zeros(5, dtype)
    data["a"], data["b"] = range(5), np.arange(5) / 4
    (tmp_path / "raw").write_bytes(data.tobytes())
    with h5py.File(store, "w") as f:
        d = create(f, "a", str(tmp_path / "raw"), (5,), dtype)
        np.testing.assert_array_equal(d["b"], data["b"])
    got = READERS["zarr-python"](store, "a")
    np.testing.assert_array_equal(got["a"], data["a"])
    np.testing.assert_array_equal(got["b"], data["b"])


def test_large_files_are_copied_in_pieces(store, tmp_path):
    data = np.arange(3_000_000, dtype="f4").reshape(3, 1_000_000)
    (tmp_path / "raw").write_bytes(data.tobytes())
    with h5py.File(store, "w") as f:
        create(f, "a", str(tmp_path / "raw"), data.shape, "f4")
    assert_equal(READERS["zarr-python"](store, "a"), data)


def test_variable_length_is_refused(store, tmp_path):
    with h5py.File(store, "w") as f, pytest.raises(Exception, match="variable length"):
        create(f, "a", str(tmp_path / "raw"), (3,), h5py.string_dtype())


def test_a_copy_names_the_same_files(store, tmp_path):
    (tmp_path / "raw").write_bytes(DATA.tobytes())
    with h5py.File(store, "w") as f, h5py.File(tmp_path / "x.h5", "w") as native:
        create(f, "a", str(tmp_path / "raw"))
        for target in (f, native):
            f.copy("a", target, "b")
            assert target["b"].external == f["a"].external
            assert_equal(target["b"][...], DATA)
    assert_equal(READERS["zarr-python"](store, "b"), DATA)


def test_damaged_lists_of_files_are_an_error(store, tmp_path):
    import zarr

    array = zarr.create_array(store, name="a", shape=(4,), dtype="i4")
    array.attrs["_hdf5"] = {"version": 1, "layout": "contiguous", "external": {"files": [["raw", -1, 16]]}}
    with h5py.File(store) as f, pytest.raises(Exception, match="_hdf5.external"):
        f["a"]
