"""Writes codec_cases.h: chunks as numcodecs, zarr-python, tensorstore and zarrs encode them.

Run with those packages installed; the versions used are recorded in the file.
"""

import json
import pathlib
import tempfile
import textwrap
import warnings

import numcodecs
import numpy as np
import tensorstore
import zarr
import zarrs  # noqa: F401  registers the codec pipeline

warnings.simplefilter("ignore")
RNG = np.random.default_rng(7)
CASES = []


def text(nbytes):
    """Bytes that compress: a slow ramp with some noise."""
    ramp = np.arange(nbytes) // 7 + RNG.integers(0, 3, nbytes)
    return (ramp % 251).astype("u1").tobytes()


def dtype_json(dtype):
    dtype = np.dtype(dtype)
    endian = "big" if dtype.str[0] == ">" else "little"
    return {"kind": dtype.kind, "bytes": dtype.itemsize, "endian": endian}


def add(role, name, configuration, source, encoded, *, dtype="|u1", shape=(), exact=False,
        decoded=None, by="numcodecs"):
    CASES.append({
        "role": role, "name": name, "by": by, "configuration": configuration,
        "dtype": dtype_json(dtype), "shape": list(shape), "exact": exact,
        "input": source, "encoded": bytes(encoded).hex(),
    })
    if decoded is not None and decoded != source:
        CASES[-1]["decoded"] = decoded  # a lossy codec


def config_of(codec):
    config = codec.get_config()
    config.pop("id")
    return config


def bytes_case(codec, nbytes=90, *, exact=False, dtype="|u1"):
    data = text(nbytes)
    encoded = np.asarray(memoryview(codec.encode(np.frombuffer(data, "u1")))).tobytes()
    add("bytes", codec.codec_id, config_of(codec), data.hex(), encoded, exact=exact, dtype=dtype)


def array_case(codec, values, *, name=None):
    values = np.asarray(values)
    encoded = np.ascontiguousarray(codec.encode(values))
    decoded = np.ascontiguousarray(codec.decode(encoded))
    add("array", name or codec.codec_id, config_of(codec), values.tobytes().hex(),
        encoded.tobytes(), dtype=values.dtype, shape=values.shape, exact=True,
        decoded=decoded.tobytes().hex())


def vlen_case(codec, items, payloads):
    encoded = codec.encode(np.array(items + [None], dtype=object)[:-1])
    add("vlen", codec.codec_id, config_of(codec), [p.hex() for p in payloads], encoded,
        dtype="O", shape=[len(items)], exact=codec.codec_id.startswith("vlen"))


def byte_codecs():
    n = numcodecs
    lzma2 = {"id": 0x21, "preset": 3}
    for codec in (n.GZip(1), n.GZip(9), n.Zlib(1), n.Zlib(6), n.Zstd(3), n.Zstd(-5),
                  n.Zstd(1, checksum=True), n.LZ4(), n.LZ4(9), n.BZ2(1), n.BZ2(9), n.LZMA(),
                  n.LZMA(preset=1, check=1), n.LZMA(format=2),
                  n.LZMA(format=3, filters=[lzma2]),
                  n.LZMA(format=3, filters=[{"id": 3, "dist": 4}, lzma2]),
                  n.LZMA(format=3, filters=[{"id": 0x4000000000000001, "preset": 2}]),
                  n.LZMA(format=1, filters=[{"id": 3, "dist": 2}, lzma2])):
        for nbytes in (1, 90):
            bytes_case(codec, nbytes)
    for cname in ("lz4", "lz4hc", "blosclz", "zlib", "zstd"):
        for shuffle in (0, 1, 2, -1):
            bytes_case(n.Blosc(cname, 5, shuffle), 90)
    numbers = np.arange(60, dtype="<i4")
    for shuffle in (0, 1, 2):
        codec = n.Blosc("lz4", 9, shuffle)
        add("bytes", "blosc", config_of(codec), numbers.tobytes().hex(), codec.encode(numbers),
            dtype="<i4")
    for codec in (n.CRC32(), n.CRC32(location="end"), n.CRC32C(), n.CRC32C(location="start"),
                  n.Adler32(), n.Adler32(location="end"), n.Fletcher32(), n.JenkinsLookup3(),
                  n.JenkinsLookup3(initval=12345)):
        for nbytes in (1, 2, 11, 12, 13, 99):
            bytes_case(codec, nbytes, exact=True)
    for codec in (n.CRC32(), n.CRC32C(), n.Adler32(), n.JenkinsLookup3(), n.GZip(1), n.Zlib(1)):
        bytes_case(codec, 0, exact=codec.codec_id not in ("gzip", "zlib"))
    for elementsize in (0, 1, 2, 3, 4, 8, 16):
        bytes_case(n.Shuffle(elementsize), 16 * 18, exact=True)


def array_codecs():
    n = numcodecs
    ints = RNG.integers(-100, 100, 30)
    for dtype, astype in (("<i2", "<i2"), ("<i2", "|i1"), ("<i4", "<i8"), (">i4", ">i2"),
                          ("<u2", ">u4"), ("<f4", "<f4"), ("<f8", "<f4"), ("<f4", "<f8"),
                          ("<f2", "<f2"), ("|u1", "<i2"), ("|i1", "<f4"), ("<u8", "<i8"),
                          ("|b1", "|i1"), ("|b1", "|b1")):
        values = np.abs(ints) if dtype[1] in "ub" else ints
        array_case(n.Delta(dtype=dtype, astype=astype), (values * 1.25).astype(dtype))
    array_case(n.Delta("<i4"), np.arange(12, dtype="<i4").reshape(3, 4))
    array_case(n.Delta("|i1"), np.array([-128, 127, -128, 5], "i1"))
    floats = RNG.normal(1000, 3, 25)
    for dtype, astype, offset, scale in (
            ("<f8", "<i4", 1000, 100), ("<f8", "|u1", 990.5, 10), ("<f4", "<i2", 1000, 10.5),
            ("<f4", "<f4", 1000.1, 3), ("<f2", "<i2", 1000, 2), (">f8", ">i2", 1000, 100),
            ("<i4", "<i2", 1000, 7), ("<i4", "<i2", 1000.5, 7), ("<i2", "|i1", 1000, 2.5),
            ("<u2", "<u2", 900, 2), ("<f8", "<f8", 0, 3)):
        array_case(n.FixedScaleOffset(offset=offset, scale=scale, dtype=dtype, astype=astype),
                   floats.astype(dtype))
    small = RNG.normal(0, 30, 25)
    for dtype, astype, digits in (("<f8", "<f8", 1), ("<f8", "<f4", 3), ("<f4", "<f4", 2),
                                  ("<f2", "<f2", 1), (">f8", ">f8", -1), ("<f4", "<f2", 0)):
        array_case(n.Quantize(digits=digits, dtype=dtype, astype=astype), small.astype(dtype))
    special = np.array([0.0, -0.0, np.inf, -np.inf, 1 / 3, -2 / 3, 1e-8, 6e4])
    for dtype, keepbits in (("<f4", 3), ("<f4", 23), ("<f8", 10), ("<f8", 0), ("<f2", 5)):
        array_case(n.BitRound(keepbits), np.concatenate([small, special]).astype(dtype))
    for count in (1, 7, 8, 9, 30):
        array_case(n.PackBits(), RNG.integers(0, 2, count).astype(bool))
    whole = np.array([0, 1, -1, 2, 100, -100, 127, 64])
    for encode, decode in (("<f4", "<f8"), ("<i4", "<f8"), ("|i1", "<i4"), ("<f2", "<f4"),
                           ("<f2", "<f8"), (">i2", "<i4"), ("<f8", "<i8"), ("<f4", "<i8"),
                           ("|b1", "<i4"), ("<i8", "<f2"), ("<f2", "<i4")):
        array_case(n.AsType(encode_dtype=encode, decode_dtype=decode), whole.astype(decode))
    tiny = np.array([1e-8, 3e-8, 5.96e-8, 6.1e-5, 0.1, 2049, 2051, 65519.9, 65520, 1e9, -1e-7])
    for decode in ("<f4", "<f8"):
        array_case(n.AsType(encode_dtype="<f2", decode_dtype=decode), tiny.astype(decode))


def vlen_codecs():
    n = numcodecs
    strings = ["", "a", "Grüße", "x" * 40]
    vlen_case(n.VLenUTF8(), strings, [s.encode() for s in strings])
    blobs = [b"", b"\x00\x01", b"abc"]
    vlen_case(n.VLenBytes(), blobs, blobs)
    arrays = [np.arange(k, dtype="<i4") for k in (0, 1, 3)]
    vlen_case(n.VLenArray("<i4"), arrays, [a.tobytes() for a in arrays])
    vlen_case(n.JSON(), strings, [s.encode() for s in strings])
    mixed = [1, None, "two", {"b": [1, 2], "a": None}, float("nan"), True]
    vlen_case(n.JSON(), mixed, [b"1", b"", b"two", b'{"a":null,"b":[1,2]}', b"NaN", b"true"])
    grid = np.array([["a", "b", "c"], ["d", "e", "f"]], dtype=object)
    add("vlen", "json2", {}, [s.encode().hex() for s in "abcdef"], n.JSON().encode(grid),
        dtype="O", shape=[2, 3])
    point = np.array("scalar", dtype=object)
    add("vlen", "json2", {}, [b"scalar".hex()], n.JSON().encode(point), dtype="O", shape=[])


def chunk_of(folder):
    chunks = [p for p in folder.rglob("*") if p.is_file() and p.name != "zarr.json"]
    assert len(chunks) == 1, chunks
    return chunks[0].read_bytes()


V3_CODECS = (
    ("gzip", {"level": 5}),
    ("zstd", {"level": 3, "checksum": False}),
    ("zstd", {"level": 1, "checksum": True}),
    ("blosc", {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4, "blocksize": 0}),
    ("blosc", {"cname": "zstd", "clevel": 3, "shuffle": "bitshuffle", "typesize": 4,
               "blocksize": 0}),
    ("blosc", {"cname": "lz4", "clevel": 1, "shuffle": "noshuffle", "typesize": 1,
               "blocksize": 0}),
    ("crc32c", {}),
)


def tensorstore_chunk(values, codec, path):
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(path)},
            "metadata": {"shape": list(values.shape), "data_type": "int32",
                         "chunk_grid": {"name": "regular",
                                        "configuration": {"chunk_shape": list(values.shape)}},
                         "codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
                                    codec]},
            "create": True}
    tensorstore.open(spec).result().write(values).result()


def zarr_chunk(values, codec, path, pipeline):
    classes = {"gzip": zarr.codecs.GzipCodec, "zstd": zarr.codecs.ZstdCodec,
               "blosc": zarr.codecs.BloscCodec, "crc32c": zarr.codecs.Crc32cCodec}
    made = classes[codec["name"]](**codec["configuration"])
    with zarr.config.set({"codec_pipeline.path": pipeline}):
        array = zarr.create_array(path, shape=values.shape, chunks=values.shape, dtype="int32",
                                  compressors=[made], filters=[], fill_value=-1)
        array[...] = values


def v3_writers():
    values = (np.arange(60, dtype="<i4") ** 2) // 5
    writers = {
        "tensorstore": lambda codec, path: tensorstore_chunk(values, codec, path),
        "zarr-python": lambda codec, path: zarr_chunk(
            values, codec, path, "zarr.core.codec_pipeline.BatchedCodecPipeline"),
        "zarrs": lambda codec, path: zarr_chunk(values, codec, path, "zarrs.ZarrsCodecPipeline"),
    }
    for by, write in writers.items():
        for name, configuration in V3_CODECS:
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "x.zarr"
                if by == "tensorstore" and configuration.get("checksum"):
                    continue  # tensorstore's zstd has no such member
                used = {k: v for k, v in configuration.items()
                        if not (by == "tensorstore" and k == "checksum")}
                codec = {"name": name, "configuration": used}
                write(codec, path)
                add("bytes", name, used, values.tobytes().hex(), chunk_of(path), dtype="<i4",
                    exact=name == "crc32c", by=by)


def main():
    byte_codecs()
    array_codecs()
    vlen_codecs()
    v3_writers()
    versions = ", ".join(
        f"{m.__name__} {m.__version__}" for m in (numcodecs, zarr, np)
    ) + f", tensorstore {version_of('tensorstore')}, zarrs {version_of('zarrs')}"
    target = pathlib.Path(__file__).with_name("codec_cases.h")
    lines = [json.dumps(case, separators=(",", ":")) for case in CASES]
    literals = "\n".join(f'    R"json({line})json",' for line in lines)
    target.write_text(textwrap.dedent(f"""\
        // Written by generate.py in this folder with {versions}.
        // One JSON object a case; bytes are hexadecimal. Not to be edited.
        #ifndef H5ZARR_TEST_GOLDEN_CODEC_CASES_H_
        #define H5ZARR_TEST_GOLDEN_CODEC_CASES_H_

        inline constexpr const char* kCodecCases[] = {{
        @
        }};

        #endif  // H5ZARR_TEST_GOLDEN_CODEC_CASES_H_
        """).replace("@", literals))


def version_of(package):
    from importlib.metadata import version
    return version(package)


if __name__ == "__main__":
    main()
