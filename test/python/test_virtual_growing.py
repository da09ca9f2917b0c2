"""Virtual datasets whose sources grow, or are found by the pattern of their names: as HDF5 with native files."""
import os

import h5py
import numpy as np
import pytest

from virtual_support import H5, PAIRS, ZARR, both, same


def unlimited_layout(source, view_source=None):
    """Two growing sources, side by side along an unlimited dimension."""
    layout = h5py.VirtualLayout((1, 2, 3), "i4", maxshape=(None, 2, 3))
    for i in range(2):
        one = h5py.VirtualSource(source(f"g{i}"), "data", shape=(1, 3), maxshape=(None, 3))
        layout[0:h5py.h5s.UNLIMITED, i, :] = one[0:h5py.h5s.UNLIMITED, :]
    return layout


def grow(folder, source, rows, mode="r+"):
    for i, count in enumerate(rows):
        with h5py.File(os.path.join(folder, source(f"g{i}")), "a") as f:
            if "data" not in f:
                f.create_dataset("data", (0, 3), "i4", maxshape=(None, 3), chunks=(2, 3))
            f["data"].resize(count, 0)
            f["data"][...] = np.arange(count * 3).reshape(count, 3) + 1000 * i


def open_with(f, name, view, gap=0):
    dapl = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
    dapl.set_virtual_view(view)
    if view == h5py.h5d.VDS_LAST_AVAILABLE:
        dapl.set_virtual_printf_gap(gap)
    return h5py.Dataset(h5py.h5d.open(f.id, name.encode(), dapl))


def create_by_pattern(path, file, dataset):
    """A virtual dataset `v` of blocks of (2, 4), every third row of nothing, whose sources' names have %b in them."""
    unlimited = h5py.h5s.UNLIMITED
    dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    space = h5py.h5s.create_simple((2, 4), (unlimited, 4))
    space.select_hyperslab((1, 0), (unlimited, 1), (3, 1), (2, 4))
    dcpl.set_virtual(space, file.encode(), dataset.encode(), h5py.h5s.create_simple((2, 4)))
    dcpl.set_fill_value(np.array(-1))
    with h5py.File(path, "w") as f:
        h5py.h5d.create(f.id, b"v", h5py.h5t.NATIVE_INT64, h5py.h5s.create_simple((2, 4), (unlimited, 4)), dcpl)


VIEWS = [h5py.h5d.VDS_FIRST_MISSING, h5py.h5d.VDS_LAST_AVAILABLE]


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("view", VIEWS)
def test_unlimited_mappings_follow_their_sources(tmp_path, pair, view):
    def steps(folder, vds, source):
        path = os.path.join(folder, vds)
        grow(folder, source, (3, 5))
        with h5py.File(path, "w") as f:
            f.create_virtual_dataset("v", unlimited_layout(source), fillvalue=-1)
        results = []
        for rows in [(3, 5), (4, 5), (7, 6)]:
            grow(folder, source, rows)
            with h5py.File(path) as f:
                v = open_with(f, "v", view)
                results += [np.array(v.shape), v[...], v[1:, 1], v[::2]]
        return results

    native, tested = both(steps, tmp_path, pair)
    for one, other in zip(native, tested):
        same(one, other)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("view", VIEWS)
def test_unlimited_blocks_and_strides(tmp_path, pair, view):
    def steps(folder, vds, source):
        path = os.path.join(folder, vds)
        with h5py.File(os.path.join(folder, source("g")), "w") as f:
            f.create_dataset("data", data=np.arange(22).reshape(11, 2), maxshape=(None, 2))
        dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        unlimited = h5py.h5s.UNLIMITED
        space = h5py.h5s.create_simple((1, 2), (unlimited, 2))
        from_space = h5py.h5s.create_simple((1, 2), (unlimited, 2))
        # Blocks of 3 rows at every 5th, from blocks of 2 rows at every 3rd.
        space.select_hyperslab((1, 0), (unlimited, 1), (5, 1), (3, 2))
        from_space.select_hyperslab((1, 0), (unlimited, 1), (3, 1), (2, 2))
        dcpl.set_virtual(space, source("g").encode(), b"data", from_space)
        dcpl.set_fill_value(np.array(-1))
        with h5py.File(path, "w") as f:
            h5py.h5d.create(f.id, b"v", h5py.h5t.NATIVE_INT64,
                            h5py.h5s.create_simple((1, 2), (unlimited, 2)), dcpl)
        with h5py.File(path) as f:
            v = open_with(f, "v", view)
            return np.array(v.shape), v[...], v[2:8:3], v[-3:]

    native, tested = both(steps, tmp_path, pair)
    for one, other in zip(native, tested):
        same(one, other)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("view, gap", [(VIEWS[0], 0), (VIEWS[1], 0), (VIEWS[1], 2)])
def test_printf_mappings_find_a_source_for_each_block(tmp_path, pair, view, gap):
    def steps(folder, vds, source):
        path = os.path.join(folder, vds)
        for i in (0, 1, 3, 4):
            with h5py.File(os.path.join(folder, source(f"100%_{i}")), "w") as f:
                f[f"d{i}"] = np.arange(8).reshape(2, 4) + 10 * i
        create_by_pattern(path, source("100%%_%b"), "d%b")
        with h5py.File(path) as f:
            v = open_with(f, "v", view, gap)
            return np.array(v.shape), v[...], v[2:5, 1:3], v[::3]

    native, tested = both(steps, tmp_path, pair)
    for one, other in zip(native, tested):
        same(one, other)


@pytest.mark.parametrize("kinds", [(H5, H5, ZARR), (H5, ZARR, H5), (H5, ZARR, ZARR), (ZARR, H5, ZARR)])
def test_printf_mappings_to_virtual_datasets_over_other_files(tmp_path, kinds):
    """An outer dataset, whose blocks are virtual datasets in a file each, whose source is a third one's."""
    def steps(folder, names):
        outer, middle, inner = (lambda stem, kind=kind: os.path.join(folder, f"{stem}.{kind}") for kind in names)
        for i in (0, 1, 3):
            with h5py.File(inner(f"inner{i}"), "w") as f:
                f["d"] = np.arange(8).reshape(2, 4) + 10 * i
            layout = h5py.VirtualLayout((2, 4), "i8")
            layout[:] = h5py.VirtualSource(inner(f"inner{i}"), "d", (2, 4))
            with h5py.File(middle(f"middle{i}"), "w") as f:
                f.create_virtual_dataset("m", layout)
        create_by_pattern(outer("outer"), middle("middle%b"), "m")
        seen = []
        for part in (np.s_[...], np.s_[2:5, 1:3], np.s_[4:6], np.s_[0:1], np.s_[9:]):
            with h5py.File(outer("outer")) as f:
                v = open_with(f, "v", VIEWS[1], 1)
                seen += [np.array(v.shape), v[part]]
        return seen

    results = []
    for folder, names in ((tmp_path / "native", (H5, H5, H5)), (tmp_path / "tested", kinds)):
        folder.mkdir()
        results.append(steps(str(folder), names))
    for one, other in zip(*results, strict=True):
        same(one, other)
    assert (results[0][1][10:12] == np.arange(8).reshape(2, 4) + 30).all()
