"""Single-writer mode, which a store needs not but has, and refreshing: what others wrote meanwhile."""
import h5py
import numpy as np
import pytest

from support import assert_equal, numbers, run_python

WRITER = """
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "r+", libver="latest") as f:
    f.swmr_mode = True
    d = f["a"]
    d.resize(7, axis=0)
    d[...] = np.arange(7)
    d.flush()
    f["a"].attrs["state"] = "second"
    f["a"].attrs["added"] = 5
    del f["a"].attrs["removed"]
    f.create_group("g/h")
"""


@pytest.fixture
def growing(store):
    with h5py.File(store, "w") as f:
        d = f.create_dataset("a", (3,), "i4", maxshape=(None,), chunks=(2,))
        d[...] = -1
        d.attrs["state"] = "first"
        d.attrs["removed"] = 1
        d.attrs["kept"] = 2
        f.create_group("g")
    return store


def test_a_reader_sees_what_another_process_wrote_when_it_refreshes(growing):
    with h5py.File(growing, "r", swmr=True) as f:
        assert f.swmr_mode
        d = f["a"]
        assert_equal(d[...], np.full(3, -1, "i4"))
        assert list(f["g"]) == []
        run_python(WRITER, growing)
        d.refresh()
        assert_equal(d[...], np.arange(7, dtype="i4"))
        assert dict(d.attrs) == {"state": "second", "added": 5, "kept": 2}


def test_without_a_refresh_the_extent_stays(growing):
    with h5py.File(growing, "r") as f:
        d = f["a"]
        assert d.shape == (3,)
        run_python(WRITER, growing)
        assert d.shape == (3,)


def test_what_was_made_before_single_writer_mode_is_there_for_readers(store):
    reader = "import sys, h5py; print(h5py.File(sys.argv[1], 'r', swmr=True)['g/a'][()].tolist())"
    with h5py.File(store, "w", libver="latest") as f:
        d = f.create_dataset("g/a", (3,), "i4", maxshape=(None,), chunks=(2,))
        d[...] = 5
        f.swmr_mode = True
        assert run_python(reader, store) == "[5, 5, 5]\n"
        d.resize(4, axis=0)
        d.flush()
        assert run_python(reader, store) == "[5, 5, 5, 0]\n"


def test_single_writer_mode_is_told(growing):
    with h5py.File(growing, "r+") as f:
        assert not f.swmr_mode
        f.swmr_mode = True
        assert f.swmr_mode and f.mode == "r+"
        with pytest.raises(Exception, match="already"):
            f.swmr_mode = True
    with h5py.File(growing, "r") as f, pytest.raises(Exception):
        f.swmr_mode = True


@pytest.mark.parametrize("how", [
    {}, {"chunks": (2, 3)}, {"compression": "gzip"}, {"compression": "gzip", "shuffle": True, "fletcher32": True},
    {"fillvalue": 3}, {"fillvalue": 3, "fill_time": "never"}, {"compression": "lzf"}, {"scaleoffset": 4},
    {"compression": 480, "compression_opts": (1, 2, 2, 3, 3 | 3 << 8), "chunks": (4, 6)}], ids=str)
def test_refreshing_what_nobody_changed_changes_nothing(store, how):
    with h5py.File(store, "w") as f:
        d = f.create_dataset("a", (4, 6), "i4", **how)
        d[...] = numbers((4, 6), "i4") % 11
        d.flush()
        d.id.refresh()
        assert_equal(d[...], numbers((4, 6), "i4") % 11)


@pytest.mark.parametrize("dtype", [
    "?", ">f8", "c8", "S3", h5py.string_dtype(), h5py.vlen_dtype("i2"), h5py.ref_dtype,
    np.dtype([("a", "i4"), ("b", "f8", (2,))]), h5py.enum_dtype({"X": 1}), "V4"], ids=str)
def test_every_type_can_be_refreshed(store, dtype):
    with h5py.File(store, "w") as f:
        d = f.create_dataset("a", (2,), dtype)
        f.flush()
        d.id.refresh()
        assert d.shape == (2,)


def test_an_array_that_was_replaced_is_an_error(growing):
    import zarr

    with h5py.File(growing, "r") as f:
        d = f["a"]
        zarr.create_array(growing, name="a", shape=(3,), chunks=(2,), dtype="f8", overwrite=True)
        with pytest.raises(Exception, match="replaced"):
            d.id.refresh()


def test_unsaved_changes_survive_a_refresh(growing):
    with h5py.File(growing, "r+") as f:
        d = f["a"]
        d[0] = 42
        d.attrs["state"] = "mine"
        d.id.refresh()
        assert d[0] == 42 and d.attrs["state"] == "mine"
