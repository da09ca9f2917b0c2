"""Low-level reads of a store, of every kind of selection and memory space: what the same of an HDF5 file is."""
import h5py
import numpy as np
import pytest
from h5py import h5s


def random_file_space(rng, shape):
    """A selection of a dataset, and how many elements it has."""
    if rng.random() < 0.2:
        return h5s.ALL, int(np.prod(shape))
    space = h5s.create_simple(shape)
    start = [int(rng.integers(0, extent)) for extent in shape]
    count = [int(rng.integers(1, extent - begin + 1)) for extent, begin in zip(shape, start)]
    kind = rng.integers(0, 4)
    if kind == 3:
        space.select_elements(np.array([[int(rng.integers(0, extent)) for extent in shape]
                                        for _ in range(rng.integers(1, 5))]))
    else:
        space.select_hyperslab(tuple(start), tuple(count))
    if kind == 1:  # perhaps out of the dataset
        space.offset_simple(tuple(int(n) for n in rng.integers(0, 3, len(shape))))
    if kind == 2:
        one = tuple(int(rng.integers(0, extent)) for extent in shape)
        space.select_hyperslab(one, (1,) * len(shape), op=h5s.SELECT_OR)
    return space, space.get_select_npoints()


def random_memory_space(rng, elems):
    kind = rng.integers(0, 5)
    if kind == 0:
        return h5s.ALL
    if kind == 1:  # a part of it
        space = h5s.create_simple((elems + 5,))
        space.select_hyperslab((int(rng.integers(0, 5)),), (elems,))
        return space
    if kind == 2:  # perhaps of another size
        return h5s.create_simple((elems + int(rng.integers(0, 2)),))
    return h5s.create_simple((elems,) if kind == 3 else (1, elems))


def read(dataset, memory_space, file_space, room):
    """What is in memory after a read, or the kind of the error."""
    values = np.zeros(room, dataset.dtype)
    try:
        dataset.id.read(memory_space, file_space, values, mtype=h5py.h5t.py_create(dataset.dtype))
    except Exception as error:
        return type(error).__name__
    return values.tobytes()


@pytest.mark.parametrize("seed", range(4))
def test_reads_of_any_selection_into_any_memory_are_what_hdf5_reads(tmp_path, seed):
    rng = np.random.default_rng(seed)
    answers = set()
    for number in range(12):
        shape = tuple(int(n) for n in rng.integers(1, 12, rng.integers(1, 4)))
        chunks = tuple(int(rng.integers(1, extent + 1)) for extent in shape)
        data = rng.integers(0, 99, shape).astype(rng.choice(["i2", ">i4", "f8", "S3"]))
        paths = [tmp_path / f"{number}{kind}" for kind in (".h5", ".zarr")]
        for path in paths:
            with h5py.File(path, "w") as f:
                f.create_dataset("d", data=data, chunks=chunks, maxshape=(None,) * len(shape))
        mode = rng.choice(["r", "r+"])
        with h5py.File(paths[0], mode) as native, h5py.File(paths[1], mode) as stored:
            for _ in range(100):
                file_space, elems = random_file_space(rng, shape)
                memory_space = random_memory_space(rng, elems)
                room = data.size + elems + 5
                expected, found = (read(f["d"], memory_space, file_space, room) for f in (native, stored))
                assert found == expected, (shape, chunks, data.dtype)
                answers.add(type(expected))
    assert answers == {bytes, str}  # reads and errors
