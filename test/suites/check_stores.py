"""Checks the stores below a folder as any Zarr reader sees them: zarr-python opens every array and reads
it, and `_hdf5` holds nothing but words about HDF5. Usage: check_stores.py FOLDER [MINIMUM]: fails with
less than MINIMUM arrays."""
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import zarr

MEMBERS = {"alloc_time", "attr_order", "attrs", "comment", "creation", "dimensions", "escaped", "external", "fill",
           "fill_time", "fill_value", "filters", "hard_links", "kind", "labels", "layout", "link_csets",
           "mappings", "maxshape", "order", "references", "scale", "scales", "shape", "shard_hidden",
           "space", "times", "type", "type_ref", "used_outside", "user_links", "version",
           "written"}
HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
# The longest text that says something of an object: names, types and settings are shorter.
MAX_WORD = 1024


def words(value):
    """All texts within a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from words(item)
    elif isinstance(value, list):
        for item in value:
            yield from words(item)


def check_words(attributes):
    """`_hdf5` of a node: members that README.md lists, and no data in them."""
    hdf5 = dict(attributes).get("_hdf5")
    if hdf5 is None:
        return
    unknown = set(hdf5) - MEMBERS
    assert not unknown, f"_hdf5 has members that nobody knows: {sorted(unknown)}"
    for member in set(hdf5) - {"escaped"}:
        for word in words(hdf5[member]):
            assert len(word) <= MAX_WORD, f"_hdf5.{member} has a text of {len(word)} characters"


def check_array(array):
    """Reads all of a small array, else its first and its last element."""
    if array.size == 0:
        return
    if array.size <= 1 << 20:
        values = array[...]
        assert np.shape(values) == array.shape
        return
    array[(0,) * array.ndim]
    array[tuple(extent - 1 for extent in array.shape)]


def check_files(root):
    """No file within is HDF5's, and no document is damaged."""
    for path in root.rglob("*"):
        if not path.is_file():
            continue
        with open(path, "rb") as file:
            assert file.read(len(HDF5_SIGNATURE)) != HDF5_SIGNATURE, f"{path} is an HDF5 file"
        if path.name in ("zarr.json", ".zgroup", ".zarray", ".zattrs"):
            json.loads(path.read_text())


def store_roots(folder):
    """The outermost folders below `folder` that hold a document of Zarr."""
    documents = {path.parent for name in ("zarr.json", ".zgroup", ".zarray") for path in folder.rglob(name)}
    return sorted(root for root in documents if not any(parent in documents for parent in root.parents))


def main():
    folder, minimum = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    warnings.simplefilter("ignore")  # of data types without a specification
    stores = arrays = failures = 0
    for root in store_roots(folder):
        stores += 1
        check_files(root)
        nodes = [("/", zarr.open(root, mode="r"))]
        if isinstance(nodes[0][1], zarr.Group):
            nodes += [(f"/{name}", node) for name, node in nodes[0][1].members(max_depth=None)]
        documents = sum(path.name in ("zarr.json", ".zgroup", ".zarray") for path in root.rglob("*"))
        if documents != len(nodes):
            failures += 1
            print(f"{root}: {documents} documents, but {len(nodes)} nodes")
        for name, node in nodes:
            try:
                check_words(node.attrs)
                if isinstance(node, zarr.Array):
                    arrays += 1
                    check_array(node)
            except Exception as error:
                failures += 1
                print(f"{root}{name}: {type(error).__name__}: {error}")
    print(f"{stores} stores with {arrays} arrays read by zarr-python, {failures} failures")
    if arrays < minimum:
        print(f"expected at least {minimum} arrays")
    return 1 if failures or arrays < minimum else 0


if __name__ == "__main__":
    sys.exit(main())
