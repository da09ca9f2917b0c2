"""H5Ocopy of arrays of Zarr between stores: what HDF5's own copy has no words for arrives, too."""
import json
import shutil

import h5py
import numcodecs
import numpy as np
import pytest
import zarr

from command_support import h5zarr, needs_command


def documents(root):
    """Every document of a store, but for what only names a place."""
    found = {}
    for path in sorted(root.rglob("*")):
        if path.name in ("zarr.json", ".zarray", ".zattrs"):
            document = json.loads(path.read_text())
            document.pop("consolidated_metadata", None)
            if document:  # .zattrs without an attribute says nothing
                found[str(path.relative_to(root))] = document
    return found


def chunks(array):
    return {str(path.relative_to(array)): path.read_bytes() for path in array.rglob("*")
            if path.is_file() and path.name not in ("zarr.json", ".zarray", ".zattrs")}


def write_foreign(path, zarr_format):
    """Arrays whose data types, codecs, keys and names HDF5's own copy has no words for."""
    root = zarr.create_group(path, zarr_format=zarr_format)
    g = root.create_group("g", attributes={"k": {"a": [1, None, "b"]}})
    values = {
        "when": np.array(["2026-01-01", "NaT", "1969-12-31"], "<M8[D]"),
        "lasted": np.array([1, 2, 3], "<m8[ms]"),
        "text": np.array(["", "äö", "日本語"], "<U4"),
        "record": np.array([(1, "ä"), (2, "b"), (3, "")], [("n", "<i4"), ("t", "<U2")]),
        "flag": np.array([True, False, True]),
        "big": np.array([1, 2, 3], ">i4"),
    }
    for name, value in values.items():
        g.create_array(name, data=value, chunks=(2,), chunk_key_encoding={"name": "v2", "separator": "."})
    fill = {"fill_value": np.datetime64("NaT")}
    g.create_array("unwritten", shape=(4,), chunks=(2,), dtype="<M8[s]", **fill)
    grid = np.arange(12, dtype="f4").reshape(3, 4)
    if zarr_format == 3:
        codecs = [zarr.codecs.GzipCodec(level=3), zarr.codecs.Crc32cCodec()]
        g.create_array("grid", data=grid, chunks=(2, 3), filters=[zarr.codecs.TransposeCodec(order=(1, 0))], compressors=codecs,
                       dimension_names=["a", None])
        g.create_array("shards", data=grid, chunks=(1, 2), shards=(2, 4), dimension_names=["a", "a"], compressors=codecs)
        document = path / "g" / "flag" / "zarr.json"
        changed = json.loads(document.read_text())
        changed["of_others"] = {"must_understand": False, "x": 1}
        document.write_text(json.dumps(changed))
    else:
        g.create_array("grid", data=grid, chunks=(2, 3), order="F", filters=[numcodecs.Delta("<f4"), numcodecs.CRC32()],
                       compressors=numcodecs.LZ4(), chunk_key_encoding={"name": "v2", "separator": "/"})
    return list(values) + ["unwritten", "grid"] + (["shards"] if zarr_format == 3 else [])


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_copy_between_stores_is_the_same_array(tmp_path, zarr_format):
    source, target = tmp_path / "s.zarr", tmp_path / "t.zarr"
    names = write_foreign(source, zarr_format)
    zarr.create_group(target, zarr_format=zarr_format)
    with h5py.File(source) as s, h5py.File(target, "r+") as t:
        s.copy("g", t)
    expected, copied = documents(source / "g"), documents(target / "g")
    for document in copied.values():  # what HDF5 is told of dimensions is no part of the array
        document.get("attributes", {}).pop("_hdf5", None)
    assert copied == expected
    for name in names:
        was, now = zarr.open_array(source / "g" / name, mode="r"), zarr.open_array(target / "g" / name, mode="r")
        assert now[:].tobytes() == was[:].tobytes(), name
        assert chunks(target / "g" / name) == chunks(source / "g" / name)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_copy_into_the_other_format_keeps_what_both_can_say(tmp_path, zarr_format):
    source, target = tmp_path / "s.zarr", tmp_path / "t.zarr"
    names = write_foreign(source, zarr_format)
    zarr.create_group(target, zarr_format=5 - zarr_format)
    with h5py.File(source) as s, h5py.File(target, "r+") as t:
        for name in names:
            if name != "shards":
                s.copy("g/" + name, t)
            else:
                with pytest.raises(RuntimeError, match="shards.*Zarr v2 has no shards"):
                    s.copy("g/" + name, t)
    for name in set(names) - {"shards"}:
        was, now = zarr.open_array(source / "g" / name, mode="r"), zarr.open_array(target / name, mode="r")
        assert now.metadata.zarr_format == 5 - zarr_format
        # (In v3 zarr-python has the order of bytes among the codecs.)
        assert now.dtype.newbyteorder("=") == was.dtype.newbyteorder("=") and now.chunks == was.chunks, name
        assert repr(now.fill_value) == repr(was.fill_value), name
        assert now[:].astype(was.dtype).tobytes() == was[:].tobytes(), name
        assert "units" not in now.attrs, name


def test_names_of_dimensions_mean_scales_where_a_copy_lies(tmp_path):
    source, target = tmp_path / "s.zarr", tmp_path / "t.zarr"
    g = zarr.create_group(source).create_group("g")
    g.create_array("x", data=np.arange(3), dimension_names=["x"])
    g.create_array("data", data=np.zeros((3, 2)), dimension_names=["x", "y"])
    with h5py.File(source) as s, h5py.File(target, "w") as t:
        s.copy("g", t)
        assert t["g/data"].dims[0][0] == t["g/x"]
    with h5py.File(target) as t:
        assert t["g/data"].dims[0][0] == t["g/x"]
    assert zarr.open_array(target / "g" / "data", mode="r").metadata.dimension_names == ("x", "y")


def test_a_copy_of_an_array_that_was_removed_meanwhile_is_an_error_that_names_it(tmp_path):
    source, target = tmp_path / "s.zarr", tmp_path / "t.zarr"
    zarr.create_group(source).create_array("gone", data=np.arange(4), chunks=(2,))
    with h5py.File(source) as s, h5py.File(target, "w") as t:
        assert s["gone"].shape == (4,)
        shutil.rmtree(source / "gone")
        with pytest.raises(RuntimeError, match="gone"):
            s.copy("gone", t)
        assert "gone" not in t
    assert not (target / "gone").exists()


@needs_command
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_the_command_copies_arrays_as_they_are(tmp_path, zarr_format):
    source, copy, mirror = tmp_path / "s.zarr", tmp_path / "t.zarr", tmp_path / "s.icechunk"
    names = write_foreign(source, zarr_format)
    h5zarr("export", source, copy)
    h5zarr("mirror", source, mirror)
    for name in names:
        was, now = zarr.open_array(source / "g" / name, mode="r"), zarr.open_array(copy / "g" / name, mode="r")
        assert now.dtype.newbyteorder("=") == was.dtype.newbyteorder("=") and now.chunks == was.chunks, name
        assert now.shards == was.shards and len(now.filters) + len(now.compressors) >= len(was.filters) + len(was.compressors), name
        assert now[:].astype(was.dtype).tobytes() == was[:].tobytes(), name
        with h5py.File(source) as s, h5py.File(mirror) as m:
            assert m["g"][name].dtype == s["g"][name].dtype
            assert m["g"][name][:].tobytes() == s["g"][name][:].tobytes(), name
