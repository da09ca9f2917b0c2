"""Documents of others with members that cannot be what they should: each is an error that names file, key and member."""
import gzip
import json
import os
import zlib

import h5py
import numcodecs
import numpy as np
import pytest
import zarr

WRONG_V3 = {
    "attributes": [[], "x", 5, True], "shape": [4, [2**63], [-1], [1.5], "x", {}, [2**62, 2**62]],
    "chunk_grid": [[], 5, {}, {"name": "regular"}, {"name": "regular", "configuration": {"chunk_shape": [2**63]}},
                   {"name": "regular", "configuration": {"chunk_shape": [0]}},
                   {"name": "regular", "configuration": {"chunk_shape": 4}},
                   {"name": "regular", "configuration": []}],
    "codecs": [{}, [5], [[]], [{"name": 5}], "bytes"], "dimension_names": ["x", [1], {}, ["a", "b"]],
    "fill_value": [{}, [], "x"], "chunk_key_encoding": [5, [], {"name": "default", "configuration": 1}],
    "data_type": [[], {}, 5, None], "node_type": [5, [], "thing"], "zarr_format": ["3", 4, []],
    "storage_transformers": [[{"name": "x"}], 5],
}
WRONG_V2 = {
    "shape": ["x", [2**63], [-1], {}], "chunks": ["x", [0], [2**63], {}], "dtype": [5, {}, "<q9", [["a"]], [5]],
    "fill_value": [[], {}, "x"], "filters": [5, {}, [5], [{}]], "compressor": [[], 5, {"id": 5}],
    "order": [5, "X", []], "dimension_separator": [5, "-", []], "zarr_format": ["2", 3, []],
}
SAID_OF = {"chunk_grid": "chunk", "chunks": "chunk", "filters": "codec|filters", "compressor": "codec|compressor",
           "codecs": "codec", "data_type": "data type|data_type", "dtype": "dtype", "fill_value": "fill",
           "dimension_separator": "separator", "storage_transformers": "storage_transformers|storage transformer"}


def cases(wrong):
    return [pytest.param(member, value, id=f"{member}={json.dumps(value)[:30]}")
            for member, values in wrong.items() for value in values]


def spoil(path, member, value):
    with open(path) as file:
        document = json.load(file)
    document[member] = value
    with open(path, "w") as file:
        json.dump(document, file)


def refuse(store, key, member):
    with h5py.File(store) as f:
        assert set(f) == {"a", "b"} and f["b"][...].tolist() == [7, 7, 7, 7]
        with pytest.raises((KeyError, OSError)) as error:
            f["a"][...]
    said = str(error.value)
    assert store in said and key in said, said
    assert any(word in said for word in SAID_OF.get(member, member).split("|")), said



def make(store, zarr_format):
    group = zarr.open_group(store, mode="w", zarr_format=zarr_format)
    for name in "ab":
        group.create_array(name, shape=(4,), chunks=(4,), dtype="i4", fill_value=0)[...] = 7


@pytest.mark.parametrize("member, value", cases(WRONG_V3))
def test_a_v3_member_of_another_kind(store, member, value):
    make(store, 3)
    spoil(store + "/a/zarr.json", member, value)
    refuse(store, "a/zarr.json", member)


@pytest.mark.parametrize("member, value", cases(WRONG_V2))
def test_a_v2_member_of_another_kind(store, member, value):
    make(store, 2)
    spoil(store + "/a/.zarray", member, value)
    refuse(store, "a/.zarray", member)


@pytest.mark.parametrize("text", ["[]", "5", '"x"', "{", ""])
def test_v2_attributes_that_are_no_object(store, text):
    make(store, 2)
    with open(store + "/a/.zattrs", "w") as file:
        file.write(text)
    refuse(store, "a/.zattrs", ".zattrs")


@pytest.mark.parametrize("deep", ['{"x":' * 100_000 + "1" + "}" * 100_000, "[" * 3_000_000])
@pytest.mark.parametrize("where", ["attribute", "codec", "whole"])
def test_documents_nested_very_deeply(store, where, deep):
    make(store, 3)
    with open(store + "/a/zarr.json") as file:
        text = file.read()
    if where == "whole":
        text = deep
    elif where == "attribute":
        text = text.replace('"attributes": {}', f'"attributes": {{"x": {deep}}}')
    elif where == "codec":
        text = text.replace('"codecs": [', f'"codecs": [{deep}, ')
    with open(store + "/a/zarr.json", "w") as file:
        file.write(text)
    refuse(store, "a/zarr.json", "")


def test_consolidated_metadata_nested_very_deeply_are_not_read(store):
    make(store, 3)
    with open(store + "/zarr.json") as file:
        text = file.read()
    deep = '{"x":' * 100_000 + "1" + "}" * 100_000
    with open(store + "/zarr.json", "w") as file:
        file.write(text.replace("{", f'{{"consolidated_metadata": {deep},', 1))
    with h5py.File(store) as f:
        assert f["a"][...].tolist() == [7, 7, 7, 7]


@pytest.mark.parametrize("member, value", [("attributes", []), ("node_type", 5), ("zarr_format", 4)])
def test_a_root_of_another_kind(store, member, value):
    make(store, 3)
    spoil(store + "/zarr.json", member, value)
    for mode in "r", "r+":
        with pytest.raises(OSError) as error:
            h5py.File(store, mode)
        assert store in str(error.value) and "zarr.json" in str(error.value) and member in str(error.value)


@pytest.mark.parametrize("hdf5", [[], 5, "x", {"attrs": []}, {"attrs": {"k": 5}}, {"order": 5}, {"order": [5, {}]},
                                  {"escaped": []}, {"times": []}, {"link_csets": 5}, {"user_links": {}},
                                  {"dimensions": []}, {"comment": []}, {"scales": {}}, {"labels": 5}],
                         ids=lambda value: json.dumps(value)[:30])
@pytest.mark.parametrize("path", ["", "a"])
def test_our_own_member_of_another_kind_crashes_nothing(store, hdf5, path):
    make(store, 3)
    name = os.path.join(store, path, "zarr.json")
    with open(name) as file:
        document = json.load(file)
    document["attributes"] = {"k": 1, "_hdf5": hdf5}
    with open(name, "w") as file:
        json.dump(document, file)
    for mode in "r", "r+":
        try:
            with h5py.File(store, mode) as f:
                node = f[path or "/"]
                dict(node.attrs), list(f), f["b"][...]
                if mode == "r+":
                    node.attrs["new"] = 1
                    f.create_group("g")
        except (OSError, KeyError, RuntimeError, ValueError):
            pass


@pytest.mark.parametrize("encoding", ["utf-16", "latin1", "", 5, []])
def test_json2_in_another_encoding_is_an_error(store, encoding):
    make(store, 2)
    numbers = store + "/a/.zarray"
    with open(numbers) as file:
        document = json.load(file)
    document.update({"dtype": "|O", "fill_value": None, "compressor": None,
                     "filters": [{"id": "json2", "encoding": encoding}]})
    with open(numbers, "w") as file:
        json.dump(document, file)
    with open(store + "/a/0", "wb") as file:
        file.write(json.dumps(["a", "b", "c", "d", "|O", [4]]).encode())
    with h5py.File(store) as f:
        with pytest.raises((KeyError, OSError)) as error:
            f["a"][...]
    assert "json2" in str(error.value) and "encoding" in str(error.value) and "a" in str(error.value)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("dtype, text", [("f8", "0.0"), ("f4", "-1.5e3"), ("i4", "-7"), ("u8", "18446744073709551615")])
def test_a_number_in_quotes_is_the_fill_value_that_zarr_python_reads(store, dtype, text, zarr_format):
    zarr.open_group(store, mode="w", zarr_format=zarr_format).create_array("a", shape=(4,), chunks=(4,), dtype=dtype)
    spoil(f"{store}/a/{'.zarray' if zarr_format == 2 else 'zarr.json'}", "fill_value", text)
    expected = zarr.open_array(f"{store}/a", mode="r")[...]
    with h5py.File(store) as f:
        np.testing.assert_array_equal(f["a"][...], expected)
        assert f["a"].fillvalue == expected[0]


def as_gdal_writes(path, data, codecs):
    """An array as GDAL makes it: integers have no fill value, and before 3.11 no codec says how elements are bytes."""
    document = {"zarr_format": 3, "node_type": "array", "shape": data.shape, "data_type": data.dtype.name,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2]}},
                "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
                "fill_value": None if data.dtype.kind in "iu" else "NaN", "attributes": {}}
    os.makedirs(f"{path}/c/0")
    with open(f"{path}/zarr.json", "w") as file:
        json.dump(document | ({"codecs": codecs} if codecs else {}), file)
    chunk = data[:2, :2].tobytes("F" if codecs and codecs[0]["name"] == "transpose" else "C")
    with open(f"{path}/c/0/0", "wb") as file:
        file.write(gzip.compress(chunk) if codecs and codecs[-1]["name"] == "gzip" else chunk)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32"])
def test_integers_of_gdal_have_no_fill_value_and_its_old_versions_name_no_byte_order(store, dtype):
    turned, packed = {"name": "transpose", "configuration": {"order": [1, 0]}}, {"name": "gzip"}
    chains = {"none": None, "turned": [turned], "packed": [packed], "both": [turned, packed],
              "new": [{"name": "bytes", "configuration": {"endian": "little"}}, packed]}
    data = np.arange(1, 9, dtype=dtype).reshape(2, 4)
    for name, codecs in chains.items():
        as_gdal_writes(f"{store}/{name}", data, codecs)
    fill = np.nan if dtype == "float32" else 0
    with h5py.File(store, "r+") as f:
        for name in chains:
            np.testing.assert_array_equal(f[name][...], np.hstack([data[:, :2], np.full((2, 2), fill, dtype)]))
            f[name][0, 3] = 99
    with h5py.File(store) as f:
        for name in chains:
            assert f[name][0].tolist()[::3] == [1, 99]
    for name in chains:
        with open(f"{store}/{name}/zarr.json") as file:
            assert json.load(file)["fill_value"] == (None if dtype != "float32" else "NaN")


def test_codecs_as_n5_zarr_writes_them_are_read(store):
    """It says how many threads it had, and by a member of its own that gzip is zlib's."""
    data = np.arange(6, dtype="i4")
    packed = {"blosc": [{"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "blocksize": 0, "typesize": 4, "nthreads": 1},
                        numcodecs.Blosc().encode(data)],
              "zstd": [{"level": 3, "nbWorkers": 1}, numcodecs.Zstd().encode(data)],
              "gzip": [{"level": -1, "useZlib": False}, gzip.compress(data.tobytes())],
              "zlib": [{"level": 5, "useZlib": True}, zlib.compress(data.tobytes())]}
    group = zarr.open_group(store, mode="w")
    for name, (configuration, chunk) in packed.items():
        group.create_array(name, shape=(6,), chunks=(6,), dtype="i4")[...] = 9
        spoil(f"{store}/{name}/zarr.json", "codecs", [
            {"name": "bytes", "configuration": {"endian": "little"}},
            {"name": "gzip" if name == "zlib" else name, "configuration": configuration}])
        with open(f"{store}/{name}/c/0", "wb") as file:
            file.write(chunk)
    with h5py.File(store, "r+") as f:
        for name in packed:
            np.testing.assert_array_equal(f[name][...], data)
            f[name][2] = 7
    with open(f"{store}/zlib/c/0", "rb") as file:
        assert np.frombuffer(zlib.decompress(file.read()), "i4").tolist() == [0, 1, 7, 3, 4, 5]


def test_gzip_as_n5_zarr_writes_it_in_v2_is_everybodys_in_a_copy_in_v3(store, tmp_path):
    data = np.arange(6, dtype="<i4")
    packed = {"own level": [{"level": -1, "useZlib": False}, gzip.compress(data.tobytes())],
              "no level": [{}, gzip.compress(data.tobytes())],
              "zlib": [{"level": 5, "useZlib": True}, zlib.compress(data.tobytes())],
              "zlib's own level": [{"id": "zlib", "level": -1}, zlib.compress(data.tobytes())]}
    group = zarr.open_group(store, mode="w", zarr_format=2)
    for name, (configuration, chunk) in packed.items():
        group.create_array(name, shape=(6,), chunks=(6,), dtype="<i4")[...] = 9
        spoil(f"{store}/{name}/.zarray", "compressor", {"id": "gzip", **configuration})
        with open(f"{store}/{name}/0", "wb") as file:
            file.write(chunk)
    with h5py.File(store) as f, h5py.File(tmp_path / "copy.zarr", "w") as copy:
        for name in packed:
            f.copy(name, copy)
    for name in packed:
        copy = zarr.open_array(tmp_path / "copy.zarr" / name, mode="r")
        np.testing.assert_array_equal(copy[...], data)
        assert copy.compressors[0].level == (5 if name == "zlib" else 6)


def test_orders_of_before_v3_was_final_are_read(store):
    data = np.arange(6, dtype="i4").reshape(2, 3)
    group = zarr.open_group(store, mode="w", zarr_format=3)
    for name, order in (("F", (1, 0)), ("C", (0, 1))):
        group.create_array(name, data=data, chunks=(2, 3), filters=[zarr.codecs.TransposeCodec(order=order)],
                           compressors=None)
        with open(f"{store}/{name}/zarr.json") as file:
            codecs = json.load(file)["codecs"]
        codecs[0]["configuration"]["order"] = name
        spoil(f"{store}/{name}/zarr.json", "codecs", codecs)
    with h5py.File(store, "r+") as f:
        for name in "FC":
            np.testing.assert_array_equal(f[name][...], data)
            f[name][0, 1] = 9
    with h5py.File(store) as f:
        assert [f[name][0].tolist() for name in "FC"] == [[0, 9, 2]] * 2


@pytest.mark.parametrize("dtype", [">u1", ">i1", "<u1", "<i1", ">b1"])
def test_elements_of_one_byte_may_name_an_order(store, dtype):
    group = zarr.open_group(store, mode="w", zarr_format=2)
    group.create_array("a", shape=(300,), chunks=(100,), dtype="|" + dtype[1:], compressors=None)
    values = (np.arange(300) % 2).astype("|" + dtype[1:])
    group["a"][...] = values
    spoil(store + "/a/.zarray", "dtype", dtype)
    with h5py.File(store) as f:
        assert f["a"].dtype == values.dtype and (f["a"][...] == values).all() and f["a"][7] == values[7]
