"""Selections through h5py against the same in numpy: random, seeded, so that a failure repeats."""
import random

import h5py
import numpy as np
import pytest

from support import assert_equal, numbers

SHAPE, CHUNKS = (19, 14, 11), (4, 5, 3)
LAYOUTS = {
    "chunks": {"chunks": CHUNKS},
    "compressed chunks": {"chunks": CHUNKS, "compressors": "auto"},
    "shards": {"chunks": (2, 5, 3), "shards": (8, 10, 6), "compressors": "auto"},
    "uncompressed shards": {"chunks": (2, 5, 3), "shards": (8, 10, 6)},
    "one chunk": {"chunks": SHAPE},
}


def slices(pick):
    """A slice of every axis with a step, or a number, now and then an empty one."""
    index = []
    for extent in SHAPE:
        start, stop = sorted(pick.choices(range(extent + 1), k=2))
        index.append(pick.choice([slice(start, stop, pick.randint(1, 5)), pick.randrange(extent), slice(None)]))
    return tuple(index)


def fancy(pick):
    """One axis by a list of increasing positions, the others by slices."""
    index = [index if isinstance(index, slice) and len(range(*index.indices(extent))) else slice(None)
             for index, extent in zip(slices(pick), SHAPE)]
    axis = pick.randrange(len(SHAPE))
    index[axis] = sorted(pick.sample(range(SHAPE[axis]), pick.randint(1, SHAPE[axis])))
    return tuple(index)


def mask(pick):
    return np.random.default_rng(pick.randrange(1 << 30)).random(SHAPE) < pick.choice([0.002, 0.1, 0.9])


@pytest.fixture(params=LAYOUTS)
def foreign(request, store):
    import zarr

    zarr.open_group(store, mode="w")
    how = {"compressors": None} | LAYOUTS[request.param]
    a = zarr.create_array(store, name="a", shape=SHAPE, dtype="i4", fill_value=-1, **how)
    a[...] = numbers(SHAPE, "i4")
    a[4:12, 5:10, 0:6] = -1  # what equals fill is not stored
    return store


@pytest.mark.parametrize("kind", [slices, fancy, mask])
def test_reading(foreign, kind):
    pick = random.Random(480)
    with h5py.File(foreign, "r") as f:
        whole = f["a"][...]
        for _ in range(60):
            index = kind(pick)
            assert_equal(f["a"][index], whole[index])


@pytest.mark.parametrize("kind", [slices, fancy, mask])
def test_writing(foreign, kind):
    pick = random.Random(481)
    with h5py.File(foreign, "r+") as f:
        whole = f["a"][...]
        for round_ in range(40):
            index = kind(pick)
            whole[index] = value = numbers(whole[index].shape, "i4") + 1000 * round_
            f["a"][index] = value
            if round_ % 10 == 0:
                assert_equal(f["a"][...], whole)
    with h5py.File(foreign, "r") as f:
        assert_equal(f["a"][...], whole)


def test_reading_into_part_of_an_array(foreign):
    target = np.full((30, 30), 7, "i4")
    with h5py.File(foreign, "r") as f:
        f["a"].read_direct(target, np.s_[2:12, 3, 1:9], np.s_[5:25:2, 10:18])
        expected = np.full((30, 30), 7, "i4")
        expected[5:25:2, 10:18] = f["a"][...][2:12, 3, 1:9]
    assert_equal(target, expected)


@pytest.mark.parametrize("dtype", ["f4", "f8", ">i4", "i8", "u2"])
def test_reading_as_another_type(foreign, dtype):
    with h5py.File(foreign, "r") as f:
        small = f["a"][0:2, 0:3, 0:2]
        assert_equal(f["a"].astype(dtype)[0:2, 0:3, 0:2], small.astype(dtype))


def test_scalars_one_by_one(foreign):
    with h5py.File(foreign, "r") as f:
        whole = f["a"][...]
        got = [f["a"][position] for position in np.ndindex(5, 6, 4)]
    assert got == whole[:5, :6, :4].ravel().tolist()


def test_iterating_chunks_covers_everything(foreign):
    with h5py.File(foreign, "r") as f:
        whole = f["a"][...]
        copy = np.zeros_like(whole)
        for chunk in f["a"].iter_chunks():
            copy[chunk] = f["a"][chunk]
    assert_equal(copy, whole)


def test_out_of_range_is_refused(foreign):
    with h5py.File(foreign, "r") as f:
        with pytest.raises((IndexError, ValueError)):
            f["a"][SHAPE[0], 0, 0]
