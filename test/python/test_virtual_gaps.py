"""What no mapping of a virtual dataset covers, or no source has: as HDF5 with native files."""
import ctypes
import os

import h5py
import numpy as np
import pytest

from every_type import compound, enum
from libhdf5 import HID, call
from memory import value_bytes
from virtual_support import H5, ZARR, both, same


def with_gaps(f, source, made, fill, time):
    """A virtual dataset of 60 elements, of which none is in its source, with `fill`: bytes, or HDF5's default."""
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_fill_time(time)
    if fill is not None:
        call("H5Pset_fill_value", HID(plist.id), HID(made.id), fill)
    part = h5py.h5s.create_simple((60,))
    part.select_hyperslab((50,), (3,))
    plist.set_virtual(part, source.encode(), b"/data", part)
    return h5py.h5d.create(f.id, b"v", made, h5py.h5s.create_simple((60,)), plist)


GAPS = {
    "never": (h5py.h5t.STD_I32BE, b"\0\0\0\7", h5py.h5d.FILL_TIME_NEVER, h5py.h5t.STD_I16LE),
    "default of an enum without zero": (enum(h5py.h5t.STD_I32LE, A=7, B=9), None, h5py.h5d.FILL_TIME_IFSET,
                                        enum(h5py.h5t.STD_I64BE, B=1, A=2)),
    "arrays whose elements differ": (h5py.h5t.array_create(h5py.h5t.STD_U8LE, (3, 2)), b"abcdef",
                                     h5py.h5d.FILL_TIME_IFSET, h5py.h5t.array_create(h5py.h5t.STD_I16BE, (3, 2))),
    "compounds with padding": (compound(12, a=(1, h5py.h5t.STD_I16BE), b=(8, h5py.h5t.STD_U8LE)), b".ab.....c...",
                               h5py.h5d.FILL_TIME_ALLOC, compound(8, b=(0, h5py.h5t.STD_I32LE), c=(4, h5py.h5t.STD_I32LE))),
}


@pytest.mark.parametrize("pair", [(ZARR, ZARR), (H5, ZARR)])
@pytest.mark.parametrize("gaps", GAPS)
def test_gaps_are_filled_as_hdf5_fills_them(tmp_path, pair, gaps):
    made, fill, time, other = GAPS[gaps]

    def steps(folder, vds, source):
        with h5py.File(os.path.join(folder, source("s")), "w") as f:
            f["other"] = 1
        with h5py.File(os.path.join(folder, vds), "w") as f:
            with_gaps(f, source("s"), made, fill, time)
        answers = []
        with h5py.File(os.path.join(folder, vds)) as f:
            v = f["v"].id
            for mem_type in (made, other):
                space = v.get_space()
                space.select_hyperslab((1,), (20,))
                space.select_hyperslab((30,), (7,), op=h5py.h5s.SELECT_OR)
                buffer = ctypes.create_string_buffer(b"x" * 54 * mem_type.get_size())
                memory = h5py.h5s.create_simple((27, 2))
                memory.select_hyperslab((0, 1), (27, 1))
                call("H5Dread", HID(v.id), HID(mem_type.id), HID(memory.id), HID(space.id), HID(0), buffer)
                elements = np.frombuffer(buffer, "u1")[:-1].reshape(54, -1)
                answers.append(np.where(value_bytes(mem_type), elements, np.uint8(0)))
        return answers

    for native, tested in zip(*both(steps, tmp_path, pair)):
        same(native, tested)


@pytest.mark.parametrize("pair", [(ZARR, ZARR), (H5, ZARR)])
def test_members_that_no_source_has_stay_as_they_are(tmp_path, pair):
    made = compound(6, a=(0, h5py.h5t.STD_I16LE), b=(2, h5py.h5t.STD_I32LE))
    more = compound(8, b=(0, h5py.h5t.STD_I32LE), other=(4, h5py.h5t.STD_I32LE))

    def steps(folder, vds, source):
        with h5py.File(os.path.join(folder, source("s")), "w") as f:
            values = np.frombuffer(bytes(i % 251 for i in range(60 * 6)), "u1")
            data = h5py.h5d.create(f.id, b"data", made, h5py.h5s.create_simple((60,)))
            call("H5Dwrite", HID(data.id), HID(made.id), HID(0), HID(0), HID(0), values.tobytes())
        with h5py.File(os.path.join(folder, vds), "w") as f:
            with_gaps(f, source("s"), made, None, h5py.h5d.FILL_TIME_IFSET)
        with h5py.File(os.path.join(folder, vds)) as f:
            v, buffer = f["v"].id, ctypes.create_string_buffer(b"x" * 60 * 8)
            call("H5Dread", HID(v.id), HID(more.id), HID(0), HID(0), HID(0), buffer)
        return np.frombuffer(buffer, "u1")[:-1].reshape(60, 8)

    same(*both(steps, tmp_path, pair))


@pytest.mark.parametrize("pair", [(ZARR, ZARR), (H5, ZARR)])
def test_gaps_of_a_type_that_does_not_convert_are_an_error(tmp_path, pair):
    def steps(folder, vds, source):
        with h5py.File(os.path.join(folder, source("s")), "w") as f:
            f["other"] = 1
        with h5py.File(os.path.join(folder, vds), "w") as f:
            with_gaps(f, source("s"), h5py.h5t.STD_I32LE, None, h5py.h5d.FILL_TIME_IFSET)
        with h5py.File(os.path.join(folder, vds)) as f:
            try:
                return f["v"].astype("S3")[...]
            except OSError:
                return "error"

    native, tested = both(steps, tmp_path, pair)
    assert native == "error" and tested == "error"


STOP = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, *[HID] * 2, *[ctypes.c_void_p] * 3)(lambda *_: -1)


@pytest.mark.parametrize("pair", [(ZARR, ZARR), (H5, ZARR)])
def test_a_fill_value_that_does_not_fit_is_the_programs_to_refuse(tmp_path, pair):
    def steps(folder, vds, source):
        with h5py.File(os.path.join(folder, source("s")), "w") as f:
            f["other"] = 1
        with h5py.File(os.path.join(folder, vds), "w") as f:
            with_gaps(f, source("s"), h5py.h5t.IEEE_F32LE, np.float32(np.inf).tobytes(), h5py.h5d.FILL_TIME_IFSET)
        refusing, answers = h5py.h5p.create(h5py.h5p.DATASET_XFER), []
        call("H5Pset_type_conv_cb", HID(refusing.id), STOP, None)
        with h5py.File(os.path.join(folder, vds)) as f:
            for plist in (None, refusing):
                found = np.zeros(60, "i2")
                try:
                    f["v"].id.read(h5py.h5s.ALL, h5py.h5s.ALL, found, dxpl=plist)
                    answers.append(found.tolist())
                except OSError:
                    answers.append("refused")
        return answers

    native, tested = both(steps, tmp_path, pair)
    assert tested == native == [[32767] * 60, "refused"]
