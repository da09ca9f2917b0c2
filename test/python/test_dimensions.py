"""Dimensions: Zarr's names and HDF5's scales; xarray sees the same through h5netcdf and through Zarr."""
import json
import os

import h5py
import numpy as np
import pytest
import zarr

from support import documents, run, tool, tree

xr = pytest.importorskip("xarray", reason="only in the main environment")
pytest.importorskip("h5netcdf", reason="only in the main environment")
pytestmark = pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning",
                                        "ignore::zarr.errors.UnstableSpecificationWarning")

FORMATS = pytest.mark.parametrize("zarr_format", [2, 3])


def example():
    """A bit of everything a dataset may have."""
    return xr.Dataset(
        {"t": (("time", "y", "x"), np.arange(24, dtype="f4").reshape(2, 3, 4), {"units": "K"}),
         "n": (("y", "without"), np.arange(15).reshape(3, 5)),
         "scalar": ((), 3.5),
         "words": ("x", np.array(["a", "bb", "", "ü"], dtype=object)),
         "flags": ("x", np.array([True, False, True, True]))},
        coords={"time": np.array(["2000-01-01", "2000-01-03"], "M8[ns]"), "x": [1.0, 2.0, 3.0, 4.0],
                "y": [10, 20, 30], "lat": (("y", "x"), np.arange(12.0).reshape(3, 4)), "where": 7},
        attrs={"title": "an example"})


def forget(dataset):
    """Zarr readers see our own attribute; nothing else may differ."""
    dataset = dataset.copy()
    for holder in [dataset, *dataset.variables.values()]:
        holder.attrs = {name: value for name, value in holder.attrs.items() if name != "_hdf5"}
    return dataset


def by_zarr(path, **how):
    return forget(xr.open_zarr(path, consolidated=False, chunks=None, **how).load())


def by_hdf5(path, **how):
    with xr.open_dataset(path, engine="h5netcdf", **how) as dataset:
        return dataset.load()


@FORMATS
@pytest.mark.parametrize("consolidated", [False, True])
def test_stores_of_xarray_read_the_same_through_h5netcdf(store, zarr_format, consolidated):
    example().to_zarr(store, zarr_format=zarr_format, consolidated=consolidated)
    before = tree(store)
    xr.testing.assert_identical(by_hdf5(store), by_zarr(store))
    xr.testing.assert_equal(by_hdf5(store), example())
    assert tree(store) == before


def test_attributes_that_old_xarray_left_in_v3_stores(store):
    root = zarr.open_group(store, mode="w")
    for name, dims, shape in (("x", ["x"], 3), ("a", ["y", "x"], (2, 3))):
        root.create_array(name, shape=shape, dtype="i4").attrs["_ARRAY_DIMENSIONS"] = dims
    with h5py.File(store, "r") as f:
        assert f["x"].is_scale
        assert [f["a"].dims[i][0].name for i in (0, 1)] == ["/y", "/x"]


@FORMATS
def test_datasets_of_h5netcdf_read_the_same_through_zarr(store, zarr_format, monkeypatch):
    monkeypatch.setenv("H5ZARR_ZARR_FORMAT", str(zarr_format))
    example().to_netcdf(store, engine="h5netcdf")
    xr.testing.assert_identical(by_zarr(store), by_hdf5(store))
    xr.testing.assert_equal(by_zarr(store), example())


def test_h5netcdf_leaves_nothing_but_its_variables(store):
    example().to_netcdf(store, engine="h5netcdf")
    found = documents(store)
    assert {key.split("/")[0] for key in found} - {"zarr.json"} == set(example().variables)
    assert found["n/zarr.json"]["dimension_names"] == ["y", "without"]
    names = {name for document in found.values() for name in document["attributes"]}
    assert names == {"_hdf5", "_FillValue", "units", "calendar", "coordinates", "title", "dtype"}
    for document in found.values():  # what h5netcdf has in order of creation
        document["attributes"].get("_hdf5", {}).pop("attr_order", None)
    assert "DIMENSION_LIST" not in json.dumps(found)


def test_scales_as_h5py_shows_them(store):
    example().to_zarr(store)
    with h5py.File(store, "r") as f:
        assert sorted(f) == sorted([*example().variables, "without"])
        assert [dim.keys() for dim in f["t"].dims] == [["time"], ["y"], ["x"]]
        assert f["t"].dims[1][0] == f["y"]
        assert f["time"].is_scale and not f["lat"].is_scale
        assert f["without"].is_scale and f["without"].shape == (5,)
        assert f["without"].attrs["NAME"].startswith(b"This is a netCDF dimension but not a netCDF variable")
        users = [(f[reference].name, dim) for reference, dim in f["y"].attrs["REFERENCE_LIST"]]
        assert users == [("/lat", 0), ("/n", 0), ("/t", 1)]
        assert len(f["y"].attrs) == 3
        assert list(f["y"].attrs) == ["CLASS", "NAME", "REFERENCE_LIST"]


def test_names_that_mean_several_extents_are_labels(store):
    """As in a pyramid of images: no dimension of netCDF could be that."""
    root = zarr.open_group(store, mode="w")
    for level, size in enumerate((8, 4)):
        root.create_array(str(level), shape=(2, size), dtype="u1", dimension_names=["c", "x"])
    root.create_array("partly", shape=(2, 3), dtype="u1", dimension_names=["c", None])
    with h5py.File(store, "r") as f:
        assert list(f) == ["0", "1", "partly"]
        assert [dim.label for dim in f["1"].dims] == ["c", "x"]
        assert [dim.label for dim in f["partly"].dims] == ["c", ""]
        assert not any(len(dim) for dim in f["1"].dims)


def test_an_array_of_another_kind_takes_the_name(store):
    root = zarr.open_group(store, mode="w")
    root.create_array("x", shape=(3, 2), dtype="u1", dimension_names=["y", "z"])
    root.create_array("a", shape=3, dtype="u1", dimension_names=["x"])
    with h5py.File(store, "r") as f:
        assert [dim.label for dim in f["a"].dims] == ["x"] and len(f["a"].dims[0]) == 0


def test_one_array_as_a_store_has_labels(store):
    zarr.create_array(store, shape=(2, 3), dtype="u1", dimension_names=["y", "x"])
    with h5py.File(store, "r") as f:
        assert [dim.label for dim in f["store"].dims] == ["y", "x"]


def test_names_from_outside_stay_within_the_store(store):
    root = zarr.open_group(store, mode="w")
    root.create_array("a", shape=(2, 3), dtype="u1", dimension_names=["..", "a/b"])
    with h5py.File(store, "r") as f:
        assert list(f) == ["a"]
        assert not any(len(dim) for dim in f["a"].dims)


def tree_example():
    inner = xr.Dataset({"v": (("time", "x"), np.arange(8.0).reshape(2, 4))}, coords={"x": [4, 3, 2, 1]})
    return xr.DataTree.from_dict({
        "/": xr.Dataset({"a": ("time", [1, 2])}, coords={"time": [5.0, 6.0]}),
        "/g": inner,
        "/g/h": xr.Dataset({"w": (("x", "bare"), np.ones((4, 3)))}),
    })


@FORMATS
def test_trees_of_xarray_read_the_same_through_h5netcdf(store, zarr_format):
    tree_example().to_zarr(store, zarr_format=zarr_format)
    with xr.open_datatree(store, engine="h5netcdf") as got:
        xr.testing.assert_identical(got.load(), xr.open_datatree(store, engine="zarr").load())
        xr.testing.assert_equal(got, tree_example())


def test_trees_of_h5netcdf_read_the_same_through_zarr(store):
    tree_example().to_netcdf(store, engine="h5netcdf")
    xr.testing.assert_equal(xr.open_datatree(store, engine="zarr", consolidated=False).load(), tree_example())
    with xr.open_datatree(store, engine="h5netcdf") as got:
        xr.testing.assert_equal(got.load(), tree_example())


def make_scales(f):
    """What netCDF never does."""
    f["a"] = np.zeros((3, 4, 5))
    f["x"], f["other"], f["short"] = np.arange(3.0), np.arange(3.0) * 2, np.arange(2.0)
    f["x"].make_scale()
    f["other"].make_scale("nicer name")
    f["g/y"] = np.arange(4)
    f["g/y"].make_scale("y")
    f["short"].make_scale("short")
    f["a"].dims[0].attach_scale(f["x"])
    f["a"].dims[0].attach_scale(f["other"])
    f["a"].dims[1].attach_scale(f["g/y"])
    f["a"].dims[1].label = "down"
    f["g/b"] = np.zeros((4, 2))
    f["g/b"].dims[0].attach_scale(f["g/y"])
    f["g/b"].dims[1].attach_scale(f["short"])
    f["labelled"] = np.zeros((3, 3))
    f["labelled"].dims[0].label = "x"
    f["labelled"].dims[1].label = "z"
    f["x2"] = np.zeros((3, 3))
    f["x2"].make_scale("two-dimensional")
    f["not"] = np.zeros(3)
    f["not"].dims[0].label = "not"
    f["table"] = np.zeros(2)
    f["table"].attrs["CLASS"] = "TABLE"
    f["table"].attrs["NAME"] = "a table"
    f["table"].attrs["DIMENSION_LIST"] = "mine"


def describe(f):
    said = {}

    def look(name, node):
        if not isinstance(node, h5py.Dataset):
            return
        said[name] = [node.is_scale, [(dim.label, [(key, scale.name) for key, scale in dim.items()])
                                      for dim in node.dims] if name != "table" else None]
        for key in ("CLASS", "NAME"):
            said[name].append(node.attrs.get(key))
        users = node.attrs.get("REFERENCE_LIST", [])
        said[name].append(sorted((f[reference].name, dim) for reference, dim in users))
        said[name].append(sorted(node.attrs))

    f.visititems(look)
    return said


@pytest.mark.parametrize("zarr_format", ["2", "3"])
def test_scales_of_hdf5_programs_come_back(store, tmp_path, zarr_format, monkeypatch):
    monkeypatch.setenv("H5ZARR_ZARR_FORMAT", zarr_format)
    expected = []
    for path in (tmp_path / "native.h5", store):
        with h5py.File(path, "w") as f:
            make_scales(f)
        with h5py.File(path, "r") as f:
            expected.append(describe(f))
    assert expected[1] == expected[0]


def test_scales_of_hdf5_programs_change(store, tmp_path):
    """In a later session, too."""
    results = []
    for path in (tmp_path / "native.h5", store):
        with h5py.File(path, "w") as f:
            make_scales(f)
        with h5py.File(path, "r+") as f:
            f["a"].dims[0].detach_scale(f["x"])
            f["a"].dims[2].label = "across"
            f["g/b"].dims[0].detach_scale(f["g/y"])
            f["new"] = np.zeros((3, 2))
            f["new"].dims[0].attach_scale(f["other"])
            f["new"].dims[1].attach_scale(f["short"])
            del f["not"]
        with h5py.File(path, "r") as f:
            results.append(describe(f))
    assert results[1] == results[0]
    assert zarr.open_array(f"{store}/a", mode="r").metadata.dimension_names == ("other", "down", "across")


def test_a_renamed_scale_names_its_dimensions_anew(store):
    example().to_zarr(store)
    with h5py.File(store, "r+") as f:
        f.move("y", "row")
        f.move("without", "column")
    with h5py.File(store, "r") as f:
        assert [scale.name for dim in f["t"].dims for scale in dim.values()] == ["/time", "/row", "/x"]
        assert [scale.name for dim in f["n"].dims for scale in dim.values()] == ["/row", "/column"]
        assert "without" not in f
    assert zarr.open_array(f"{store}/n", mode="r").metadata.dimension_names == ("row", "column")
    assert not os.path.exists(f"{store}/column")


def test_a_bare_dimension_that_gets_data_is_an_array(store):
    example().to_netcdf(store, engine="h5netcdf")
    with h5py.File(store, "r+") as f:
        f["without"][...] = np.arange(5.0)
    assert zarr.open_array(f"{store}/without", mode="r")[...].tolist() == [0, 1, 2, 3, 4]
    with h5py.File(store, "r") as f:
        assert f["without"].is_scale and f["n"].dims[1][0] == f["without"]


def test_a_bare_dimension_follows_arrays_that_others_resize(store):
    xr.Dataset({"a": ("x", np.arange(3))}).to_netcdf(store, engine="h5netcdf")
    zarr.open_array(f"{store}/a", mode="r+").resize((5,))
    assert by_hdf5(store).sizes == {"x": 5}


def test_unlimited_dimensions_grow(store):
    import h5netcdf

    example().to_netcdf(store, engine="h5netcdf", unlimited_dims=["time", "without"])
    with h5netcdf.File(store, "a") as f:
        assert f.dimensions["time"].isunlimited() and f.dimensions["without"].isunlimited()
        f.resize_dimension("time", 3)
        f.resize_dimension("without", 6)
        f["time"][2] = 5
        f["t"][2] = 7
        f["n"][:, 5] = 9
    got = by_zarr(store)
    assert got.sizes == {"time": 3, "y": 3, "x": 4, "without": 6}
    assert got["t"].values[2].tolist() == [[7] * 4] * 3 and got["n"].values[:, 5].tolist() == [9] * 3
    xr.testing.assert_identical(by_hdf5(store), got)
    assert not os.path.exists(f"{store}/without")


@FORMATS
def test_appended_by_zarr_and_read_through_h5netcdf(store, zarr_format):
    example().to_zarr(store, zarr_format=zarr_format)
    example().to_zarr(store, append_dim="time")
    xr.testing.assert_identical(by_hdf5(store), by_zarr(store))
    assert by_hdf5(store).sizes["time"] == 4


def test_a_variable_added_through_h5netcdf_to_a_store_of_xarray(store):
    example().to_zarr(store)
    xr.Dataset({"added": (("y", "without", "new"), np.ones((3, 5, 2)))}).to_netcdf(store, mode="a", engine="h5netcdf")
    assert by_zarr(store)["added"].dims == ("y", "without", "new")
    xr.testing.assert_identical(by_hdf5(store), by_zarr(store))


def test_large_groups_are_not_read_for_their_dimensions(store):
    root = zarr.open_group(store, mode="w")
    root.create_array("a", shape=3, dtype="u1", dimension_names=["x"])
    for number in range(1001):
        os.mkdir(f"{store}/bad{number}")
        with open(f"{store}/bad{number}/zarr.json", "w") as document:
            document.write('{"zarr_format": 3, "node_type": "array"}')
    with h5py.File(store, "r") as f:
        assert f["a"].dims[0].label == "x" and "x" not in f


LINE = np.arange(4.0)
ENCODED = {
    "packed": ({"a": ("x", [1.0, 2.0, np.nan, 4.0])},
               {"a": {"dtype": "i2", "scale_factor": 0.5, "add_offset": 10.0, "_FillValue": -99}}),
    "float fill": ({"a": ("x", np.array([1, 2, np.nan, 4], "f4"))}, {"a": {"_FillValue": np.float32(-9.9)}}),
    "no fill": ({"a": ("x", LINE)}, {"a": {"_FillValue": None}}),
    "missing_value": ({"a": ("x", np.array([1, np.nan], "f4"))}, {"a": {"_FillValue": None, "missing_value": -1.0}}),
    "integer fill": ({"a": ("x", [1.0, np.nan])}, {"a": {"dtype": "u1", "_FillValue": 255}}),
    "not a time": ({"t": ("x", np.array(["2001-01-01", "NaT"], "M8[ns]"))}, {}),
    "units of time": ({"t": ("x", np.array(["2001-01-01", "2001-01-02"], "M8[ns]"))},
                      {"t": {"units": "hours since 1990-01-01", "calendar": "standard", "dtype": "f8"}}),
    "spans": ({"t": ("x", np.array([1, "NaT", 3], "m8[ns]"))}, {}),
    "unicode": ({"s": ("x", np.array(["a", "", "ü", "dddd"]))}, {}),
    "bytes": ({"s": ("x", np.array([b"a", b"", b"c", b"dddd"]))}, {}),
    "objects": ({"s": ("x", np.array(["a", "", "ü", "dddd"], object))}, {}),
    "booleans": ({"b": (("x", "y"), np.eye(3, dtype=bool))}, {}),
    "nothing": ({"a": (("x", "e"), np.zeros((4, 0)))}, {}),
    "attributes": ({"a": ("x", LINE, {"i": np.int32(3), "f": np.float32(1.1), "l": [1, 2, 3], "s": "text", "e": "",
                                      "words": ["a", "b"], "range": np.array([0, 5], "i2")})}, {}),
    "numbers": ({name: ("x", np.arange(4).astype(name)) for name in
                 ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", ">i4", ">f8")}, {}),
}


@FORMATS
@pytest.mark.parametrize("case", ENCODED)
def test_encodings_of_datasets_by_xarray(store, case, zarr_format):
    variables, encoding = ENCODED[case]
    xr.Dataset(variables, attrs={"one": 1}).to_zarr(store, encoding=encoding, zarr_format=zarr_format)
    xr.testing.assert_identical(by_hdf5(store), by_zarr(store))


@FORMATS
@pytest.mark.parametrize("case", ENCODED)
def test_encodings_of_datasets_by_h5netcdf(store, tmp_path, case, zarr_format, monkeypatch):
    monkeypatch.setenv("H5ZARR_ZARR_FORMAT", str(zarr_format))
    variables, encoding = ENCODED[case]
    for path in (store, tmp_path / "native.h5"):
        xr.Dataset(variables, attrs={"one": 1}).to_netcdf(path, engine="h5netcdf", encoding=encoding)
    xr.testing.assert_identical(by_hdf5(store), by_hdf5(tmp_path / "native.h5"))
    xr.testing.assert_identical(by_zarr(store), by_hdf5(store))


MOVED_SCALES = {
    "a group away from its scale": [("g/sub", "k/sub")],
    "an array away from its scale": [("g/v", "k/v")],
    "a group with its scale": [("g", "h")],
    "the scale": [("g/x", "k/x")],
    "the scale, within its group": [("g/x", "g/x2")],
    "back and forth": [("g/sub", "k/sub"), ("k/sub", "g/sub")],
}


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("moves", MOVED_SCALES)
def test_scales_stay_attached_to_what_moves(tmp_path, moves, saved):
    def scales(f):
        found = {}

        def look(name, item):
            if isinstance(item, h5py.Dataset):
                users = [(f[ref].name, int(dim)) for ref, dim in item.attrs.get("REFERENCE_LIST", [])]
                found[name] = ([[s.name for s in d.values()] for d in item.dims], sorted(users), item.is_scale)
        f.visititems(look)
        return found

    said = []
    for path in (tmp_path / "a.h5", tmp_path / "a.zarr"):
        with h5py.File(path, "w") as f:
            f["g/x"], f["g/sub/v"], f["g/v"], f["k/other"] = np.arange(3), np.arange(3), np.arange(3), 1
            f["g/x"].make_scale("x")
            for name in ("g/sub/v", "g/v"):
                f[name].dims[0].attach_scale(f["g/x"])
            for source, target in () if saved else MOVED_SCALES[moves]:
                f.move(source, target)
        if saved:
            with h5py.File(path, "r+") as f:
                for source, target in MOVED_SCALES[moves]:
                    f.move(source, target)
        with h5py.File(path, "r") as f:
            said.append(scales(f))
    assert said[0] == said[1]


def attached(path):
    """What there is, and which scales each dataset has."""
    found = {}
    with h5py.File(path, "r") as f:
        f.visititems(lambda name, item: found.update({name: [
            item.shape, item.is_scale, [[scale.name for scale in dim.values()] for dim in item.dims]]
            if isinstance(item, h5py.Dataset) else None}))
    return found


@pytest.mark.parametrize("sizes", [{"t": None, "y": 4}, {"t": 3, "y": 4}])
@pytest.mark.parametrize("later", [False, True])
def test_variables_of_a_group_keep_the_dimensions_of_the_root(store, tmp_path, sizes, later):
    import h5netcdf

    said = []
    for path in (tmp_path / "native.h5", store):
        with h5netcdf.File(path, "w") as f:
            f.dimensions = sizes
            for name in ("s", "g1/d"):
                f.create_variable(name, ("t", "y"), "f4", chunks=(2, 2))
            if sizes["t"] is None:
                f.resize_dimension("t", 3)
            f["g1/d"][:] = 2
        if later and sizes["t"] is None:
            with h5netcdf.File(path, "a") as f:
                f.resize_dimension("t", 6)
                f["g1/d"][3:6] = 5
        with h5py.File(path, "r") as f:
            said.append((attached(path), f["g1/d"][...].tolist()))
    assert said[1] == said[0]


@pytest.mark.parametrize("resized", ["d", "t"])
def test_scales_stay_attached_to_what_is_resized(store, tmp_path, resized):
    said = []
    for path in (tmp_path / "native.h5", store):
        with h5py.File(path, "w") as f:
            f.create_dataset("t", (4,), maxshape=(None,), chunks=(4,)).make_scale("t")
            f.create_dataset("x", (3,)).make_scale("x")
            d = f.create_dataset("d", (4, 3), maxshape=(None, 3), chunks=(4, 3))
            d.dims[0].attach_scale(f["t"])
            d.dims[1].attach_scale(f["x"])
        with h5py.File(path, "r+") as f:
            f[resized].resize(5, 0)
        said.append(attached(path))
    assert said[1] == said[0]


@pytest.mark.parametrize("resized", ["t", "time"])
def test_scales_of_others_stay_attached_to_what_hdf5_resizes(store, resized):
    example().to_zarr(store)
    with h5py.File(store, "r+") as f:
        f[resized].resize(5, 0)
    for name, dims in {"t": ["/time", "/y", "/x"], "n": ["/y", "/without"]}.items():
        assert sum(attached(store)[name][2], []) == dims


def test_datasets_that_are_added_in_groups_keep_their_dimensions(store, tmp_path):
    data = xr.Dataset({"a": (("t", "x"), np.zeros((4, 3)))}, coords={"t": np.arange(4), "x": [10, 20, 30]})
    said = []
    for path in (tmp_path / "native.h5", store):
        data.to_netcdf(path, engine="h5netcdf")
        data.to_netcdf(path, engine="h5netcdf", mode="a", group="g/h")
        data[["a"]].drop_vars("t").to_netcdf(path, engine="h5netcdf", mode="a", group="g/k")
        said.append(attached(path))
    assert said[1] == said[0]


def test_names_that_others_change_go_before_recorded_scales(store):
    with h5py.File(store, "w") as f:
        for name in ("t", "u"):
            f.create_dataset(name, (4,), maxshape=(None,), chunks=(4,)).make_scale(name)
        f.create_dataset("d", (4,), maxshape=(None,), chunks=(4,)).dims[0].attach_scale(f["t"])
    with open(f"{store}/d/zarr.json") as file:
        document = json.load(file)
    document["dimension_names"] = ["u"]
    with open(f"{store}/d/zarr.json", "w") as file:
        json.dump(document, file)
    assert attached(store)["d"][2] == [["/u"]]


def datasets():
    """What xarray writes, each with something that HDF5 has no like of."""
    return {
        "example": example(),
        "only dimensions": xr.Dataset({"v": (("a", "b"), np.ones((3, 4))), "w": (("b", "a"), np.zeros((4, 3), "i2"))}),
        "no elements": xr.Dataset({"v": (("a", "b"), np.ones((0, 3)))}, coords={"b": [1, 2, 3]}),
        "bounds": xr.Dataset({"v": ("time", [1.0, 2.0]), "time_bnds": (("time", "nv"), np.zeros((2, 2)))},
                             coords={"time": np.array(["2001", "2002"], "M8[ns]")}),
        "texts": xr.Dataset({"fixed": ("x", np.array(["é", "x", "y"])), "one": ((), "hello"),
                             "bytes": ("x", np.array([b"a", b"b", b""]))})}


@FORMATS
@pytest.mark.parametrize("name", datasets())
def test_copies_out_of_stores_of_xarray_hold_the_same_and_leave_them_alone(store, tmp_path, zarr_format, name):
    datasets()[name].to_zarr(store, zarr_format=zarr_format)
    before = tree(store)
    done = run([tool("h5repack"), "-f", "GZIP=4", store, tmp_path / "repacked.h5"])
    assert done.returncode == 0, done.stdout + done.stderr
    for mode in "r", "r+":
        with h5py.File(store, mode) as f, h5py.File(tmp_path / f"copied {mode}.h5", "w") as to:
            for member in f:
                done = run([tool("h5copy"), "-p", "-i", store, "-o", tmp_path / "h5copy.h5", "-s", member, "-d", f"{mode}/{member}"])
                assert done.returncode == 0, done.stdout + done.stderr
                f.copy(member, to)
                np.testing.assert_array_equal(to[member][()], f[member][()])
    assert tree(store) == before
    xr.testing.assert_equal(by_hdf5(tmp_path / "repacked.h5"), by_hdf5(store))


@FORMATS
def test_texts_without_dimensions_are_texts_to_h5netcdf(store, zarr_format):
    xr.Dataset({"st": ((), "hello")}).to_zarr(store, zarr_format=zarr_format)
    xr.testing.assert_identical(by_hdf5(store), by_zarr(store))
    assert by_hdf5(store)["st"].item() == "hello"
