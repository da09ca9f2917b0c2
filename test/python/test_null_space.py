"""Datasets with a null dataspace take and give what HDF5's own do, whatever is selected."""
import h5py
import numpy as np
import pytest
from h5py import h5s, h5t


def four(first, count):
    space = h5s.create_simple((4,))
    space.select_hyperslab((first,), (count,))
    return space


def none():
    space = h5s.create_simple((4,))
    space.select_none()
    return space


SPACES = {
    "ALL": lambda: h5s.ALL, "null": lambda: h5s.create(h5s.NULL), "scalar": lambda: h5s.create(h5s.SCALAR),
    "four": lambda: h5s.create_simple((4,)), "one of four": lambda: four(1, 1), "none of four": none,
    "one": lambda: h5s.create_simple((1,)), "empty": lambda: h5s.create_simple((0,)),
}


def outcome(dataset, write, mem, file):
    values = np.arange(1, 5, dtype="i4")
    try:
        (dataset.id.write if write else dataset.id.read)(SPACES[mem](), SPACES[file](), values, h5t.NATIVE_INT32)
    except OSError:
        return "an error"
    return values.tolist()


@pytest.mark.parametrize("reopened", [False, True], ids=["new", "reopened"])
@pytest.mark.parametrize("write", [True, False], ids=["write", "read"])
def test_any_selection_ends_as_in_hdf5(tmp_path, store, write, reopened):
    files = []
    for name in store, str(tmp_path / "native.h5"):
        f = h5py.File(name, "w")
        f.create_dataset("n", data=h5py.Empty("i4"))
        if reopened:
            f.close()
            f = h5py.File(name, "r+")
        files.append(f)
    ours, native = [f["n"] for f in files]
    for mem in SPACES:
        for file in SPACES:
            got = outcome(ours, write, mem, file)
            assert got == outcome(native, write, mem, file), (mem, file)
    assert ours.shape is None and ours[()] == h5py.Empty("i4")
    for f in files:
        f.close()
