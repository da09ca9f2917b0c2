"""One type of every kind HDF5 has, and values for them."""
import ctypes
import sys

import h5py
import numpy as np
from h5py import h5t

from libhdf5 import HID, call

WITH_HDF5_2 = hasattr(h5t, "COMPLEX_IEEE_F32LE") and "1.14" not in sys.argv
# Without what h5diff, h5dump and h5repack 1.14.6 cannot do with an HDF5 file either.
FOR_TOOLS = "tools" in sys.argv or "repack" in sys.argv
FOR_REPACK = "repack" in sys.argv
FOR_ZARR_2 = "v2" in sys.argv  # without shards
NOT_FOR_TOOLS = {"time32", "time32_be"}  # they have no native type

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
    if WITH_HDF5_2:
        types.update(complex_native=h5t.COMPLEX_IEEE_F32LE, complex_native_be=h5t.COMPLEX_IEEE_F64BE,
                     complex_native_half=h5t.COMPLEX_IEEE_F16LE)
    return {name: made for name, made in types.items() if not (FOR_TOOLS and name in NOT_FOR_TOOLS)}


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
