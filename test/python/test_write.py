"""Stores written through h5py, read back by every Zarr reader, also without our own attributes."""
import os

import h5py
import numpy as np
import pytest

from support import READERS, assert_equal, documents, forget_hdf5, numbers, read_zarr_python

SHAPE, CHUNKS = (23, 17), (8, 10)
NUMBER_TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16", ">i4", ">f8"]
FILTERS = {
    "none": {},
    "gzip": {"compression": "gzip", "compression_opts": 4},
    "shuffle and gzip": {"compression": "gzip", "shuffle": True},
    "fletcher32": {"fletcher32": True},
    "shuffle, gzip and fletcher32": {"compression": "gzip", "shuffle": True, "fletcher32": True},
    "lzf": {"compression": "lzf"},
    "scaleoffset": {"scaleoffset": 0},
}
both = pytest.mark.parametrize("forgotten", [False, True], ids=["whole", "without _hdf5"])
every_reader = pytest.mark.parametrize("reader", READERS)


def write(store, data, **how):
    with h5py.File(store, "w") as f:
        f.create_dataset("g/a", data=data, **how)


def assert_read_by(reader, store, data, forgotten=False, name="g/a"):
    if forgotten:
        forget_hdf5(store)
    assert_equal(READERS[reader](store, name), data)


@both
@every_reader
@pytest.mark.parametrize("dtype", NUMBER_TYPES)
def test_every_number_type(store, dtype, reader, forgotten):
    data = numbers(SHAPE, dtype)
    write(store, data, chunks=CHUNKS)
    assert_read_by(reader, store, data, forgotten)


@both
@every_reader
@pytest.mark.parametrize("filters", FILTERS)
def test_every_filter_of_h5py(store, filters, reader, forgotten):
    data = numbers(SHAPE, "i4")
    write(store, data, chunks=CHUNKS, **FILTERS[filters])
    assert_read_by(reader, store, data, forgotten)


@pytest.mark.parametrize("filters", FILTERS)
def test_filters_are_reported_as_they_were_set(store, filters):
    write(store, numbers(SHAPE, "i4"), chunks=CHUNKS, **FILTERS[filters])
    with h5py.File(store, "r") as f:
        for name, value in FILTERS[filters].items():
            assert getattr(f["g/a"], name) == value
        assert f["g/a"].chunks == CHUNKS


@every_reader
@pytest.mark.parametrize("shape", [(), (0,), (0, 4), (1,), (7,), (2, 3, 4, 5)])
def test_contiguous_datasets_of_every_shape(store, shape, reader):
    data = numbers(shape, "f8")
    write(store, data)
    assert_read_by(reader, store, data)
    with h5py.File(store, "r") as f:
        assert f["g/a"].chunks is None


@every_reader
def test_fill_value_of_chunks_never_written(store, reader):
    with h5py.File(store, "w") as f:
        f.create_dataset("g/a", SHAPE, "i4", chunks=CHUNKS, fillvalue=-5)[9, 11] = 1
    expected = np.full(SHAPE, -5, "i4")
    expected[9, 11] = 1
    assert_read_by(reader, store, expected)
    chunks = [name for _, _, names in os.walk(os.path.join(store, "g/a/c")) for name in names]
    assert len(chunks) == 1


@pytest.mark.parametrize("reader", ["zarr-python", "zarrs"])
@both
def test_variable_strings(store, reader, forgotten):
    texts = ["", "a", "zwölf", "数据", "x" * 1000]
    with h5py.File(store, "w") as f:
        f.create_dataset("g/a", data=texts, dtype=h5py.string_dtype(), chunks=(2,))
    if forgotten:
        forget_hdf5(store)
    assert READERS[reader](store, "g/a").tolist() == texts
    with h5py.File(store, "r") as f:
        assert f["g/a"].asstr()[...].tolist() == texts


@pytest.mark.filterwarnings("ignore")
@both
def test_fixed_strings(store, forgotten):
    data = np.array([b"", b"ab", b"abcde"], "S5")
    write(store, data)
    assert_read_by("zarr-python", store, data, forgotten)


@pytest.mark.filterwarnings("ignore")
@both
def test_compound_types(store, forgotten):
    data = np.array([(1, 2.5, -3), (4, -5.25, 6)], [("x", "<i4"), ("y", "<f8"), ("z", "<i2")])
    write(store, data)
    if forgotten:
        forget_hdf5(store)
    assert read_zarr_python(store, "g/a").tolist() == data.tolist()
    with h5py.File(store, "r") as f:
        assert_equal(f["g/a"][...], data)


HDF5_ONLY = {
    "enum": (np.array([0, 2, 1], "u1"), h5py.enum_dtype({"red": 0, "green": 1, "blue": 2}, "u1")),
    "opaque": (np.array([b"ab\0c", b"\0\0\0\1"], "V4"), None),
    "nested compound": (np.array([((1, 2), 3.5)], [("p", [("x", "<i4"), ("y", "<i4")]), ("v", "<f8")]), None),
    "array member": (np.array([([1, 2, 3],)], [("v", "<i2", (3,))]), None),
    "latin string": (np.array(["é".encode("latin1")], "S1"), None),
    "float16": (numbers((4,), "f2"), None),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", HDF5_ONLY)
def test_types_that_only_hdf5_has_come_back_whole(store, kind):
    data, dtype = HDF5_ONLY[kind]
    write(store, data, dtype=dtype)
    with h5py.File(store, "r") as f:
        assert f["g/a"].dtype == (dtype or data.dtype)
        assert f["g/a"][...].tobytes() == data.tobytes()
        if kind == "enum":
            assert h5py.check_enum_dtype(f["g/a"].dtype) == {"red": 0, "green": 1, "blue": 2}


def test_variable_sequences_come_back(store):
    rows = [np.arange(n, dtype="i4") for n in (3, 0, 5)]
    with h5py.File(store, "w") as f:
        d = f.create_dataset("g/a", (3,), h5py.vlen_dtype("i4"))
        for position, row in enumerate(rows):
            d[position] = row
    with h5py.File(store, "r") as f:
        for got, row in zip(f["g/a"][...], rows):
            assert_equal(got, row)


def test_links_and_references_come_back(store):
    with h5py.File(store, "w") as f:
        f["g/a"] = np.arange(3)
        f["hard"] = f["g/a"]
        f["soft"] = h5py.SoftLink("/g/a")
        f["external"] = h5py.ExternalLink("other.h5", "/there")
        f["ref"] = f["g/a"].ref
        f["g"].attrs["ref"] = f["g/a"].ref
    with h5py.File(store, "r") as f:
        assert f["hard"] == f["g/a"]
        assert f.get("soft", getlink=True).path == "/g/a"
        assert f["soft"][...].tolist() == [0, 1, 2]
        link = f.get("external", getlink=True)
        assert (link.filename, link.path) == ("other.h5", "/there")
        assert f[f["ref"][()]].name in ("/g/a", "/hard")
        assert f[f["g"].attrs["ref"]] == f["g/a"]


def test_a_dataset_without_a_name_is_written_once_it_has_one(store):
    with h5py.File(store, "w") as f:
        nameless = f.create_dataset(None, data=np.arange(5))
        dropped = f.create_dataset(None, data=np.arange(6))
        f["named"] = nameless
        del nameless, dropped
    assert read_zarr_python(store, "named").tolist() == [0, 1, 2, 3, 4]
    assert sorted(documents(store)) == ["named/zarr.json", "zarr.json"]


def test_moved_and_deleted_objects(store):
    with h5py.File(store, "w") as f:
        f["old"] = np.arange(3)
        f["g/deep"] = np.arange(4)
        f["gone"] = np.arange(5)
    with h5py.File(store, "r+") as f:
        f.move("old", "new")
        f.move("g", "h")
        del f["gone"]
    assert sorted(documents(store)) == ["h/deep/zarr.json", "h/zarr.json", "new/zarr.json", "zarr.json"]
    assert read_zarr_python(store, "h/deep").tolist() == [0, 1, 2, 3]


def test_every_group_and_array_has_its_own_document(store):
    write(store, np.arange(3))
    kinds = {key: document["node_type"] for key, document in documents(store).items()}
    assert kinds == {"zarr.json": "group", "g/zarr.json": "group", "g/a/zarr.json": "array"}


def test_writing_to_a_foreign_array_keeps_its_metadata(store):
    import zarr

    a = zarr.create_array(os.path.join(store, "a"), shape=SHAPE, dtype="i4", chunks=(4, 5), shards=CHUNKS,
                          attributes={"kept": {"deep": [1, None]}}, dimension_names=["y", "x"])
    zarr.open_group(store, mode="a")
    before = documents(store)
    with h5py.File(store, "r+") as f:
        f["a"][3:20, 2:12] = numbers((17, 10), "i4")
    assert documents(store) == before
    expected = np.zeros(SHAPE, "i4")
    expected[3:20, 2:12] = numbers((17, 10), "i4")
    assert_equal(a[...], expected)


def test_data_are_stored_when_nobody_closes(store):
    from support import run_python

    run_python("import h5py, sys; f = h5py.File(sys.argv[1], 'w'); f['a'] = [1, 2, 3]", store)
    assert read_zarr_python(store, "a").tolist() == [1, 2, 3]


def test_flush_stores_what_was_written(store):
    with h5py.File(store, "w") as f:
        f["a"] = np.arange(10)
        f.attrs["x"] = 1
        f.flush()
        assert read_zarr_python(store, "a").tolist() == list(range(10))
        assert documents(store)["zarr.json"]["attributes"]["x"] == 1


def test_native_files_stay_native(tmp_path):
    path = tmp_path / "plain.h5"
    with h5py.File(path, "w") as f:
        f["a"] = np.arange(3)
    assert path.read_bytes()[:8] == b"\x89HDF\r\n\x1a\n"
    with h5py.File(path, "r") as f:
        assert f["a"][...].tolist() == [0, 1, 2]


def test_copy_between_a_native_file_and_a_store(tmp_path):
    data = numbers(SHAPE, "f4")
    with h5py.File(tmp_path / "n.h5", "w") as native, h5py.File(tmp_path / "z.zarr", "w") as store:
        native.create_dataset("g/a", data=data, chunks=CHUNKS, compression="gzip")
        native.copy("g", store)
        store.copy("g/a", native, "back")
        assert_equal(native["back"][...], data)
    assert_equal(read_zarr_python(str(tmp_path / "z.zarr"), "g/a"), data)


def test_sharded_strings_come_back(store):
    texts = ["a", "bb", "", "d"]
    with h5py.File(store, "w") as f:
        f.create_dataset("s", data=texts, dtype=h5py.string_dtype(), chunks=(4,), compression=480,
                         compression_opts=(1, 1, 2, 3 | 3 << 8))
    with h5py.File(store, "r") as f:
        assert f["s"].asstr()[...].tolist() == texts


def test_elements_that_no_reader_takes_are_refused(store):
    with h5py.File(store, "w") as f:
        with pytest.raises((OSError, RuntimeError, ValueError), match="at most 256 MiB"):
            f.create_dataset("x", (1,), dtype=f"S{(256 << 20) + 1}")
        f.create_dataset("y", (1,), dtype="S1000")


def test_large_elements_come_back(store):
    with h5py.File(store, "w") as f:
        f.create_dataset("x", (3,), dtype=f"S{100_000_000}", chunks=True, compression="gzip")[1] = b"a" * 99_999_999
    with h5py.File(store, "r") as f:
        assert f["x"].chunks == (1,) and f["x"][0] == b"" and f["x"][1] == b"a" * 99_999_999
