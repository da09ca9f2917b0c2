"""Stores written by others, without any attribute of ours, read through h5py like their own readers do."""
import itertools
import json
import os

import h5py
import numpy as np
import pytest
import zarr
from numcodecs import BZ2, LZ4, LZMA, Blosc, Delta, GZip, Shuffle, Zlib, Zstd

from support import assert_equal, numbers, run, run_python, tensorstore_spec, tool

NUMBER_TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16",
                ">i2", ">u4", ">i8", ">f4", ">f8"]
SHAPE, CHUNKS, SHARDS = (23, 17), (4, 5), (8, 10)

V3_CODECS = {
    "none": {"compressors": None},
    "gzip": {"compressors": zarr.codecs.GzipCodec(level=5)},
    "zstd": {"compressors": zarr.codecs.ZstdCodec(level=3)},
    "zstd with checksum": {"compressors": zarr.codecs.ZstdCodec(level=3, checksum=True)},
    "crc32c": {"compressors": zarr.codecs.Crc32cCodec()},
    "gzip then crc32c": {"compressors": [zarr.codecs.GzipCodec(), zarr.codecs.Crc32cCodec()]},
    "transpose": {"filters": zarr.codecs.TransposeCodec(order=(1, 0))},
    "big endian": {"serializer": zarr.codecs.BytesCodec(endian="big")},
} | {
    f"blosc {name} {shuffle}": {"compressors": zarr.codecs.BloscCodec(cname=name, shuffle=shuffle)}
    for name, shuffle in itertools.product(["lz4", "lz4hc", "zlib", "zstd", "blosclz"],
                                           ["noshuffle", "shuffle", "bitshuffle"])
}

V2_CODECS = {
    "none": {"compressors": None},
    "zlib": {"compressors": Zlib(5)},
    "gzip": {"compressors": GZip(5)},
    "zstd": {"compressors": Zstd(3)},
    "bz2": {"compressors": BZ2(5)},
    "lzma": {"compressors": LZMA()},
    "lz4": {"compressors": LZ4()},
    "blosc": {"compressors": Blosc("lz4", shuffle=Blosc.BITSHUFFLE)},
    "shuffle then zlib": {"filters": [Shuffle(4)], "compressors": Zlib(5)},
    "delta then zstd": {"filters": [Delta("i4")], "compressors": Zstd(3)},
    "order F": {"order": "F", "compressors": Zstd(3)},
    "dotted keys": {"chunk_key_encoding": {"name": "v2", "separator": "."}},
    "nested keys": {"chunk_key_encoding": {"name": "v2", "separator": "/"}},
}


def write(store, data, **how):
    zarr.open_group(store, mode="a", zarr_format=how.get("zarr_format", 3))
    how.setdefault("chunks", CHUNKS)
    array = zarr.create_array(store, name="a", shape=data.shape, dtype=data.dtype, **how)
    array[...] = data


def assert_reads(store, data, name="a"):
    with h5py.File(store, "r") as f:
        assert f[name].shape == data.shape
        assert_equal(f[name][...], data)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("dtype", NUMBER_TYPES)
def test_every_number_type(store, dtype, zarr_format):
    data = numbers(SHAPE, dtype)
    write(store, data, zarr_format=zarr_format)
    assert_reads(store, data)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_nan_infinity_and_negative_zero(store, dtype):
    data = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0], dtype)
    write(store, data, chunks=(2,))
    with h5py.File(store, "r") as f:
        assert f["a"][...].tobytes() == data.tobytes()


@pytest.mark.parametrize("codec", V3_CODECS)
def test_every_v3_codec(store, codec):
    data = numbers(SHAPE, "i4")
    write(store, data, **V3_CODECS[codec])
    assert_reads(store, data)


@pytest.mark.parametrize("codec", V2_CODECS)
def test_every_v2_codec(store, codec):
    data = numbers(SHAPE, "i4")
    write(store, data, zarr_format=2, **V2_CODECS[codec])
    assert_reads(store, data)


@pytest.mark.parametrize("codec", V3_CODECS)
def test_every_v3_codec_within_shards(store, codec):
    data = numbers(SHAPE, "u2")
    write(store, data, shards=SHARDS, **V3_CODECS[codec])
    assert_reads(store, data)


@pytest.mark.parametrize("location", ["start", "end"])
@pytest.mark.parametrize("checked", [True, False])
def test_shard_index_at_either_end_with_and_without_checksum(store, location, checked):
    data = numbers(SHAPE, "f4")
    index = [zarr.codecs.BytesCodec()] + [zarr.codecs.Crc32cCodec()] * checked
    sharding = zarr.codecs.ShardingCodec(chunk_shape=CHUNKS, index_location=location,
                                         codecs=[zarr.codecs.BytesCodec(), zarr.codecs.ZstdCodec()],
                                         index_codecs=index)
    write(store, data, chunks=SHARDS, serializer=sharding, compressors=None)
    assert_reads(store, data)


def test_missing_inner_chunks_read_as_fill(store):
    zarr.open_group(store, mode="w")
    a = zarr.create_array(store, name="a", shape=SHAPE, dtype="i4", chunks=CHUNKS, shards=SHARDS, fill_value=-5)
    a[5, 6] = 1
    expected = np.full(SHAPE, -5, "i4")
    expected[5, 6] = 1
    assert_reads(store, expected)


@pytest.mark.parametrize("shape, chunks", [((), ()), ((0,), (3,)), ((0, 4), (3, 2)), ((1,), (1,)),
                                           ((7,), (100,)), ((2, 3, 4, 5), (1, 2, 3, 4))])
def test_every_kind_of_shape(store, shape, chunks):
    data = numbers(shape, "i8")
    write(store, data, chunks=chunks)
    assert_reads(store, data)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_strings_of_variable_length(store, zarr_format):
    data = np.array(["", "a", "zwölf", "数据", "x" * 1000], object)
    zarr.open_group(store, mode="w", zarr_format=zarr_format)
    a = zarr.create_array(store, name="a", shape=(5,), dtype=str, chunks=(2,), zarr_format=zarr_format)
    a[...] = data
    with h5py.File(store, "r") as f:
        assert f["a"].asstr()[...].tolist() == data.tolist()


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.filterwarnings("ignore")
def test_strings_of_fixed_length(store, zarr_format):
    write(store, np.array([b"", b"ab", b"abcde"], "S5"), zarr_format=zarr_format, chunks=(2,))
    with h5py.File(store, "r") as f:
        assert f["a"][...].tolist() == [b"", b"ab", b"abcde"]


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.filterwarnings("ignore")
def test_unicode_of_fixed_length(store, zarr_format):
    write(store, np.array(["", "ü", "数据数据"], "U4"), zarr_format=zarr_format, chunks=(2,))
    with h5py.File(store, "r") as f:
        assert f["a"].asstr()[...].tolist() == ["", "ü", "数据数据"]


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.filterwarnings("ignore")
def test_compound_types(store, zarr_format):
    data = np.array([(1, 2.5, -3), (4, -5.25, 6)], [("x", "<i4"), ("y", "<f8"), ("z", "<i2")])
    write(store, data, zarr_format=zarr_format, chunks=(1,))
    with h5py.File(store, "r") as f:
        assert f["a"].dtype.names == ("x", "y", "z")
        assert f["a"][...].tolist() == data.tolist()


@pytest.mark.filterwarnings("ignore")
def test_times_show_as_integers(store):
    data = np.array(["2001-01-01", "2026-11-29"], "M8[ns]")
    write(store, data, chunks=(1,))
    assert_reads(store, data.view("i8"))


def test_attributes_and_groups(store):
    root = zarr.open_group(store, mode="w")
    root.attrs.update({"text": "é", "number": 3, "real": 2.5, "list": [1, 2, 3]})
    root.create_group("g/h").attrs["deep"] = True
    root.create_array("g/a", data=np.arange(3)).attrs["unit"] = "mm"
    with h5py.File(store, "r") as f:
        assert f.attrs["text"] == "é"
        assert f.attrs["number"] == 3
        assert f.attrs["real"] == 2.5
        assert f.attrs["list"].tolist() == [1, 2, 3]
        assert sorted(f["g"]) == ["a", "h"]
        assert f["g/a"].attrs["unit"] == "mm"
        assert f["g/h"].attrs["deep"]
        names = []
        f.visit(names.append)
        assert sorted(names) == ["g", "g/a", "g/h"]


def test_array_at_the_root_is_named_after_the_store(tmp_path):
    data = numbers(SHAPE, "f4")
    zarr.create_array(str(tmp_path / "image.zarr"), data=data)
    assert_reads(str(tmp_path / "image.zarr"), data, "image")


def test_stale_consolidated_metadata_hides_nothing(store):
    root = zarr.open_group(store, mode="w")
    root.create_array("old", data=np.arange(3))
    zarr.consolidate_metadata(store)
    zarr.create_array(os.path.join(store, "new"), data=np.arange(4))
    with h5py.File(store, "r") as f:
        assert sorted(f) == ["new", "old"]
        assert f["new"][...].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("driver", ["zarr", "zarr3"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "int64", "float32", "float64", "complex64"])
def test_written_by_tensorstore(store, driver, dtype):
    tensorstore = pytest.importorskip("tensorstore", reason="no tensorstore wheel for this Python")
    data = numbers(SHAPE, dtype)
    spec = tensorstore_spec(store, "a") | {"driver": driver, "dtype": dtype, "schema": {"domain": {"shape": SHAPE}}}
    if driver == "zarr3":
        spec["schema"]["chunk_layout"] = {"read_chunk": {"shape": CHUNKS}, "write_chunk": {"shape": SHARDS}}
    tensorstore.open(spec, create=True).result().write(data).result()
    assert_reads(os.path.join(store, "a"), data, "a")


@pytest.mark.parametrize("codec", ["gzip", "zstd", "blosc lz4 shuffle"])
def test_shards_written_by_zarrs(store, codec):
    pytest.importorskip("zarrs", reason="zarrs has no wheel for this Python")
    data = numbers(SHAPE, "u2")
    with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"}):
        write(store, data, shards=SHARDS, **V3_CODECS[codec])
    assert_reads(store, data)


@pytest.fixture
def unknown_codec(store):
    """A store with an array `a` that has one, and another `b`."""
    write(store, numbers((4,), "i4"), chunks=(2,))
    zarr.open_group(store)["a"].attrs["units"] = "mm"
    document = os.path.join(store, "a", "zarr.json")
    text = open(document).read()
    assert '"zstd"' in text
    open(document, "w").write(text.replace('"zstd"', '"nobody.knows"'))
    zarr.create_array(os.path.join(store, "b"), data=np.arange(3))
    return store


def test_of_an_array_with_an_unknown_codec_only_the_elements_are_out_of_reach(unknown_codec):
    document = os.path.join(unknown_codec, "a", "zarr.json")
    before = json.load(open(document))
    with h5py.File(unknown_codec, "r+") as f:
        seen = {}
        f.visititems(lambda name, object: seen.update({name: object.shape}))
        assert seen == {"a": (4,), "b": (3,)}
        assert f["b"][...].tolist() == [0, 1, 2]
        a = f["a"]
        assert (a.shape, a.dtype, a.chunks, dict(a.attrs)) == ((4,), np.dtype("i4"), (2,), {"units": "mm"})
        for use in (lambda: a[...], lambda: a[0], lambda: a.__setitem__(0, 1), lambda: a.id.get_num_chunks(),
                    lambda: a.id.read_direct_chunk((0,)), lambda: a.resize((3,))):
            with pytest.raises((OSError, RuntimeError, ValueError), match="nobody.knows"):
                use()
        a.attrs["more"] = 1
    after = json.load(open(document))
    assert after["attributes"] == {"units": "mm", "more": 1}
    assert {**after, "attributes": 0} == {**before, "attributes": 0}


def test_tools_show_a_store_with_an_unknown_codec(unknown_codec):
    shown = run([tool("h5dump"), unknown_codec]).stdout
    assert 'DATASET "a"' in shown and '"mm"' in shown and "0, 1, 2" in shown
    listed = run([tool("h5ls"), "-r", unknown_codec])
    assert listed.returncode == 0 and "ERROR" not in listed.stdout and "{4" in listed.stdout


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_damaged_chunk_is_an_error_and_never_data(store, damage):
    write(store, numbers(SHAPE, "i4"), shards=SHARDS)
    chunk = os.path.join(store, "a", "c", "0", "0")
    stored = bytearray(open(chunk, "rb").read())
    if damage == "cut":
        del stored[len(stored) // 2:]
    else:
        stored[-1] ^= 0xFF  # of the index's checksum
    open(chunk, "wb").write(stored)
    with h5py.File(store, "r") as f:
        with pytest.raises(OSError, match="c/0/0"):
            f["a"][:4, :4]
        assert_equal(f["a"][8:, 10:], numbers(SHAPE, "i4")[8:, 10:])


@pytest.mark.parametrize("change", ["another rank", "another type", "elements"])
def test_what_a_program_copied_along_with_attributes_is_left_aside(store, change):
    """zarr-python and xarray copy attributes from array to array, `_hdf5` among them."""
    with h5py.File(store, "w") as f:
        f.create_dataset("rank", data=np.ones((4, 3)), maxshape=(None, 3))
        f.create_dataset("type", data=np.array([True, False]))
        f["null"] = h5py.Empty("f8")
    root = zarr.open_group(store, mode="r+")
    source, data = {"another rank": ("rank", np.arange(4.0)), "another type": ("type", np.array([1.5, 2.5])),
                    "elements": ("null", np.array([1.0, 2.0]))}[change]
    new = root.create_array("new", data=data)
    new.attrs.update(dict(root[source].attrs))
    assert "_hdf5" in new.attrs
    with h5py.File(store) as f:
        assert f["new"].dtype == data.dtype
        np.testing.assert_array_equal(f["new"][()], data)


@pytest.mark.parametrize("connector", ["zarr", None])
def test_texts_with_a_nul_are_errors_and_never_shorter_texts(store, connector):
    if connector is None and h5py.version.hdf5_version_tuple < (2,):
        pytest.skip("HDF5 1.14 has no views")
    root = zarr.open_group(store, mode="w")
    root.create_array("s", shape=(4,), chunks=(2,), dtype=str)[:] = np.array(["a\0b", "c", "d", "e"], "T")
    root.create_array("t", shape=(2,), dtype=str)[:] = np.array(["c", "d"], "T")
    root.create_array("fixed", shape=(2,), dtype="U3")[:] = np.array(["a\0b", "\0x"])
    said = run_python("""
import h5py, sys
with h5py.File(sys.argv[1], "r") as f:
    print(list(f), f["t"][:].tolist(), f["fixed"][:].tolist())
    try:
        print(f["s"][:].tolist())
    except OSError as error:
        print(error)
    if sys.argv[2] == "zarr":
        print(f["s"][2:].tolist())
""", store, str(connector), connector=connector).splitlines()
    assert said[0] == str(["fixed", "s", "t"]) + " " + str([b"c", b"d"]) + " " + str([b"a\0b", b"\0x"])
    assert "array 's'" in said[1] and "NUL" in said[1] and "a\\u0000b" in said[1]
    assert said[2:] == ([str([b"d", b"e"])] if connector else [])
