"""One of everything in HDF5's model, and what a program sees of it.

`python everything.py write PATH` makes a file with one of each (`write PATH 1.14`: without what that release
cannot read); `python everything.py describe PATH`
prints, as JSON, every property that h5py shows, by object. Run natively and on a store, the two
descriptions must be equal. A script of its own, because HDF5 reads its environment once.
"""
import ctypes
import json
import sys

import h5py
import numpy as np
from h5py import h5a, h5d, h5f, h5g, h5o, h5p, h5r, h5s, h5t

from described import describe
from libhdf5 import HID, LIB, call

UNKNOWN_FILTER = 300  # of HDF5's testing range: no library has it


def integer(base, precision, offset=0, pad=None):
    odd = base.copy()
    call("H5Tset_precision", HID(odd.id), ctypes.c_size_t(precision))
    call("H5Tset_offset", HID(odd.id), ctypes.c_size_t(offset))
    if pad:
        odd.set_pad(*pad)
    return odd


def custom_float(size, fields, bias, order=h5t.ORDER_LE, norm=None):
    made = (h5t.IEEE_F64LE if size == 8 else h5t.IEEE_F32LE).copy()
    if size > 4:
        made = h5t.IEEE_F64LE.copy()
    made.set_fields(*fields)
    made.set_size(size) if size >= 4 else None
    made.set_precision(8 * size)
    made.set_size(size)
    made.set_ebias(bias)
    made.set_order(order)
    if norm is not None:
        made.set_norm(norm)
    return made


def string(size, pad=h5t.STR_NULLTERM, cset=h5t.CSET_ASCII):
    made = h5t.C_S1.copy()
    made.set_size(size)
    made.set_strpad(pad)
    made.set_cset(cset)
    return made


def opaque(size, tag):
    made = h5t.create(h5t.OPAQUE, size)
    made.set_tag(tag)
    return made


def enum(base, **members):
    made = h5t.enum_create(base)
    for name, value in members.items():
        made.enum_insert(name.encode(), value)
    return made


def compound(size, **members):
    made = h5t.create(h5t.COMPOUND, size)
    for name, (offset, member) in members.items():
        made.insert(name.encode(), offset, member)
    return made


def fixed_types():
    """Types whose elements are bytes of a fixed number, by name."""
    types = {
        "int3_of_8": integer(h5t.STD_I8LE, 3),
        "int11_at_2_of_16": integer(h5t.STD_I16LE, 11, 2),
        "uint24_of_32_be": integer(h5t.STD_U32BE, 24, 4),
        "int_padded_with_ones": integer(h5t.STD_I32LE, 17, 3, (h5t.PAD_ONE, h5t.PAD_ONE)),
        "enum": enum(h5t.STD_I16BE, RED=0, GREEN=-7, BLUE=300),
        "enum_u64": enum(h5t.STD_U64LE, SMALL=0, LARGE=2**62),
        "bool": enum(h5t.STD_I8LE, FALSE=0, TRUE=1),
        "bool_be_32": enum(h5t.STD_I32BE, FALSE=0, TRUE=1),
        "complex64": h5t.py_create(np.dtype("<c8")),
        "complex128_be": h5t.py_create(np.dtype(">c16")),
        "bitfield8": h5t.STD_B8LE, "bitfield16_be": h5t.STD_B16BE, "bitfield64": h5t.STD_B64LE,
        "bitfield_odd": integer(h5t.STD_B32LE, 5, 9),
        "opaque": opaque(5, b"a tag"), "opaque_plain": opaque(3, b""), "opaque_one": opaque(1, b"x" * 200),
        "datetime": opaque(8, b"NUMPY:<M8[us]"), "timedelta_be": opaque(8, b"NUMPY:>m8[3h]"),
        "time32": h5t.UNIX_D32LE, "time32_be": h5t.UNIX_D32BE,
        "float16": h5t.IEEE_F16LE, "float32_be": h5t.IEEE_F32BE, "float64": h5t.IEEE_F64LE,
        "long_double": h5t.NATIVE_LDOUBLE,
        "bfloat16": custom_float(2, (15, 7, 8, 0, 7), 127),
        "bfloat16_be": custom_float(2, (15, 7, 8, 0, 7), 127, h5t.ORDER_BE),
        "float8_e4m3": custom_float(1, (7, 3, 4, 0, 3), 7), "float8_e5m2": custom_float(1, (7, 2, 5, 0, 2), 15),
        "float24": custom_float(3, (23, 15, 8, 0, 15), 127),
        "array": h5t.array_create(h5t.STD_I16BE, (2, 3)),
        "array_of_array": h5t.array_create(h5t.array_create(h5t.STD_U8LE, (2,)), (3, 1)),
        "array_of_strings": h5t.array_create(string(4), (2,)),
        "array_of_enums": h5t.array_create(enum(h5t.STD_U8LE, A=1, B=2), (2,)),
        "compound": compound(6, a=(0, h5t.STD_I16LE), b=(2, h5t.IEEE_F32LE)),
        "compound_padded": compound(32, a=(3, h5t.STD_I16BE), b=(8, h5t.IEEE_F64LE), c=(25, h5t.STD_U8LE)),
        "compound_backwards": compound(12, z=(8, h5t.STD_I32LE), a=(0, h5t.IEEE_F64BE)),
        "compound_nested": compound(40, head=(0, compound(12, x=(4, h5t.STD_I32LE), y=(0, h5t.STD_U16BE))),
                                    list=(16, h5t.array_create(h5t.STD_I16LE, (2, 2))),
                                    text=(25, string(5, h5t.STR_SPACEPAD)), flag=(32, enum(h5t.STD_I8LE, FALSE=0, TRUE=1)),
                                    odd=(36, integer(h5t.STD_I32LE, 9, 1))),
        "compound_names": compound(4, **{" ": (0, h5t.STD_I8LE), "ä/b": (1, h5t.STD_I8LE), "a b": (2, h5t.STD_I8LE),
                                         "v[0]": (3, h5t.STD_I8LE)}),
        "compound_large": compound(300, big=(0, h5t.array_create(h5t.STD_U8LE, (300,)))),
    }
    for pad, name in ((h5t.STR_NULLTERM, "term"), (h5t.STR_NULLPAD, "null"), (h5t.STR_SPACEPAD, "space")):
        types[f"string_{name}"] = string(6, pad)
        types[f"string_{name}_utf8"] = string(6, pad, h5t.CSET_UTF8)
    if hasattr(h5t, "COMPLEX_IEEE_F32LE") and "1.14" not in sys.argv:
        types.update(complex_native=h5t.COMPLEX_IEEE_F32LE, complex_native_be=h5t.COMPLEX_IEEE_F64BE,
                     complex_native_half=h5t.COMPLEX_IEEE_F16LE)
    return types


def variable_types():
    """h5py's dtypes and values of elements of variable length."""
    text, short = h5py.string_dtype(), np.dtype("<i2")
    row = np.dtype([("n", "<i4"), ("text", h5py.string_dtype("ascii")), ("list", h5py.vlen_dtype(short))])
    nested = h5py.vlen_dtype(h5py.vlen_dtype(short))
    return {
        "text": (text, ["", "ä€𝄞", "x" * 300]),
        "ascii": (h5py.string_dtype("ascii"), ["abc", "", "def"]),
        "list": (h5py.vlen_dtype(short), [np.arange(3, dtype=short), np.arange(0, dtype=short), np.arange(1, dtype=short)]),
        "list_be": (h5py.vlen_dtype(np.dtype(">f8")), [np.array([1.5, np.nan], ">f8")] * 3),
        "list_of_texts": (h5py.vlen_dtype(text), [np.array(["a", "bc"], object), np.array([], object), np.array([""], object)]),
        "list_of_lists": (nested, None),
        "list_of_rows": (h5py.vlen_dtype(np.dtype([("a", "<i4"), ("b", "<f8")])),
                         [np.array([(1, 2.5)], [("a", "<i4"), ("b", "<f8")])] * 3),
        "rows": (row, [(1, b"one", np.array([1], short)), (2, b"", np.array([], short)), (3, b"three", np.array([3, 4], short))]),
    }


# Bits that are no part of the value (padding) are not kept, so they are what a conversion makes them.
VALUE_BITS = {"int3_of_8": ("<u1", 0x03, 0), "int11_at_2_of_16": ("<u2", 0x0FFC, 0),
              "uint24_of_32_be": (">u4", 0x0FFFFFF0, 0), "int_padded_with_ones": ("<u4", 0x0007FFF8, 0xFFF00007)}


def pattern(name, bytes_each, count):
    """Bytes that differ by type, within what every type can hold."""
    if name.startswith(("bool", "enum", "array_of_enums", "compound_nested")):
        return np.zeros(bytes_each * count, "u1")
    if "string" in name or "names" in name:
        return np.frombuffer(b"ab".ljust(4 if "array" in name else 6, b"\0") * (bytes_each * count), "u1")[
            : bytes_each * count].copy()
    values = (np.arange(bytes_each * count) * 37 + len(name)).astype("u1") & 0x3F
    if name in VALUE_BITS:
        word, mask, ones = VALUE_BITS[name]
        words = values.view(word)
        words &= mask
        words |= ones
    if name == "compound_padded":
        for start, end in ((0, 3), (5, 8), (16, 25), (26, 32)):
            values.reshape(count, bytes_each)[:, start:end] = 0
    if name == "long_double":
        values.reshape(count, bytes_each)[:, 10:] = 0
    return values


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


def unless_refused(create, *arguments, **more):
    """Some fill values have no form in a store: it says so, and names are missing from it."""
    try:
        create(*arguments, **more)
    except ValueError as error:
        if "has no form in Zarr" not in str(error):
            raise


def write_fills(f):
    group = f.create_group("fills")
    for time in (h5d.FILL_TIME_ALLOC, h5d.FILL_TIME_NEVER, h5d.FILL_TIME_IFSET):
        dcpl = h5p.create(h5p.DATASET_CREATE)
        dcpl.set_chunk((2,))
        dcpl.set_fill_time(time)
        dcpl.set_fill_value(np.array(7, "<i4"))
        h5d.create(group.id, f"time{time}".encode(), h5t.STD_I32LE, h5s.create_simple((3,)), dcpl)
    undefined = h5p.create(h5p.DATASET_CREATE)
    call("H5Pset_fill_value", HID(undefined.id), HID(h5t.STD_I32LE.id), None)
    h5d.create(group.id, b"undefined", h5t.STD_I32LE, h5s.create_simple((3,)), undefined)
    group.create_dataset("zero", (3,), "<i4", fillvalue=0)
    for name, dtype, value in (
            ("u8_max", "<u8", 2**64 - 1), ("i8_min", ">i8", -(2**63)), ("nan", "<f4", np.nan),
            ("minus_zero", "<f8", -0.0), ("infinite", "<f2", -np.inf), ("complex", "<c8", complex(np.nan, -0.0)),
            ("long_double", np.longdouble, np.longdouble(1) / 3), ("text", "S4", b"ab"),
            ("row", np.dtype([("a", "<i4"), ("b", ">f8")]), np.array((7, -0.0), [("a", "<i4"), ("b", ">f8")])),
            ("bool", "?", True)):
        unless_refused(group.create_dataset, name, (3,), dtype, fillvalue=value)
    payload = np.array([0x7FF800000000BEEF], "<u8").view("<f8")
    group.create_dataset("nan_payload", (3,), "<f8", fillvalue=payload[0])
    group.create_dataset("text_variable", (2,), h5py.string_dtype(), fillvalue="é fill")
    for name, made in fixed_types().items():
        size = made.get_size()
        value = pattern(name, size, 1)
        dcpl = h5p.create(h5p.DATASET_CREATE)
        buffer = value.tobytes()
        call("H5Pset_fill_value", HID(dcpl.id), HID(made.id), buffer)
        unless_refused(h5d.create, group.id, b"type_" + name.encode(), made, h5s.create_simple((2,)), dcpl)


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
    for name in ("a/b", " ", ".", "..", "ünïcödé €", "x" * 2000, "_hdf5", "_LINKS", "_ARRAY_DIMENSIONS",
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
    group.attrs.create("number", np.arange(2, dtype="<i4"), dtype=group["number"])
    for name, made in fixed_types().items():
        made.copy().commit(group.id, b"type_" + name.encode())
    made = LIB.H5Pcreate
    made.restype = HID
    tcpl = made(HID.in_dll(LIB, "H5P_CLS_DATATYPE_CREATE_ID_g"))
    call("H5Pset_attr_creation_order", HID(tcpl), 3)
    ordered = h5t.STD_I32LE.copy()
    call("H5Tcommit2", HID(group.id.id), b"ordered", HID(ordered.id), HID(0), HID(tcpl), HID(0))
    for name in "zam":
        group["ordered"].attrs[name] = name


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
    row = np.dtype([("n", "<i4"), ("o", h5py.ref_dtype), ("r", h5py.regionref_dtype), ("a", h5py.ref_dtype, (2,))])
    rows = group.create_dataset("rows", (2,), row)
    rows[0] = (1, data.ref, regions[0], (f.ref, h5py.Reference()))
    lists = group.create_dataset("lists", (2,), h5py.vlen_dtype(h5py.ref_dtype))
    lists[1] = np.array(objects, h5py.ref_dtype)
    group.attrs.create("regions", np.array(regions, h5py.regionref_dtype))
    group.attrs.create("objects", np.array(objects, h5py.ref_dtype))
    group.attrs.create("rows", rows[:], dtype=row)


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
            write_links, write_committed, write_references, write_scales, write_comments]


def write(path):
    fcpl = h5p.create(h5p.FILE_CREATE)
    fcpl.set_attr_creation_order(h5p.CRT_ORDER_TRACKED)
    fapl = h5p.create(h5p.FILE_ACCESS)
    newest = h5f.LIBVER_V114 if "1.14" in sys.argv else h5f.LIBVER_LATEST
    fapl.set_libver_bounds(newest, newest)
    with h5py.File(h5f.create(path.encode(), h5f.ACC_TRUNC, fcpl, fapl)) as f:
        for section in SECTIONS:
            section(f)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2])
    else:
        json.dump(describe(sys.argv[2]), sys.stdout)
