"""Elements that are more than their own bytes: sequences of every type, and references of every kind."""
import ctypes

import h5py
import numpy as np
from h5py import h5a, h5d, h5p, h5r, h5s, h5t

import memory
from every_type import FOR_REPACK, FOR_TOOLS, fixed_types, pattern, string
from libhdf5 import HID, LIB, call


def write_sequences(group):
    """A sequence of every type whose elements are bytes: three elements, one of them empty."""
    for name, base in fixed_types().items():
        made = h5t.vlen_create(base)
        contents = [(count, pattern(name, base.get_size(), count).tobytes()) for count in (2, 0, 1)]
        dataset = h5d.create(group.id, name.encode(), made, h5s.create_simple((3,)))
        memory.write("H5Dwrite", dataset.id, made, memory.lists(contents))
        attribute = h5a.create(dataset, b"same type", made, h5s.create_simple((3,)))
        memory.write("H5Awrite", attribute.id, made, memory.lists(contents))


def write_variable_strings(group):
    """Strings of variable length with every padding and character set, also among other members."""
    for pad, pad_name in ((h5t.STR_NULLTERM, "term"), (h5t.STR_NULLPAD, "null"), (h5t.STR_SPACEPAD, "space")):
        for cset, cset_name in ((h5t.CSET_ASCII, "ascii"), (h5t.CSET_UTF8, "utf8")):
            made = string(h5t.VARIABLE, pad, cset)
            words = (ctypes.c_char_p * 3)(b"a b", b"", "ä€".encode() if cset == h5t.CSET_UTF8 else b"c ")
            dataset = h5d.create(group.id, f"text_{pad_name}_{cset_name}".encode(), made, h5s.create_simple((3,)))
            memory.write("H5Dwrite", dataset.id, made, words)
            attribute = h5a.create(dataset, b"same type", made, h5s.create_simple((3,)))
            memory.write("H5Awrite", attribute.id, made, words)


def write_nested(group):
    inner = np.dtype([("text", h5py.string_dtype()), ("numbers", h5py.vlen_dtype(np.dtype("<i2"))), ("x", ">f4", (2,))])
    outer = np.dtype([("n", "u1"), ("inner", inner), ("pair", h5py.string_dtype(), (2,)), ("at", h5py.ref_dtype)])
    dataset = group.create_dataset("nested", (2,), outer)
    at = h5py.Reference() if FOR_REPACK else group.ref
    dataset[0] = (7, ("é", np.array([1, -2], "<i2"), [1.5, np.inf]), ["a", ""], at)
    dataset.attrs.create("same type", dataset[:], dtype=outer)


def write_fills(group):
    """Fill values of elements that are more than their bytes."""
    for name, base in (("numbers", h5t.STD_I16BE), ("strings", string(4))):
        made = h5t.vlen_create(base)
        dcpl = h5p.create(h5p.DATASET_CREATE)
        call("H5Pset_fill_value", HID(dcpl.id), HID(made.id), memory.lists([(2, b"abcdefgh"[: 2 * base.get_size()])]))
        h5d.create(group.id, f"fill_{name}".encode(), made, h5s.create_simple((2,)), dcpl)


def write_lists(f):
    group = f.create_group("lists")
    write_sequences(group)
    write_variable_strings(group)
    write_nested(group)
    if not FOR_TOOLS:  # H5Ocopy leaves what the values point to behind
        write_fills(group)


def std_references(f, data):
    """H5R_ref_t of every kind: of an object, a region, an attribute, and of nothing."""
    buffer = ctypes.create_string_buffer(4 * memory.STD_REF_BYTES)
    start = ctypes.addressof(buffer)
    block = h5s.create_simple((4, 6))
    block.select_hyperslab((1, 0), (2, 2), (2, 3))
    call("H5Rcreate_object", HID(f.id.id), data.name.encode(), HID(0), ctypes.c_void_p(start))
    call("H5Rcreate_region", HID(f.id.id), data.name.encode(), HID(block.id), HID(0), ctypes.c_void_p(start + 64))
    call("H5Rcreate_attr", HID(f.id.id), data.name.encode(), b"units", HID(0), ctypes.c_void_p(start + 128))
    return buffer


def write_std_references(f, group, data):
    data.attrs["units"] = "mm"
    LIB.H5Tcopy.restype = HID
    made = h5t.TypeID(LIB.H5Tcopy(HID.in_dll(LIB, "H5T_STD_REF_g")))
    buffer, space = std_references(f, data), h5s.create_simple((4,))
    dataset = h5d.create(group.id, b"std", made, space)
    memory.write("H5Dwrite", dataset.id, made, buffer)
    attribute = h5a.create(group.id, b"std", made, space)
    memory.write("H5Awrite", attribute.id, made, buffer)


def write_references(f):
    group = f.create_group("references")
    data = group.create_dataset("data", data=np.arange(24).reshape(4, 6))
    points = h5s.create_simple((4, 6))
    points.select_elements(np.array([[0, 0], [3, 5]], "u8"))
    regions = [data.regionref[1:3, 2:5], data.regionref[::2, :], data.regionref[...], h5py.RegionReference(),
               h5r.create(data.id, b".", h5r.DATASET_REGION, points)]
    objects = [data.ref, f.ref, h5py.Reference(), f["committed/number"].ref]
    group["regions"] = np.array(regions, h5py.regionref_dtype)
    group["objects"] = np.array(objects, h5py.ref_dtype)
    group.attrs.create("regions", np.array(regions, h5py.regionref_dtype))
    group.attrs.create("objects", np.array(objects, h5py.ref_dtype))
    if FOR_REPACK:  # it cannot translate references among members, nor any but the first two kinds
        return
    row = np.dtype([("n", "<i4"), ("o", h5py.ref_dtype), ("r", h5py.regionref_dtype), ("a", h5py.ref_dtype, (2,))])
    rows = group.create_dataset("rows", (2,), row)
    rows[0] = (1, data.ref, regions[0], (f.ref, h5py.Reference()))
    lists = group.create_dataset("lists", (2,), h5py.vlen_dtype(h5py.ref_dtype))
    lists[1] = np.array(objects, h5py.ref_dtype)
    group.attrs.create("rows", rows[:], dtype=row)
    write_std_references(f, group, data)
