"""One of everything in HDF5's model, and what a program sees of it.

`python everything.py write PATH` makes a file with one of each (`write PATH 1.14`: without what that release
cannot read; `write PATH 1.14 tools`, `repack`: without what its tools, h5repack cannot do natively either); `python
everything.py describe PATH` prints, as JSON, every property that h5py shows, by object. Run natively and on
a store, the two descriptions must be equal. A script of its own, because HDF5 reads its environment once.
"""
import json
import sys

import h5py
import numpy as np
from h5py import h5a, h5d, h5f, h5g, h5o, h5p, h5s, h5t

from described import describe
from every_heap import write_lists, write_references
from every_source import write_external, write_virtual
from every_type import FOR_REPACK, FOR_TOOLS, FOR_ZARR_2, WITH_HDF5_2, fixed_types, pattern, variable_types
from libhdf5 import HID, LIB, call

UNKNOWN_FILTER = 300  # of HDF5's testing range: no library has it


def write_types(f):
    group = f.create_group("types")
    for name, made in fixed_types().items():
        space = h5s.create_simple((4,))
        dataset = h5d.create(group.id, name.encode(), made, space)
        values = pattern(name, made.get_size(), 4)
        dataset.write(h5s.ALL, h5s.ALL, values, mtype=made)
        attribute = h5a.create(dataset, b"same type", made, space)
        attribute.write(values, mtype=made)
        h5a.create(dataset, b"one", made, h5s.create(h5s.SCALAR)).write(values[: made.get_size()].copy(), mtype=made)
        h5a.create(dataset, b"nothing", made, h5s.create(h5s.NULL))
    for name, (dtype, values) in variable_types().items():
        dataset = group.create_dataset(name, (3,), dtype)
        attribute_values = None
        if values is not None:
            for i, value in enumerate(values):
                dataset[i] = value
            attribute_values = dataset[:]
        if attribute_values is not None:
            dataset.attrs.create("same type", attribute_values, dtype=dtype)
        group.create_dataset(name + "_unwritten", (2,), dtype)
        group.create_dataset(name + "_scalar", (), dtype)


def write_spaces(f):
    group = f.create_group("spaces")
    group["scalar"] = np.float32(1.1)
    group["null"] = h5py.Empty("<i4")
    group.create_dataset("null_string", data=h5py.Empty(h5py.string_dtype()))
    group.create_dataset("unlimited", data=np.arange(6, dtype="<u2").reshape(2, 3), maxshape=(None, 7), chunks=(2, 2))
    group.create_dataset("unlimited_all", (0, 3), "<i8", maxshape=(None, None), chunks=(1, 5))
    group.create_dataset("empty", (0,), "<i8")
    group.create_dataset("empty_middle", (2, 0, 3), "<i8")
    group.create_dataset("rank32", (1,) * 31 + (2,), "<i4", data=np.array([5, 6], "<i4").reshape((1,) * 31 + (2,)))
    if not FOR_TOOLS:  # h5dump divides by zero
        group.create_dataset("rank32_chunked", (2,) + (1,) * 31, "<i4", chunks=(1,) * 32)


def write_layouts(f):
    group = f.create_group("layouts")
    for layout in (h5d.COMPACT, h5d.CONTIGUOUS, h5d.CHUNKED):
        for time in (h5d.ALLOC_TIME_EARLY, h5d.ALLOC_TIME_LATE, h5d.ALLOC_TIME_INCR):
            if layout == h5d.COMPACT and time != h5d.ALLOC_TIME_EARLY or \
                    layout == h5d.CONTIGUOUS and time == h5d.ALLOC_TIME_INCR:
                continue
            for written in (False, True):
                dcpl = h5p.create(h5p.DATASET_CREATE)
                dcpl.set_layout(layout)
                if layout == h5d.CHUNKED:
                    dcpl.set_chunk((3, 2))
                dcpl.set_alloc_time(time)
                name = f"layout{layout}_alloc{time}_{written}".encode()
                dataset = h5d.create(group.id, name, h5t.STD_I32LE, h5s.create_simple((4, 3)), dcpl)
                if written:
                    dataset.write(h5s.ALL, h5s.ALL, np.arange(12, dtype="<i4").reshape(4, 3))


def write_fills(f):
    group = f.create_group("fills")
    for time in (h5d.FILL_TIME_ALLOC, h5d.FILL_TIME_NEVER, h5d.FILL_TIME_IFSET):
        if FOR_TOOLS and time == h5d.FILL_TIME_NEVER:
            continue  # they print what was in memory
        dcpl = h5p.create(h5p.DATASET_CREATE)
        dcpl.set_chunk((2,))
        dcpl.set_fill_time(time)
        dcpl.set_fill_value(np.array(7, "<i4"))
        h5d.create(group.id, f"time{time}".encode(), h5t.STD_I32LE, h5s.create_simple((3,)), dcpl)
    undefined = h5p.create(h5p.DATASET_CREATE)
    call("H5Pset_fill_value", HID(undefined.id), HID(h5t.STD_I32LE.id), None)
    if not FOR_TOOLS:  # they print what was in memory
        h5d.create(group.id, b"undefined", h5t.STD_I32LE, h5s.create_simple((3,)), undefined)
    group.create_dataset("zero", (3,), "<i4", fillvalue=0)
    for name, dtype, value in (
            ("u8_max", "<u8", 2**64 - 1), ("i8_min", ">i8", -(2**63)), ("nan", "<f4", np.nan),
            ("minus_zero", "<f8", -0.0), ("infinite", "<f2", -np.inf), ("complex", "<c8", complex(np.nan, -0.0)),
            ("long_double", np.longdouble, np.longdouble(1) / 3), ("text", "S4", b"ab"),
            ("row", np.dtype([("a", "<i4"), ("b", ">f8")]), np.array((7, -0.0), [("a", "<i4"), ("b", ">f8")])),
            ("bool", "?", True)):
        group.create_dataset(name, (3,), dtype, fillvalue=value)
    payload = np.array([0x7FF800000000BEEF], "<u8").view("<f8")
    group.create_dataset("nan_payload", (3,), "<f8", fillvalue=payload[0])
    if not FOR_TOOLS:  # H5Ocopy leaves what the value points to behind
        group.create_dataset("text_variable", (2,), h5py.string_dtype(), fillvalue="é fill")
    for name, made in fixed_types().items():
        size = made.get_size()
        value = pattern(name, size, 1)
        dcpl = h5p.create(h5p.DATASET_CREATE)
        buffer = value.tobytes()
        call("H5Pset_fill_value", HID(dcpl.id), HID(made.id), buffer)
        h5d.create(group.id, b"type_" + name.encode(), made, h5s.create_simple((2,)), dcpl)


def write_filters(f):
    group = f.create_group("filters")

    def dataset(name, setup, dtype="<i4", shape=(8, 8), chunks=(4, 4)):
        dcpl = h5p.create(h5p.DATASET_CREATE)
        dcpl.set_chunk(chunks)
        setup(dcpl)
        made = h5t.py_create(np.dtype(dtype))
        held = h5d.create(group.id, name.encode(), made, h5s.create_simple(shape), dcpl)
        held.write(h5s.ALL, h5s.ALL, np.arange(np.prod(shape)).reshape(shape).astype(dtype))

    for level in (0, 1, 6, 9):
        dataset(f"deflate{level}", lambda p: p.set_deflate(level))
    dataset("shuffle", lambda p: p.set_shuffle())
    dataset("shuffle_deflate", lambda p: (p.set_shuffle(), p.set_deflate(4)))
    dataset("deflate_shuffle", lambda p: (p.set_deflate(4), p.set_shuffle()))
    dataset("fletcher32", lambda p: p.set_fletcher32())
    dataset("all_three", lambda p: (p.set_shuffle(), p.set_deflate(2), p.set_fletcher32()))
    dataset("fletcher32_first", lambda p: (p.set_fletcher32(), p.set_shuffle(), p.set_deflate(2)))
    dataset("deflate_twice", lambda p: (p.set_deflate(2), p.set_deflate(3)))
    dataset("nbit", lambda p: p.set_filter(5, 0, ()))
    dataset("scaleoffset", lambda p: p.set_scaleoffset(h5py.h5z.SO_INT, 0))
    dataset("zstd", lambda p: p.set_filter(32015, h5py.h5z.FLAG_MANDATORY, (3,)))
    if not FOR_ZARR_2:
        dataset("shard", lambda p: p.set_filter(480, h5py.h5z.FLAG_OPTIONAL, (1, 2, 2, 2, 2 | 6 << 8)))
    dataset("nbit_compound", lambda p: p.set_filter(5, 0, ()), [("a", "<i2"), ("b", ">f4")])
    dataset("scaleoffset_float", lambda p: p.set_scaleoffset(h5py.h5z.SO_FLOAT_DSCALE, 2), "<f4")
    dataset("deflate_text", lambda p: (p.set_shuffle(), p.set_deflate(4)), "S3")
    dataset("deflate_unfilled", lambda p: p.set_deflate(4), shape=(0, 8))
    if FOR_TOOLS:
        return  # of the rest they have no filter
    dataset("szip", lambda p: p.set_szip(h5py.h5z.SZIP_NN_OPTION_MASK, 8))
    dataset("lzf", lambda p: p.set_filter(32000, h5py.h5z.FLAG_OPTIONAL, ()))
    dataset("deflate_optional", lambda p: p.set_filter(1, h5py.h5z.FLAG_OPTIONAL, (7,)))
    dataset("shuffle_mandatory", lambda p: p.set_filter(2, h5py.h5z.FLAG_MANDATORY, ()))
    dataset("unknown", lambda p: p.set_filter(UNKNOWN_FILTER, h5py.h5z.FLAG_OPTIONAL, (1, 2, 3)))
    dataset("unknown_and_deflate", lambda p: (p.set_filter(UNKNOWN_FILTER, h5py.h5z.FLAG_OPTIONAL, ()), p.set_deflate(1)))


def long_doubles():
    """Values with zeros where the type has no bits (NumPy leaves there what was in memory)."""
    values = np.array([np.longdouble(1) / 3, np.inf, -0.0], np.longdouble)
    values.view("u1").reshape(3, 16)[:, 10:] = 0
    return values


def write_attributes(f):
    holder = f.create_group("attributes")
    numbers = {"u8": np.array([0, 2**64 - 1], "<u8"), "i8": np.array([-(2**63), 2**63 - 1], ">i8"),
               "f8": np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324, 1.7976931348623157e308], "<f8"),
               "f4": np.array([1.1, np.nan, -0.0, 1e-45], "<f4"), "f2": np.array([1.1, np.nan, -0.0, 6e-8], ">f2"),
               "f8_payload": np.array([0x7FF800000000BEEF, 0xFFF0000000000001], "<u8").view("<f8"),
               "f4_payload": np.array([0x7FC0BEEF, 0xFF800001], "<u4").view("<f4"),
               "f2_payload": np.array([0x7E01, 0xFC01], "<u2").view("<f2"),
               "long_double": long_doubles(),
               "complex": np.array([complex(np.nan, -0.0), complex(np.inf, 1.1)], "<c8"),
               "one": np.array([7], "<i4"), "scalar": np.int8(-1), "empty": np.zeros((0,), "<i2"),
               "empty2": np.zeros((0, 3), "<f4"), "deep": np.arange(8, dtype="<i4").reshape(1, 2, 1, 4, 1),
               "large": np.arange(200_000, dtype="<i4"), "million": np.arange(1 << 20, dtype="u1"),
               "bool": np.array([True, False]), "bool_scalar": np.True_, "texts": np.array([b"a", b"bcd", b""], "S3"),
               "row": np.array([(1, 2.5)], [("a", "<i4"), ("b", "<f8")])}
    for name, value in numbers.items():
        holder.attrs[name] = value
    holder.attrs["text"] = "ä€𝄞"
    holder.attrs["text_list"] = ["a", "", "ü"]
    holder.attrs["text_empty"] = ""
    holder.attrs["words"] = ["NaN", "Infinity", "1"]
    holder.attrs["json"] = '{"a": [1, 2]}'
    holder.attrs["bytes"] = np.bytes_(b"abc")
    holder.attrs["null"] = h5py.Empty("<f4")
    holder.attrs["null_text"] = h5py.Empty("S5")
    holder.attrs["not utf-8"] = np.array([b"\xff\xfe", b"ok"], "S2")
    holder.attrs["ref"] = f.ref
    for name in ("a/b", " ", ".", "..", "ünïcödé €", "x" * (250 if FOR_TOOLS else 2000), "_hdf5", "_LINKS", "_ARRAY_DIMENSIONS",
                 "_FillValue", "zarr_conventions", "with\nnewline", "quote\"", "_REFERENCE"):
        holder.attrs[name] = 1
    for cset, name in ((h5t.CSET_ASCII, b"name in ascii"), (h5t.CSET_UTF8, b"name in utf8")):
        acpl = LIB.H5Pcreate
        acpl.restype = HID
        acpl = acpl(HID.in_dll(LIB, "H5P_CLS_ATTRIBUTE_CREATE_ID_g"))
        call("H5Pset_char_encoding", HID(acpl), cset)
        made = LIB.H5Acreate2
        made.restype = HID
        scalar = h5s.create(h5s.SCALAR)
        attribute = made(HID(holder.id.id), name, HID(h5t.STD_I32LE.id), HID(scalar.id),
                         HID(acpl), HID(0))
        assert attribute >= 0
        call("H5Aclose", HID(attribute))


def write_groups(f):
    for order in (0, h5p.CRT_ORDER_TRACKED, h5p.CRT_ORDER_TRACKED | h5p.CRT_ORDER_INDEXED):
        for kind in ("links", "attributes", "both"):
            gcpl = h5p.create(h5p.GROUP_CREATE)
            if kind != "attributes":
                gcpl.set_link_creation_order(order)
            if kind != "links":
                gcpl.set_attr_creation_order(order)
            group = h5py.Group(h5g.create(f.id, f"order{order}_{kind}".encode(), gcpl=gcpl))
            for name in ("z", "a", "m"):
                group.create_group(name)
                group.attrs[name] = name
            group["soft"] = h5py.SoftLink("/types/enum")
            group["again"] = group["z"]
    phases = h5p.create(h5p.GROUP_CREATE)
    call("H5Pset_link_phase_change", HID(phases.id), 5, 3)
    phases.set_attr_phase_change(4, 2)
    call("H5Pset_est_link_info", HID(phases.id), 9, 11)
    h5g.create(f.id, b"phases", gcpl=phases)
    dcpl = h5p.create(h5p.DATASET_CREATE)
    dcpl.set_attr_phase_change(3, 1)
    dcpl.set_attr_creation_order(h5p.CRT_ORDER_TRACKED)
    h5d.create(f.id, b"dataset_phases", h5t.STD_I8LE, h5s.create_simple((1,)), dcpl)
    for name, track in (("tracked", True), ("untracked", False)):
        for make, plist in (("group", h5p.GROUP_CREATE), ("dataset", h5p.DATASET_CREATE)):
            listed = h5p.create(plist)
            listed.set_obj_track_times(track)
            if make == "group":
                h5g.create(f.id, f"{name}_{make}".encode(), gcpl=listed)
            else:
                h5d.create(f.id, f"{name}_{make}".encode(), h5t.STD_I8LE, h5s.create_simple((1,)), listed)


def write_links(f):
    links = f.create_group("links")
    links["target"] = np.arange(3)
    links["hard"] = links["target"]
    links["soft"] = h5py.SoftLink("target")
    links["dangling"] = h5py.SoftLink("/no/where")
    links["external"] = h5py.ExternalLink("other file.h5", "/x/y")
    links["group/below"] = links
    links["ünï €"] = 1
    for cset, name in ((h5t.CSET_ASCII, b"ascii"), (h5t.CSET_UTF8, b"utf8")):
        lcpl = h5p.create(h5p.LINK_CREATE)
        lcpl.set_char_encoding(cset)
        h5g.create(links.id, name, lcpl=lcpl)
        links.id.links.create_soft(b"soft " + name, b"target", lcpl=lcpl)


def write_comments(f):
    for name, comment in (("types", b"a comment"), ("types/enum", "Bemerkung €".encode()), ("committed/number", b"c")):
        h5o.set_comment(f[name].id, comment)
    h5o.set_comment(f.id, b"of the root")


def write_committed(f):
    group = f.create_group("committed")
    group["number"] = np.dtype("<i4")
    group["row"] = np.dtype([("x", "<f8"), ("text", h5py.string_dtype())])
    group.create_dataset("data", data=np.arange(3, dtype="<i4"), dtype=group["number"])
    group.create_dataset("rows", (2,), dtype=group["row"])
    for name, predefined in fixed_types().items():
        made = predefined.copy()
        made.commit(group.id, b"type_" + name.encode())
        dataset = h5d.create(group.id, b"data_" + name.encode(), made, h5s.create_simple((2,)))
        dataset.write(h5s.ALL, h5s.ALL, pattern(name, made.get_size(), 2), mtype=predefined)
        h5py.Datatype(made).attrs["of"] = name
    group.attrs.create("number", np.arange(2, dtype="<i4"), dtype=group["number"])
    made = LIB.H5Pcreate
    made.restype = HID
    tcpl = made(HID.in_dll(LIB, "H5P_CLS_DATATYPE_CREATE_ID_g"))
    call("H5Pset_attr_creation_order", HID(tcpl), 3)
    ordered = h5t.STD_I32LE.copy()
    call("H5Tcommit2", HID(group.id.id), b"ordered", HID(ordered.id), HID(0), HID(tcpl), HID(0))
    for name in "zam":
        group["ordered"].attrs[name] = name


def write_scales(f):
    group = f.create_group("scales")
    data = group.create_dataset("data", data=np.zeros((3, 4)))
    group["x"] = np.arange(3.0)
    group["y"] = np.arange(4.0)
    group["other"] = np.arange(3.0)
    for name, title in (("x", "X axis"), ("y", ""), ("other", "ö")):
        group[name].make_scale(title)
    data.dims[0].attach_scale(group["x"])
    data.dims[0].attach_scale(group["other"])
    data.dims[1].attach_scale(group["y"])
    data.dims[0].label = "first"


SECTIONS = [write_types, write_spaces, write_layouts, write_fills, write_filters, write_attributes, write_groups,
            write_links, write_committed, write_references, write_scales, write_lists, write_virtual, write_external,
            write_comments]


def write(path):
    fcpl = h5p.create(h5p.FILE_CREATE)
    fcpl.set_attr_creation_order(h5p.CRT_ORDER_TRACKED)
    if not FOR_REPACK:  # it opens the file to copy it
        fcpl.set_userblock(1024)
    call("H5Pset_sym_k", HID(fcpl.id), 8, 6)
    call("H5Pset_istore_k", HID(fcpl.id), 48)
    fapl = h5p.create(h5p.FILE_ACCESS)
    newest = h5f.LIBVER_LATEST if WITH_HDF5_2 else h5f.LIBVER_V114
    fapl.set_libver_bounds(newest, newest)
    with h5py.File(h5f.create(path.encode(), h5f.ACC_TRUNC, fcpl, fapl)) as f:
        for section in SECTIONS:
            section(f)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2])
    else:
        json.dump(describe(sys.argv[2]), sys.stdout)
