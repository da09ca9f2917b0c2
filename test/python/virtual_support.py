"""What tests of virtual datasets share."""
import os

import h5py
import numpy as np

H5 = "h5"
ZARR = "zarr"
# The virtual dataset's file, and its sources': at least one of them a store.
PAIRS = [(ZARR, ZARR), (ZARR, H5), (H5, ZARR)]


def both(steps, tmp_path, pair):
    """What `steps(folder, vds, source)` gives with native files, and with the files of `pair`; `vds` and
    `source` make file names."""
    results = []
    for name, (vds, source) in {"native": (H5, H5), "tested": pair}.items():
        folder = tmp_path / name
        folder.mkdir()
        results.append(steps(str(folder), f"vds.{vds}", lambda stem, kind=source: f"{stem}.{kind}"))
    return results


def same(native, tested):
    assert np.array_equal(native, tested), f"native\n{native}\ntested\n{tested}"


def make_sources(folder, source, count=4, shape=(10,)):
    for i in range(count):
        with h5py.File(os.path.join(folder, source(f"s{i}")), "w") as f:
            f["data"] = (np.arange(np.prod(shape)).reshape(shape) + 100 * i).astype("i4")


def stacked(source, count=4, shape=(10,), dtype="i4", **more):
    layout = h5py.VirtualLayout((count, *shape), dtype)
    for i in range(count):
        layout[i] = h5py.VirtualSource(source(f"s{i}"), "data", shape=shape, **more)
    return layout
