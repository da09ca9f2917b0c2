"""Writes the metadata documents beside this script, and index.json with what they say.

Documents come from zarr-python and tensorstore; what they must be read as comes from NumPy, which knows
the bytes of every fill value. Versions are in index.json. Run: python make.py
"""
import json
import os
import tempfile
import warnings

import ml_dtypes
import numpy as np
import tensorstore as ts
import zarr

warnings.simplefilter("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
for old in os.listdir(HERE):
    if old.endswith(".json"):
        os.remove(os.path.join(HERE, old))
index = {"zarr-python": zarr.__version__, "tensorstore": ts.__version__ if hasattr(ts, "__version__") else
         __import__("importlib.metadata").metadata.version("tensorstore"), "numpy": np.__version__, "documents": []}


def describe(dt, endian):
    """A NumPy type as the test spells a DType; `endian` overrides (v3: the codec's)."""
    order = {"<": "little", ">": "big", "=": "little", "|": "little"}[dt.byteorder]
    order = endian or order
    kinds = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex", "S": "bytes", "U": "utf32",
             "V": "raw", "M": "datetime", "m": "timedelta"}
    if dt.names:
        fields = []
        for name in dt.names:
            member, offset = dt.fields[name][:2]
            base, shape = member.subdtype or (member, ())
            fields.append(f"{name}@{offset}{list(shape) if shape else ''}:{describe(base, endian)}")
        return "struct%d{%s}" % (dt.itemsize, ",".join(fields))
    text = f"{kinds[dt.kind]}{dt.itemsize}"
    if dt.kind in "Mm":
        unit, scale = np.datetime_data(dt)
        text += f"({unit},{scale})"
    multi = dt.itemsize > 1 if dt.kind in "iuf" else dt.kind in "cUMm"
    return text + (":" + order if multi else "")


def add(name, text, dtype, fill, defined=True, codecs=(), **more):
    with open(os.path.join(HERE, name + ".json"), "w") as f:
        f.write(text)
    index["documents"].append(dict(file=name + ".json", dtype=dtype, fill=fill.hex(), defined=defined,
                                   codecs=list(codecs), **more))


def order(dt, codec):
    """The fill's bytes in the stored order."""
    return dt.newbyteorder("<" if codec == "little" else ">")


def zp(name, fmt, dt, fill=None, endian=None, expect=None, dtype=None, **kw):
    store = zarr.storage.MemoryStore()
    if fmt == 3 and endian:
        kw["serializer"] = zarr.codecs.BytesCodec(endian=endian)
    a = zarr.create_array(store, shape=(3, 4), chunks=(2, 2), dtype=dt, zarr_format=fmt, fill_value=fill,
                          compressors=None, **kw)
    text = store._store_dict["zarr.json" if fmt == 3 else ".zarray"].to_bytes().decode()
    if expect is None:
        stored = dt.newbyteorder({"little": "<", "big": ">"}[endian or "little"]) if fmt == 3 else dt
        value = np.zeros((), stored) if fill is None else np.array(fill).astype(stored)
        expect = value.tobytes()
    doc = json.loads(text)
    add(f"v{fmt}-{name}", text, dtype or describe(dt, (endian or "little") if fmt == 3 else None), expect,
        defined=doc["fill_value"] is not None, codecs=[c["name"] for c in doc.get("codecs", []) if c["name"] != "bytes"]
        + [c["id"] for c in doc.get("filters") or []])


NAT = np.int64(-2**63)
for fmt in (3, 2):
    for name, dt, fill in [
        ("bool", "?", True), ("int8", "i1", -128), ("int16", "<i2", -2), ("int32", "<i4", 7), ("int64", "<i8", -2**63),
        ("uint8", "u1", 255), ("uint16", "<u2", 65535), ("uint32", "<u4", 2**32 - 1), ("uint64", "<u8", 2**64 - 1),
        ("float16", "<f2", 0.1), ("float32", "<f4", 1.1), ("float64", "<f8", 1e-310), ("float64-nan", "<f8", np.nan),
        ("float32-inf", "<f4", -np.inf), ("complex64", "<c8", complex(1.5, np.inf)), ("complex128", "<c16", 1 - 2j),
        ("datetime", "<M8[10s]", np.datetime64(70, "s").astype("M8[10s]")), ("timedelta", "<m8[ns]", np.timedelta64(-5, "ns")),
        ("datetime-nat", "<M8[ms]", np.datetime64("NaT", "ms")),
        ("bytes", "S4", b"ab"), ("utf32", "<U3", "h\u00e9"), ("raw", "V5", np.void(b"\x01\x02\x03\x04\xff")),
    ]:
        dt = np.dtype(dt)
        zp(name, fmt, dt, fill)
    zp("none", fmt, np.dtype("<i4"))
    t = np.dtype([("a", "<i4"), ("b", "<f8"), ("s", "S3")])
    zp("struct", fmt, t, np.array((1, 2.5, b"xy"), t)[()])
    zp("string", fmt, str, "h\u00e9", expect="h\u00e9".encode(), dtype="string")
    zp("vlen-bytes", fmt, zarr.dtype.VariableLengthBytes(), b"ab\xff", expect=b"ab\xff", dtype="vlenbytes")
t = np.dtype([("a", "<i4"), ("n", [("x", "<f4"), ("y", "<u2")])])
zp("struct-nested", 3, t, np.array((1, (2.5, 3)), t)[()])
zp("big-int32", 3, np.dtype(">i4"), 258, endian="big")
zp("big-utf32", 3, np.dtype(">U2"), "xy", endian="big")
zp("big-int32", 2, np.dtype(">i4"), 258)
zp("big-float64", 2, np.dtype(">f8"), np.nan)
t = np.dtype([("a", ">i4"), ("b", "<f8")])
zp("struct-mixed-order", 2, t, np.array((1, 2.5), t)[()])
zp("order-f", 2, np.dtype("<i4"), 1, order="F")
index["documents"][-1]["codecs"] = ["transpose"]
zp("sharded", 3, np.dtype("<i4"), 1, shards=(4, 4))

# tensorstore: its types beyond NumPy's, and a byte order that only the inner codec says.
for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz"):
    dt = np.dtype(getattr(ml_dtypes, name))
    for tag, fill in (("", 1.5), ("-nan", float("nan"))):
        with tempfile.TemporaryDirectory() as d:
            ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": d + "/"}, "metadata": {
                "data_type": name, "shape": [3, 4], "fill_value": fill if fill == fill else "NaN"}}, create=True).result()
            text = open(d + "/zarr.json").read()
        add(f"ts-{name}{tag}", text, f"float{dt.itemsize}" + (":little" if dt.itemsize > 1 else "") + "/" + name,
            np.array(fill, dt).tobytes())
with tempfile.TemporaryDirectory() as d:
    ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": d + "/"}, "metadata": {
        "data_type": "int32", "shape": [8, 8], "fill_value": 258,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 8]}},
        "codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}},
                   {"name": "sharding_indexed", "configuration": {"chunk_shape": [4, 4], "codecs": [
                       {"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 2], "codecs": [
                           {"name": "bytes", "configuration": {"endian": "big"}}, {"name": "gzip", "configuration": {"level": 5}}],
                           "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}],
                       "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}}]}},
        create=True).result()
    text = open(d + "/zarr.json").read()
add("ts-nested-shards-big", text, "int4:big", (258).to_bytes(4, "big"), codecs=["transpose", "sharding_indexed"])
with open(os.path.join(HERE, "index.json"), "w") as f:
    json.dump(index, f, indent=1)
    f.write("\n")
