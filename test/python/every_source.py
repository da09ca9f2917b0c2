"""Datasets whose elements are elsewhere: virtual ones, and those with external storage."""
import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

from every_type import FOR_REPACK

UNLIMITED = h5s.UNLIMITED


def write_virtual(f):
    group = f.create_group("virtual")
    group["source"] = np.arange(24, dtype="<i4").reshape(4, 6)
    source = h5py.VirtualSource(group["source"])
    whole = h5py.VirtualLayout((4, 6), ">i8")
    whole[...] = source
    group.create_virtual_dataset("whole", whole, fillvalue=-7)
    if FOR_REPACK:  # it writes to unmapped elements
        return
    growing = group.create_dataset("growing", (3, 6), "<i4", maxshape=(None, 6), chunks=(2, 6))
    growing[...] = -np.arange(18).reshape(3, 6)
    parts = h5py.VirtualLayout((5, 6), ">i8")
    parts[0, 0:3] = source[1, 3:6]
    parts[2:4, ::2] = source[0:2, 0:3]
    group.create_virtual_dataset("parts", parts, fillvalue=-7)
    nowhere = h5py.VirtualLayout((2,), "<f4")
    nowhere[:] = h5py.VirtualSource("not there.h5", "x", shape=(2,))
    group.create_virtual_dataset("nowhere", nowhere)
    rows = h5s.create_simple((3, 6), (UNLIMITED, 6))
    rows.select_hyperslab((0, 0), (UNLIMITED, 1), (1, 1), (1, 6))
    dcpl = h5p.create(h5p.DATASET_CREATE)
    dcpl.set_virtual(rows, b".", b"/virtual/growing", rows)
    h5d.create(group.id, b"unlimited", h5t.STD_I32LE, rows, dcpl)
    blocks = h5s.create_simple((2, 6), (UNLIMITED, 6))
    blocks.select_hyperslab((0, 0), (UNLIMITED, 1), (2, 1), (2, 6))
    block = h5s.create_simple((2, 6))
    dcpl = h5p.create(h5p.DATASET_CREATE)
    dcpl.set_virtual(blocks, b".", b"/virtual/block%b", block)
    group["block0"], group["block1"] = np.ones((2, 6), "<i4"), np.full((2, 6), 2, "<i4")
    h5d.create(group.id, b"numbered", h5t.STD_I32LE, blocks, dcpl)


def write_external(f):
    """Their files lie beside this one: HDF5_EXTFILE_PREFIX must be ${ORIGIN}."""
    group = f.create_group("external")
    group.create_dataset("two files", (2, 6), "<i2", external=[("first.raw", 8, 10), ("second.raw", 0, h5py.h5f.UNLIMITED)],
                         data=np.arange(12, dtype="<i2").reshape(2, 6))
    group.create_dataset("growing", (4,), "<f4", maxshape=(None,), external=[("third.raw", 0, h5py.h5f.UNLIMITED)],
                         data=np.arange(4, dtype="<f4"))
