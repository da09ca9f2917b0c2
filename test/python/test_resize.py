"""Datasets that grow and shrink, as HDF5 has it: what is regained is fill, whatever Zarr still holds."""
import h5py
import numpy as np
import pytest

from support import READERS, assert_equal, numbers


@pytest.mark.parametrize("reader", READERS)
def test_appending(store, reader):
    with h5py.File(store, "w") as f:
        d = f.create_dataset("a", (0, 4), "f4", maxshape=(None, 4), chunks=(3, 4), compression="gzip")
        for row in range(8):
            d.resize(row + 1, axis=0)
            d[row] = row
    assert_equal(READERS[reader](store, "a"), np.repeat(np.arange(8, dtype="f4"), 4).reshape(8, 4))


def test_maximum_extent_is_kept(store):
    with h5py.File(store, "w") as f:
        f.create_dataset("a", (2, 3), "i4", maxshape=(None, 10), chunks=(2, 3))
    with h5py.File(store, "r") as f:
        assert f["a"].maxshape == (None, 10)


def test_beyond_the_maximum_is_refused(store):
    with h5py.File(store, "w") as f:
        d = f.create_dataset("a", (2, 3), "i4", maxshape=(None, 10), chunks=(2, 3))
        with pytest.raises(Exception):
            d.resize((2, 11))
        assert d.shape == (2, 3)


@pytest.fixture(params=["chunks", "shards"])
def foreign(request, store):
    import zarr

    how = {"chunks": (2, 3)} | ({"shards": (4, 6)} if request.param == "shards" else {})
    zarr.open_group(store, mode="w")
    zarr.create_array(store, name="a", shape=(9, 11), dtype="i4", fill_value=-1, **how)[...] = numbers((9, 11), "i4")
    return store


@pytest.mark.parametrize("small", [(1, 1), (0, 11), (9, 4), (5, 7), (3, 3)])
def test_what_is_regained_is_fill(foreign, small):
    expected = np.full((9, 11), -1, "i4")
    keep = tuple(slice(extent) for extent in small)
    expected[keep] = numbers((9, 11), "i4")[keep]
    with h5py.File(foreign, "r+") as f:
        f["a"].resize(small)
        f["a"].resize((9, 11))
        assert_equal(f["a"][...], expected)
    for reader in READERS.values():
        assert_equal(reader(foreign, "a"), expected)


def test_foreign_arrays_are_fixed_for_reading_and_grow_for_writing(foreign):
    with h5py.File(foreign, "r") as f:
        assert f["a"].maxshape == (9, 11)
    with h5py.File(foreign, "r+") as f:
        assert f["a"].maxshape == (None, None)
        f["a"].resize((20, 30))
    with h5py.File(foreign, "r") as f:
        assert f["a"].shape == (20, 30)
        assert f["a"][19, 29] == -1


@pytest.mark.parametrize("extent", [9, 4])
def test_a_new_dataset_is_resized_before_it_was_ever_stored(store, extent):
    with h5py.File(store, "w") as f:
        d = f.create_dataset("a", (7,), chunks=(3,), maxshape=(None,), dtype="u8")
        d.resize((extent,))
    with h5py.File(store, "r") as f:
        assert f["a"].shape == (extent,)
