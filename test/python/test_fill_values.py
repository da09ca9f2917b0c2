"""Fill values that Zarr has no word for, and datasets of nothing but fill."""
import ctypes
import json

import h5py
import numpy as np
import pytest
from h5py import h5d, h5p, h5s, h5t

from libhdf5 import HID, call
from support import READERS, forget_hdf5, run, run_python, tool

ROW = np.array([[1, -2, 3], [4, 5, 6]], "<i2")


def make(f, name, shape, fill=ROW, chunks=None, maxshape=None, setup=lambda plist: None):
    """A dataset whose elements are arrays that are filled with `fill`."""
    made, plist = h5t.array_create(h5t.py_create(fill.dtype), fill.shape), h5p.create(h5p.DATASET_CREATE)
    if chunks:
        plist.set_chunk(chunks)
    setup(plist)
    call("H5Pset_fill_value", HID(plist.id), HID(made.id), ctypes.c_char_p(fill.tobytes()))
    most = tuple(h5s.UNLIMITED if n is None else n for n in maxshape or shape)
    return h5py.Dataset(h5d.create(f.id, name.encode(), made, h5s.create_simple(shape, most), plist))


def fill_of(dataset):
    """h5py has no words for it."""
    made, plist = dataset.id.get_type(), dataset.id.get_create_plist()
    value = ctypes.create_string_buffer(ROW.nbytes)
    call("H5Pget_fill_value", HID(plist.id), HID(made.id), value)
    return np.frombuffer(value.raw, ROW.dtype).reshape(ROW.shape)


SETUPS = {"plain": lambda p: None, "deflate": lambda p: p.set_deflate(4), "shuffle": lambda p: (p.set_shuffle(), p.set_deflate(4)),
          "shards": lambda p: p.set_filter(480, h5py.h5z.FLAG_OPTIONAL, (1, 1, 2, 2 | 6 << 8))}


def steps(path, setup):
    """What is read at every step."""
    seen = []
    with h5py.File(path, "w") as f:
        d = make(f, "grows", (5,), chunks=(4,), maxshape=(None,), setup=setup)
        make(f, "untouched", (3, 2), chunks=(2, 2))
        make(f, "contiguous", (3,))
        seen.append(d[:])
        d[1] = 7 * ROW
        seen += [d[:], d[::2], d[4]]
    with h5py.File(path, "r+") as f:
        d = f["grows"]
        seen.append(d[:])
        d.resize((11,))
        seen.append(d[3:])
        d[9] = -ROW
        d.resize((2,))
        d.resize((10,))
        seen += [d[:], f["untouched"][:], f["contiguous"][:]]
    with h5py.File(path, "r") as f:
        return seen + [f[name][()] for name in f] + [fill_of(f[name]) for name in f]


@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize("zarr_format", [3, 2])
def test_elements_of_arrays_are_filled_each_with_its_own_value(tmp_path, setup, zarr_format, monkeypatch):
    if setup == "shards" and zarr_format == 2:
        pytest.skip("Zarr v2 has no shards")
    monkeypatch.setenv("H5ZARR_ZARR_FORMAT", str(zarr_format))
    native, stored = (steps(tmp_path / name, SETUPS[setup]) for name in ("a.h5", "a.zarr"))
    for one, other in zip(native, stored, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (native[0] == ROW).all()


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kept", [True, False])
def test_every_reader_sees_them_also_where_nothing_was_written(store, reader, kept):
    with h5py.File(store, "w") as f:
        make(f, "a", (5, 3), chunks=(2, 2))[3, 0] = 0 * ROW
    with h5py.File(store, "r+") as f:
        make(f, "grown", (1,), chunks=(2,), maxshape=(None,)).resize((7,))
    if not kept:
        forget_hdf5(store)
    expected = np.broadcast_to(ROW, (5, 3, 2, 3)).copy()
    expected[3, 0] = 0
    np.testing.assert_array_equal(READERS[reader](store, "a"), expected)
    np.testing.assert_array_equal(READERS[reader](store, "grown"), np.broadcast_to(ROW, (7, 2, 3)))


@pytest.mark.parametrize("selected", [[0, 1, 2, 5, 6, 7, 8, 30], list(range(39))[1:30] + [33, 38], [3, 4, 9]])
def test_elements_that_are_not_stored_yet_are_filled_wherever_a_selection_begins(store, selected):
    with h5py.File(store, "w") as f:
        d = make(f, "a", (40,), chunks=(20,))
        np.testing.assert_array_equal(d[selected], np.broadcast_to(ROW, (len(selected), 2, 3)))
        e = make(f, "b", (6, 40), chunks=(3, 40))
        space, memory = e.id.get_space(), h5py.h5s.create_simple((3 * 17 + 5,))
        space.select_hyperslab((0, 3), (3, 17))
        space.select_hyperslab((4, 7), (1, 5), op=h5py.h5s.SELECT_OR)
        found = np.zeros((3 * 17 + 5, *ROW.shape), ROW.dtype)
        e.id.read(memory, space, found, e.id.get_type())
        np.testing.assert_array_equal(found, np.broadcast_to(ROW, found.shape))


def test_what_never_fills_is_kept_and_fills_nothing(store):
    with h5py.File(store, "w") as f:
        make(f, "a", (3,), chunks=(2,), setup=lambda p: p.set_fill_time(h5d.FILL_TIME_NEVER))
    with h5py.File(store) as f:
        assert (fill_of(f["a"]) == ROW).all() and f["a"].id.get_num_chunks() == 0


def test_a_dataset_too_large_to_be_stored_whole_is_refused(store):
    with h5py.File(store, "w") as f:
        with pytest.raises(ValueError, match="whose array elements differ"):
            make(f, "a", (1 << 40,), chunks=(1024,))
        d = make(f, "b", (2,), chunks=(1024,), maxshape=(None,))
        with pytest.raises(RuntimeError, match="whose array elements differ"):
            d.resize((1 << 40,))
        d.resize((3,))
    with h5py.File(store) as f:
        assert list(f) == ["b"] and (f["b"][:] == ROW).all()


@pytest.mark.parametrize("elements", ["[1, 2]", "[1, 2, 3, 4, 5, \"x\"]", "7", "[1, 2, 3, 4, 5, 6, 7]"])
def test_other_values_than_the_type_has_are_an_error(store, elements):
    with h5py.File(store, "w") as f:
        make(f, "a", (3,), chunks=(2,))
    document = f"{store}/a/zarr.json"
    said = json.load(open(document))
    said["attributes"]["_hdf5"]["fill"]["elements"] = json.loads(elements)
    json.dump(said, open(document, "w"))
    with h5py.File(store) as f, pytest.raises((KeyError, OSError)):
        f["a"]


# --- nothing but fill ---------------------------------------------------------------------------------------------

FILLED = """
import h5py, numpy as np, sys
with h5py.File(sys.argv[1], "w") as f:
    f["zeros"] = np.zeros((4, 5))
    f.create_dataset("sevens", data=np.full((8,), 7, "i4"), chunks=(4,), fillvalue=7, compression="gzip")
    f.create_dataset("part", (9,), "i4", chunks=(4,))[:2] = 0
    f.create_dataset("never", (9,), "i4", chunks=(4,))
    f.create_dataset("never_contiguous", (9,), "i4")
    f["scalar"] = 0
    storage = {name: f[name].id.get_storage_size() > 0 for name in f}
with h5py.File(sys.argv[1]) as f:
    assert storage == {name: f[name].id.get_storage_size() > 0 for name in f}
    print(sorted(storage.items()))
    for name in f:
        print(name, f[name].id.get_space_status() > 0)
"""


@pytest.mark.parametrize("zarr_format", [3, 2])
def test_what_was_written_has_storage_as_in_an_hdf5_file(tmp_path, zarr_format):
    native = run_python(FILLED, tmp_path / "a.h5", connector=None)
    assert run_python(FILLED, tmp_path / "a.zarr", H5ZARR_ZARR_FORMAT=str(zarr_format)) == native
    assert "('never', False)" in native and "('sevens', True)" in native
    with h5py.File(tmp_path / "a.zarr") as f:
        assert not any(f[name].id.get_num_chunks() for name in ("sevens", "part")) or zarr_format == 2


def test_h5diff_compares_datasets_of_fill(tmp_path):
    run_python(FILLED, tmp_path / "a.h5", connector=None)
    run_python(FILLED, tmp_path / "a.zarr")
    run_python(FILLED, tmp_path / "b.h5", connector=None)
    run_python(FILLED, tmp_path / "b.zarr")
    native = run([tool("h5diff"), "-c", tmp_path / "a.h5", tmp_path / "b.h5"], connector=None)
    for one, other in (("a.h5", "a.zarr"), ("a.zarr", "a.h5"), ("a.zarr", "b.zarr")):
        done = run([tool("h5diff"), "-c", tmp_path / one, tmp_path / other])
        assert (done.returncode, done.stdout) == (native.returncode, native.stdout)
    with h5py.File(tmp_path / "a.zarr", "r+") as f:
        f["sevens"][3] = 8
    assert "</sevens>" in run([tool("h5diff"), tmp_path / "a.h5", tmp_path / "a.zarr"]).stdout


@pytest.mark.parametrize("source, target", [(a, b) for a in ("zarr", "h5") for b in ("zarr", "h5")])
def test_a_copy_of_what_was_written_has_storage(tmp_path, source, target):
    run_python(FILLED, tmp_path / f"a.{source}", connector="zarr" if source == "zarr" else None)
    with h5py.File(tmp_path / f"a.{source}") as a, h5py.File(tmp_path / f"b.{target}", "w") as b:
        for name in a:
            a.copy(name, b)
    with h5py.File(tmp_path / f"a.{source}") as a, h5py.File(tmp_path / f"b.{target}") as b:
        for name in a:
            assert (a[name].id.get_storage_size() > 0) == (b[name].id.get_storage_size() > 0), name
            np.testing.assert_array_equal(a[name][()], b[name][()])


def test_a_foreign_array_that_is_not_changed_is_not_marked(store):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(f"{store}/a", shape=(6,), chunks=(3,), dtype="i4")
    before = open(f"{store}/a/zarr.json").read()
    with h5py.File(f"{store}/a", "r+") as f:
        assert f["a"].id.get_storage_size() == 0
    assert open(f"{store}/a/zarr.json").read() == before


SEQUENCE = """
import h5py, sys
with h5py.File(sys.argv[1], "r") as f:
    for _ in range(6):
        for name in ("fresh", "partly"):
            try:
                assert len(f[name].fillvalue) == 0  # as a view says
            except RuntimeError as error:
                assert "undefined" in str(error), error
    for _ in range(3):
        print([[bytes(one) for one in f[name][:]] for name in ("fresh", "partly")])
"""


@pytest.mark.parametrize("connector", ["zarr", None])
def test_a_fill_of_sequences_is_no_property_and_fills_all_the_same(store, tmp_path, connector):
    zarr = pytest.importorskip("zarr")
    if connector is None and h5py.version.hdf5_version_tuple < (2,):
        pytest.skip("HDF5 1.14 has no views")
    for name in "fresh", "partly":
        made = zarr.create_array(store, name=name, shape=(4,), chunks=(2,), dtype="variable_length_bytes", fill_value=b"\1\2\3")
        if name == "partly":
            made[:2] = np.array([b"x", b""], object)
    said = run_python(SEQUENCE, store, connector=connector).splitlines()
    assert said == [str([[b"\1\2\3"] * 4, [b"x", b"", b"\1\2\3", b"\1\2\3"]])] * 3
    with h5py.File(store, "r+") as f, h5py.File(tmp_path / "copy.h5", "w") as to, h5py.File(tmp_path / "copy.zarr", "w") as other:
        f["fresh"][1] = np.array([9], "u1")
        for target in to, other:
            f.copy("partly", target)
            assert [bytes(one) for one in target["partly"][:]] == [b"x", b"", b"\1\2\3", b"\1\2\3"]
    np.testing.assert_array_equal(zarr.open_array(store, path="fresh", mode="r")[:],
                                  np.array([b"\1\2\3", b"\x09", b"\1\2\3", b"\1\2\3"], object))


@pytest.mark.parametrize("dtype", ["<M8[s]", ">M8[ms]", "<m8[ns]"])
def test_times_without_a_fill_value_in_v2_are_nat(store, dtype):
    zarr = pytest.importorskip("zarr")
    made = zarr.create_array(store, name="t", shape=(4,), chunks=(2,), dtype=dtype, zarr_format=2, fill_value=None)
    made[:2] = np.array([1, 2], dtype)
    with h5py.File(store, "r") as f:
        assert f["t"][:].tolist() == [1, 2] + 2 * [np.iinfo("i8").min]
        assert f["t"].fillvalue == np.iinfo("i8").min
    assert np.isnat(zarr.open_array(store, path="t", mode="r")[2:]).all()


def test_times_of_a_program_that_sets_no_fill_value_are_zero_in_v2_too(store, tmp_path, monkeypatch):
    monkeypatch.setenv("H5ZARR_ZARR_FORMAT", "2")
    kind = h5py.opaque_dtype(np.dtype("<M8[s]"))
    for path in store, tmp_path / "native.h5":
        with h5py.File(path, "w") as f:
            f.create_dataset("t", (3,), kind, chunks=(2,))
        with h5py.File(path, "r") as f:
            assert f["t"][:].astype("i8").tolist() == [0, 0, 0]


def test_a_fill_text_with_a_nul_is_no_shorter_text(store):
    zarr = pytest.importorskip("zarr")
    made = zarr.create_array(store, name="s", shape=(4,), chunks=(2,), dtype=str, fill_value="a\0b")
    made[:2] = np.array(["x", "yy"], "T")
    with h5py.File(store, "r") as f:
        assert f["s"][:2].tolist() == [b"x", b"yy"]
        with pytest.raises(OSError, match="array 's'.*NUL"):
            f["s"][2:]
        with pytest.raises(RuntimeError, match="undefined"):
            f["s"].fillvalue
