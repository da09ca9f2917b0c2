"""Makes the stores beside it: one a writer (store.tar.xz, as a store has hundreds of small files), each with
every data type, codec, order, key encoding and form of sharding that writer has, and what must be read
(expected.npz; texts in texts.json).

Run with the writers of versions.json: python make.py [folder]
"""
import io
import itertools
import json
import shutil
import sys
import tarfile
import warnings
from importlib.metadata import version
from pathlib import Path

import ml_dtypes
import numcodecs
import numcodecs.zarr3
import numpy as np
import tensorstore
import zarr
from zarr.codecs import (BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec,
                         ZstdCodec)

warnings.simplefilter("ignore")
HERE = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
NUMBERS = ["?", "i1", "<i2", ">i2", "<i4", ">i4", "<i8", ">i8", "u1", "<u2", ">u2", "<u4", ">u4", "<u8",
           ">u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "<c8", ">c8", "<c16", ">c16"]
TEXTS = ["", "a", "zwölf", "数据", "😀 not of the BMP", "x" * 50, "end"]
POINT = np.dtype([("id", "<i4"), ("at", "<f8"), ("flag", "u1")])
NESTED = np.dtype([("id", "<u2"), ("in", [("x", "<f4"), ("y", "<i8")])])


def numbers(shape, dtype):
    dtype = np.dtype(dtype)
    count = np.arange(int(np.prod(shape)))
    if dtype.kind == "b":
        return (count % 3 == 0).reshape(shape)
    if dtype.kind == "c":
        return (count - 7.25 + 1j * (count % 11)).astype(dtype).reshape(shape)
    return (count % 120 - (7.25 if dtype.kind == "f" else 0)).astype(dtype).reshape(shape)


def pack(folder):
    """Makes the store a file of its own, the same for the same content."""
    store = folder / "store.zarr"
    with tarfile.open(folder / "store.tar.xz", "w:xz") as packed:
        for file in sorted(f for f in store.rglob("*") if f.is_file()):
            member = tarfile.TarInfo(str(file.relative_to(store)))
            member.size = file.stat().st_size
            packed.addfile(member, io.BytesIO(file.read_bytes()))
    shutil.rmtree(store)


class Maker:
    """Writes arrays by zarr-python into one store, and notes what they hold."""

    def __init__(self, name, zarr_format):
        self.folder, self.format = HERE / name, zarr_format
        shutil.rmtree(self.folder, ignore_errors=True)
        self.store = self.folder / "store.zarr"
        self.group = zarr.open_group(self.store, mode="w", zarr_format=zarr_format)
        self.expected, self.texts = {}, {}

    def expect(self, name, data):
        data = np.asarray(data)
        if data.dtype.kind in "OUT":
            self.texts[name] = data.astype(object).tolist()
        else:
            self.expected[name] = data.view("i8") if data.dtype.kind in "mM" else data

    def add(self, name, data, dtype=None, region=Ellipsis, **how):
        data = np.asarray(data)
        how.setdefault("chunks", tuple(max(1, (n + 1) // 2) for n in data.shape))
        if how.get("shards") == "all":
            how["shards"] = tuple(2 * n for n in how["chunks"])
        a = self.group.create_array(name, shape=data.shape, dtype=dtype or data.dtype, **how)
        a[region] = data[region]
        self.expect(name, a[...])
        assert region is not Ellipsis or np.asarray(a[...]).tolist() == data.tolist(), name

    def finish(self):
        np.savez_compressed(self.folder / "expected.npz", **self.expected)
        (self.folder / "texts.json").write_text(json.dumps(self.texts, indent=1, ensure_ascii=False))
        pack(self.folder)


def common(m):
    for dtype in NUMBERS:
        name = ("be_" if dtype[0] == ">" else "") + np.dtype(dtype).name
        m.add(f"type/{name}", numbers((3, 5), dtype))
    m.add("type/scalar", np.float32(2.5), chunks=())
    m.add("type/empty", np.zeros((0, 3), "i2"), chunks=(2, 2))
    m.add("type/small", np.arange(3, dtype="i2"), chunks=(100,))
    m.add("type/bytes", np.array([b"", b"ab", b"abcde"], "S5"))
    m.add("type/utf32", np.array(["", "ü", "数据😀x"], "U4"))
    m.add("type/string", np.array(TEXTS, object), dtype=str, chunks=(3,))
    for unit in ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"]:
        m.add(f"type/datetime_{unit}", np.array([0, 1, -1, 2**31], "i8").view(f"M8[{unit}]"))
        m.add(f"type/timedelta_{unit}", np.array([0, 1, -1, 2**31], "i8").view(f"m8[{unit}]"))
    m.add("type/datetime_25s", np.array([0, 1, -1], "i8").view("M8[25s]"))
    m.add("type/nat", np.array(["NaT", "2001-01-01"], "M8[s]"), fill_value=np.datetime64("NaT"))
    m.add("type/struct", np.array([(1, 2.5, 3), (-4, -5.25, 255), (7, np.inf, 0)], POINT))
    fills = {"?": [True], "i4": [-5], "u8": [2**64 - 1], "f4": [np.nan, np.inf, -np.inf, -0.0],
             "c8": [complex(np.nan, -1)], "S5": [b"ab"], "U3": ["数😀"]}
    for dtype, values in fills.items():
        for k, value in enumerate(values):
            data = np.full((5,), value, dtype)
            data[0] = np.zeros((), dtype)[()]
            m.add(f"fill/{np.dtype(dtype).name}_{k}", data, chunks=(2,), fill_value=data[1], region=slice(0, 1))
    m.add("fill/string", np.array(["x"] + [""] * 4, object), dtype=str, chunks=(2,), region=slice(0, 1))
    data = numbers((6, 4, 5), "<u2")
    for kind, separator in itertools.product(["default", "v2"], "./") if m.format == 3 else [("v2", "."), ("v2", "/")]:
        m.add(f"keys/{kind}_{'dot' if separator == '.' else 'slash'}", data,
              chunk_key_encoding={"name": kind, "separator": separator})


def v3(m):
    common(m)
    m.add("type/nested", np.array([(1, (2.5, -3)), (4, (5, 6))], NESTED))
    m.add("type/raw", np.array([b"abcd", b"\0\1\2\3"], "V4"))
    codecs = {"none": None, "gzip": GzipCodec(level=5), "zstd": ZstdCodec(level=3, checksum=True),
              "crc32c": Crc32cCodec(), "two": [GzipCodec(), ZstdCodec(), Crc32cCodec()]}
    codecs |= {f"blosc_{c}_{s}": BloscCodec(cname=c, shuffle=s) for c, s in itertools.product(
        ["lz4", "lz4hc", "zlib", "zstd", "blosclz"], ["noshuffle", "shuffle", "bitshuffle"])}
    data = numbers((7, 9), "<i4")
    for name, compressors in codecs.items():
        m.add(f"codec/{name}", data, compressors=compressors)
        m.add(f"shard/{name}", data, chunks=(2, 3), shards=(4, 6), compressors=compressors)
    for name, codec in {"zlib": numcodecs.zarr3.Zlib(level=1), "bz2": numcodecs.zarr3.BZ2(level=1),
                        "lz4": numcodecs.zarr3.LZ4(), "lzma": numcodecs.zarr3.LZMA(preset=1),
                        "shuffle": numcodecs.zarr3.Shuffle(elementsize=4), "fletcher32": numcodecs.zarr3.Fletcher32(),
                        "adler32": numcodecs.zarr3.Adler32(), "crc32": numcodecs.zarr3.CRC32()}.items():
        m.add(f"codec/numcodecs_{name}", data, compressors=codec)
    m.add("codec/delta", data, filters=numcodecs.zarr3.Delta(dtype="<i4"))
    cube = numbers((4, 5, 6), "<i2")
    for order in itertools.permutations(range(3)):
        name = "".join(map(str, order))
        m.add(f"transpose/{name}", cube, filters=TransposeCodec(order=order), chunks=(2, 3, 4))
        m.add(f"transpose/shard_{name}", cube, filters=TransposeCodec(order=order), chunks=(2, 1, 3), shards=(2, 5, 3))
    m.add("transpose/twice", cube, filters=[TransposeCodec(order=(1, 2, 0)), TransposeCodec(order=(2, 1, 0))],
          chunks=(2, 3, 4))
    m.add("transpose/outside_shard", cube, chunks=(4, 4, 6), filters=TransposeCodec(order=(2, 0, 1)),
          serializer=ShardingCodec(chunk_shape=(2, 2, 1)), compressors=None)

    def sharded(name, inner=(2, 3), outer=None, data=data, chunks=(4, 6), **how):
        how.setdefault("codecs", [BytesCodec(), ZstdCodec()])
        m.add(f"shard/{name}", data, chunks=chunks, serializer=ShardingCodec(chunk_shape=inner, **how), compressors=outer)

    sharded("index_start", index_location="start")
    sharded("index_plain", index_codecs=[BytesCodec()])
    sharded("index_start_plain", index_location="start", index_codecs=[BytesCodec()])
    sharded("index_big", index_codecs=[BytesCodec(endian="big"), Crc32cCodec()])
    sharded("outer_gzip", outer=GzipCodec())
    sharded("outer_crc_start", outer=Crc32cCodec(), index_location="start")
    sharded("outer_blosc", outer=BloscCodec(cname="lz4", typesize=1))
    sharded("big_endian", codecs=[BytesCodec(endian="big"), GzipCodec()])
    sharded("one_inner", inner=(4, 6))
    sharded("larger_than_shape", chunks=(16, 32), inner=(4, 4))
    sharded("nested", chunks=(8, 12), inner=(4, 6), codecs=[ShardingCodec(chunk_shape=(2, 3), codecs=[BytesCodec(), ZstdCodec()])])
    sharded("nested_start", chunks=(8, 12), inner=(4, 6), index_location="start", codecs=[ShardingCodec(
        chunk_shape=(2, 3), codecs=[BytesCodec(), GzipCodec()], index_location="start")])
    sharded("nested_compressed", chunks=(8, 12), inner=(4, 6), codecs=[ShardingCodec(
        chunk_shape=(2, 3), codecs=[BytesCodec()]), GzipCodec(), Crc32cCodec()])
    sharded("nested_thrice", chunks=(8, 12), inner=(4, 6), codecs=[ShardingCodec(chunk_shape=(4, 3), codecs=[
        ShardingCodec(chunk_shape=(1, 3), codecs=[BytesCodec(), ZstdCodec()])])])
    m.add("shard/strings", np.array(TEXTS, object), dtype=str, chunks=(2,), shards=(4,))
    m.add("shard/strings_gzip", np.array(TEXTS, object), dtype=str, chunks=(2,), shards=(4,), compressors=GzipCodec())
    m.add("shard/utf32", np.array(["", "ü", "数据😀x"], "U4"), chunks=(1,), shards=(2,))
    m.add("shard/bool", numbers((9,), "?"), chunks=(2,), shards=(4,))
    m.add("shard/missing", np.full((8, 8), 9, "i2"), chunks=(2, 2), shards=(4, 4), fill_value=9,
          region=(slice(0, 0), slice(0, 0)))
    partly = np.full((8, 8), -1, "i2")
    partly[1, 1] = partly[6, 3] = 5
    m.add("shard/partly", np.full((8, 8), -1, "i2"), chunks=(2, 2), shards=(4, 4), fill_value=-1, region=(1, 1))
    m.group["shard/partly"][1, 1], m.group["shard/partly"][6, 3] = 5, 5
    m.expect("shard/partly", partly)


def v2(m):
    common(m)
    nc = numcodecs
    codecs = {"none": None, "zlib": nc.Zlib(5), "gzip": nc.GZip(5), "zstd": nc.Zstd(3), "bz2": nc.BZ2(5),
              "lzma": nc.LZMA(), "lz4": nc.LZ4()}
    codecs |= {f"blosc_{c}_{s}": nc.Blosc(c, shuffle=s) for c, s in itertools.product(
        ["lz4", "lz4hc", "zlib", "zstd", "blosclz"], [0, 1, 2])}
    data = numbers((7, 9), "<i4")
    for name, compressor in codecs.items():
        m.add(f"codec/{name}", data, compressors=compressor)
    filters = {"shuffle": [nc.Shuffle(4)], "delta": [nc.Delta("<i4")], "delta_shuffle": [nc.Delta("<i4"), nc.Shuffle(4)],
               "fletcher32": [nc.Fletcher32()], "crc32": [nc.CRC32()], "crc32c": [nc.CRC32C()], "adler32": [nc.Adler32()],
               "jenkins": [nc.JenkinsLookup3()], "astype": [nc.AsType("<i2", "<i4")], "zlib_in_filters": [nc.Shuffle(4), nc.Zlib(1)]}
    for name, value in filters.items():
        m.add(f"filter/{name}", data, filters=value, compressors=nc.Zlib(1))
    m.add("filter/packbits", numbers((13,), "?"), filters=[nc.PackBits()], compressors=None)
    m.add("filter/bitround", np.arange(8, dtype="<f4"), filters=[nc.BitRound(10)], compressors=None)
    m.add("filter/quantize", np.arange(8, dtype="<f8"), filters=[nc.Quantize(3, "<f8")])
    m.add("filter/fixedscaleoffset", np.arange(8, dtype="<f8") / 4,
          filters=[nc.FixedScaleOffset(offset=1, scale=4, dtype="<f8", astype="<i2")])
    m.add("order/F", numbers((4, 5, 6), "<i2"), order="F", chunks=(2, 3, 4))
    m.add("order/F_big", numbers((4, 5, 6), ">f4"), order="F", chunks=(2, 3, 4))
    m.add("order/F_struct", np.array([[(k, k / 2, k) for k in range(3)]] * 4, POINT), order="F", chunks=(2, 2))
    m.add("type/raw", np.array([b"abcd", b"\0\1\2\3"], "V4"))


def with_tensorstore():
    folder = HERE / "tensorstore"
    shutil.rmtree(folder, ignore_errors=True)
    expected = {}

    def add(name, data, metadata=None, driver="zarr3", dtype=None):
        spec = {"driver": driver, "kvstore": {"driver": "file", "path": str(folder / "store.zarr" / name)},
                "metadata": {"shape": list(data.shape)} | (metadata or {})}
        if dtype or driver == "zarr3":
            spec["dtype"] = dtype or data.dtype.name
        a = tensorstore.open(spec, create=True).result()
        a.write(data).result()
        data = a.read().result()
        expected[name] = data.astype("f4") if data.dtype.kind == "V" or "float8" in data.dtype.name or data.dtype.name == "bfloat16" else data

    for dtype in ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
                  "float32", "float64", "complex64", "complex128"]:
        add(f"v3/{dtype}", numbers((3, 5), dtype))
    for dtype in ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz"]:
        add(f"v3/{dtype}", np.array([0, 1, -2, 0.5, 8], getattr(ml_dtypes, dtype)))
    data = numbers((7, 9), "<i4")
    grid = {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 6]}}}
    inner = [{"name": "transpose", "configuration": {"order": [1, 0]}},
             {"name": "bytes", "configuration": {"endian": "big"}},
             {"name": "blosc", "configuration": {"cname": "zstd", "clevel": 5, "shuffle": "bitshuffle"}}]
    index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
    for location in ["start", "end"]:
        shard = {"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 3], "codecs": inner,
                 "index_codecs": index, "index_location": location}}
        add(f"v3/shard_{location}", data, grid | {"codecs": [shard]})
        add(f"v3/shard_{location}_transposed", numbers((4, 5, 6), "<i2"), {
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 4, 6]}},
            "codecs": [{"name": "transpose", "configuration": {"order": [2, 0, 1]}},
                       {"name": "sharding_indexed", "configuration": {
                           "chunk_shape": [3, 2, 2], "codecs": [index[0]], "index_codecs": index, "index_location": location}}]})
    nested = {"name": "sharding_indexed", "configuration": {"chunk_shape": [4, 6], "index_codecs": index, "codecs": [
        {"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 3], "codecs": inner, "index_codecs": index}}]}}
    add("v3/nested", data, {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8, 12]}}, "codecs": [nested]})
    add("v3/keys", data, grid | {"chunk_key_encoding": {"name": "v2", "configuration": {"separator": "/"}}})
    add("v3/scalar", np.array(2.5))
    for dtype in ["|b1", "|i1", "<i2", ">i4", "<u8", ">f2", "<f4", ">f8", "<c8", ">c16"]:
        add("v2/" + dtype[1:] + ("_be" if dtype[0] == ">" else ""), numbers((3, 5), dtype), {"dtype": dtype}, "zarr")
    for codec in [{"id": "zlib", "level": 1}, {"id": "gzip", "level": 1}, {"id": "zstd", "level": 1}, {"id": "bz2", "level": 1},
                  {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 2}]:
        add(f"v2/codec_{codec['id']}", data, {"dtype": "<i4", "compressor": codec, "chunks": [4, 6]}, "zarr")
    add("v2/order_F", data, {"dtype": "<i4", "order": "F", "chunks": [4, 6], "dimension_separator": "/"}, "zarr")
    np.savez_compressed(folder / "expected.npz", **expected)
    (folder / "texts.json").write_text("{}")
    pack(folder)


if __name__ == "__main__":
    for name, zarr_format, fill in [("zarr-python-v3", 3, v3), ("zarr-python-v2", 2, v2)]:
        maker = Maker(name, zarr_format)
        fill(maker)
        maker.finish()
    with_tensorstore()
    with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.strict": False}):
        maker = Maker("zarrs", 3)
        data = numbers((7, 9), "<i4")
        codecs = {"none": None, "gzip": GzipCodec(), "zstd": ZstdCodec(checksum=True), "crc32c": Crc32cCodec(),
                  "blosc": BloscCodec(cname="lz4", shuffle="bitshuffle")}
        for name, compressors in codecs.items():
            maker.add(f"codec/{name}", data, compressors=compressors)
            maker.add(f"shard/{name}", data, chunks=(2, 3), shards=(4, 6), compressors=compressors)
        maker.add("shard/transposed", data, chunks=(2, 3), shards=(4, 6), filters=TransposeCodec(order=(1, 0)))
        maker.add("shard/index_start", data, chunks=(4, 6), compressors=None, serializer=ShardingCodec(
            chunk_shape=(2, 3), codecs=[BytesCodec(), ZstdCodec()], index_location="start"))
        maker.add("shard/nested", data, chunks=(8, 12), compressors=None, serializer=ShardingCodec(
            chunk_shape=(4, 6), codecs=[ShardingCodec(chunk_shape=(2, 3), codecs=[BytesCodec(), ZstdCodec()])]))
        maker.add("shard/strings", np.array(TEXTS, object), dtype=str, chunks=(2,), shards=(4,))
        for dtype in NUMBERS:
            if dtype[0] != ">":
                maker.add(f"type/{np.dtype(dtype).name}", numbers((3, 5), dtype))
        maker.finish()
    (HERE / "versions.json").write_text(json.dumps(
        {name: version(name) for name in ["zarr", "tensorstore", "zarrs", "numcodecs", "numpy", "ml_dtypes"]}, indent=1))
