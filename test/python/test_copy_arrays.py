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


def dimensions(array):
    v3_names = getattr(array.metadata, "dimension_names", None)
    return v3_names if v3_names is not None else array.attrs.get("_ARRAY_DIMENSIONS")


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
        changed["attributes"] = {"zarr_conventions": [{"name": "of others"}]}
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


def scales_of(dataset):
    return [scale.name for scale in dataset.dims[0].values()]


def test_a_copy_within_a_store_has_the_scales_of_its_original(tmp_path):
    path = tmp_path / "s.zarr"
    with h5py.File(path, "w") as f:
        f["g/x"] = np.arange(3)
        f["g/x"].make_scale("x")
        f["g/a"] = np.arange(3.)
        f["g/a"].dims[0].attach_scale(f["g/x"])
    for name in ("b", "c"):  # the first of these from names, the second with what was stored of the first
        with h5py.File(path, "r+") as f:
            f.copy("g/a", name)
            assert scales_of(f[name]) == ["/g/x"]
        with h5py.File(path) as f:
            assert sorted(f) == sorted({"g", "b", name})
            assert scales_of(f["b"]) == scales_of(f[name]) == scales_of(f["g/a"]) == ["/g/x"]


def test_a_copy_between_stores_has_no_other_scales_than_its_original(tmp_path):
    source, target = tmp_path / "s.zarr", tmp_path / "t.zarr"
    with h5py.File(source, "w") as f:
        f["o/s"] = np.arange(3) * 3
        f["o/s"].make_scale("s")
        f["q/e"] = np.arange(3.)
        f["q/e"].dims[0].attach_scale(f["o/s"])
        f["q/s"] = np.arange(3) * 5
        f["q/s"].make_scale("s")
        f.create_dataset("r/s", data=np.arange(3), maxshape=(None,)).make_scale("s")
        f.create_dataset("r/e", data=np.arange(3.), maxshape=(None,)).dims[0].attach_scale(f["r/s"])
    with h5py.File(source) as s, h5py.File(target, "w") as t:
        s.copy("/", t, "all")
        assert scales_of(t["all/q/e"]) == []
        assert scales_of(t["all/r/e"]) == ["/all/r/s"]
    with h5py.File(target) as t:
        assert scales_of(t["all/q/e"]) == [] and t["all/q/e"].dims[0].label == ""
        assert scales_of(t["all/r/e"]) == ["/all/r/s"]
    assert zarr.open_array(target / "all/q/e", mode="r").metadata.dimension_names == ("s",)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_copy_without_attributes_has_no_dimensions_either(tmp_path, zarr_format):
    source, target = tmp_path / "s.zarr", tmp_path / "t.zarr"
    zarr.create_group(source, zarr_format=zarr_format)
    zarr.create_group(target, zarr_format=zarr_format)
    with h5py.File(source, "r+") as f:
        f["x"] = np.arange(3)
        f["x"].make_scale("other")
        f["a"] = np.arange(3.)
        f["a"].dims[0].attach_scale(f["x"])
        f["l"] = np.arange(3.)
        f["l"].dims[0].label = "label"
    zarr.open_array(source / "a").attrs["zarr_conventions"] = [{"name": "of others"}]
    with h5py.File(source) as s, h5py.File(target, "r+") as t:
        for name in "xal":
            s.copy(name, t, name, without_attrs=True)
            assert list(t[name].attrs) == []
    with h5py.File(target) as t:
        assert sorted(t) == ["a", "l", "x"]
        for name in "xal":
            assert list(t[name].attrs) == [] and not t[name].is_scale
    assert "zarr_conventions" not in zarr.open_array(target / "a", mode="r").attrs


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
        assert dimensions(now) == dimensions(was), name
        assert now.attrs.get("zarr_conventions") == was.attrs.get("zarr_conventions"), name
        assert now.shards == was.shards and len(now.filters) + len(now.compressors) >= len(was.filters) + len(was.compressors), name
        assert now[:].astype(was.dtype).tobytes() == was[:].tobytes(), name
        with h5py.File(source) as s, h5py.File(mirror) as m:
            assert m["g"][name].dtype == s["g"][name].dtype
            assert m["g"][name][:].tobytes() == s["g"][name][:].tobytes(), name


@needs_command
@pytest.mark.parametrize("options", [["--codec", "zstd"], ["--shard", "16KiB"]])
def test_other_codecs_leave_arrays_what_they_are(tmp_path, options):
    source, copy = tmp_path / "s.zarr", tmp_path / "t.zarr"
    names = write_foreign(source, 3)
    h5zarr("export", *options, source, copy)
    for name in names:
        was, now = zarr.open_array(source / "g" / name, mode="r"), zarr.open_array(copy / "g" / name, mode="r")
        assert now.dtype == was.dtype and dimensions(now) == dimensions(was), name
        with h5py.File(source) as s, h5py.File(copy) as c:
            assert c["g"][name][:].tobytes() == s["g"][name][:].tobytes(), name
        if name != "shards":  # (whose codecs are in the filter that makes shards)
            codecs = json.dumps([codec.to_dict() for codec in now.metadata.codecs])
            assert ("zstd" if options[0] == "--codec" else "sharding_indexed") in codecs, name
