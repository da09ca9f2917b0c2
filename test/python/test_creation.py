"""What a file and its objects were created with, and copies of them, beside native HDF5."""
import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from h5py import h5a, h5f, h5g, h5p

from support import run_python

BOTH = pytest.mark.parametrize("name", ["f.zarr", "f.h5"])
TRACKED = h5p.CRT_ORDER_TRACKED | h5p.CRT_ORDER_INDEXED


@BOTH
def test_an_access_list_shows_the_format_bounds_the_program_set(tmp_path, name):
    bounds = (h5f.LIBVER_V18, h5f.LIBVER_V110)
    path = str(tmp_path / name)
    with h5py.File(path, "w", libver=("v108", "v110")) as f:
        assert f.id.get_access_plist().get_libver_bounds() == bounds
    with h5py.File(path, "r+") as f:
        if name.endswith(".zarr"):  # of a file of its own HDF5 1.14 says what the file needs
            assert f.id.get_access_plist().get_libver_bounds()[0] == h5f.LIBVER_EARLIEST
        f["x"] = 1


def test_attributes_above_64_kib_do_not_depend_on_the_format_bounds(store):
    large = np.arange(100_000)
    with h5py.File(store, "w", libver=("earliest", "v108")) as f:
        f.create_group("g").attrs["large"] = large
        f.create_dataset("d", data=1).attrs["large"] = large
    with h5py.File(store, "r") as f:
        for name in ("g", "d"):
            np.testing.assert_array_equal(f[name].attrs["large"], large)


def test_a_damaged_creation_list_is_an_error_that_names_it(store):
    with h5py.File(store, "w") as f:
        f.create_group("g", track_order=True)
    path = Path(store, "g/zarr.json")
    document = json.loads(path.read_text())
    document["attributes"]["_hdf5"]["creation"] = {"link_phase_change": [1, 2, 3]}
    path.write_text(json.dumps(document))
    with h5py.File(store, "r") as f:
        with pytest.raises(Exception, match="_hdf5.creation.link_phase_change"):
            f["g"].id.get_create_plist()


@BOTH
def test_a_copy_keeps_creation_order_and_properties(tmp_path, name):
    path = str(tmp_path / name)
    names = ["z", "a", "m"]
    with h5py.File(path, "w") as f:
        properties = h5p.create(h5p.GROUP_CREATE)
        properties.set_link_creation_order(TRACKED)
        properties.set_attr_creation_order(TRACKED)
        properties.set_attr_phase_change(9, 5)
        group = h5py.Group(h5g.create(f.id, b"g", gcpl=properties))
        for one in names:
            group.create_group(one)
            group.attrs[one] = one
        dataset = f.create_dataset("d", data=np.arange(3), track_order=True)
        for one in names:
            dataset.attrs[one] = one
    with h5py.File(path, "r+") as f:  # the properties of what is copied come from the store
        f.copy("g", "copy of g")
        f.copy("d", "copy of d")
    code = """
import sys, h5py
from h5py import h5a
def order(id):
    names = []
    h5a.iterate(id, names.append, index_type=h5py.h5.INDEX_CRT_ORDER)
    return [name.decode() for name in names]
with h5py.File(sys.argv[1], "r") as f:
    group = f["copy of g"]
    properties = group.id.get_create_plist()
    print(list(group), order(group.id), order(f["copy of d"].id), properties.get_attr_phase_change(),
          properties.get_link_creation_order())
"""
    assert run_python(code, path).strip() == f"{names} {names} {names} (9, 5) {TRACKED}"


@BOTH
def test_a_renamed_attribute_keeps_its_place_and_its_open_handle(tmp_path, name):
    path = str(tmp_path / name)
    with h5py.File(path, "w", track_order=True) as f:
        for one in ("z", "a", "m"):
            f.attrs[one] = 1
    with h5py.File(path, "r+") as f:
        handle = h5a.open(f.id, b"a")
        h5a.rename(f.id, b"a", b"renamed")
        f.flush()
        handle.write(np.array(2))
        f.attrs["new"] = 3
        h5a.rename(f.id, b"new", b"newer")
        handle.close()
    code = """
import sys, h5py
with h5py.File(sys.argv[1], "r", track_order=True) as f:
    names = []
    h5py.h5a.iterate(f.id, names.append, index_type=h5py.h5.INDEX_CRT_ORDER)
    print([(name.decode(), int(f.attrs[name.decode()])) for name in names])
"""
    assert run_python(code, path).strip() == "[('z', 1), ('renamed', 2), ('m', 1), ('newer', 3)]"
