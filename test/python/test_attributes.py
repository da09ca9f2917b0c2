"""Attributes through h5py: every kind comes back as it was, and is plain JSON to others."""
import json
import os

import h5py
import numpy as np
import pytest

from support import documents, forget_hdf5, run, run_python, tool

NUMBERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", ">i4", ">f8"]


def put(store, value, **how):
    with h5py.File(store, "w") as f:
        f.attrs.create("x", value, **how)


def back(store):
    with h5py.File(store, "r") as f:
        return f.attrs["x"]


def json_of(store):
    return documents(store)["zarr.json"]["attributes"]["x"]


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (0,)])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_every_number_type_and_shape(store, dtype, shape):
    value = (np.arange(int(np.prod(shape))).reshape(shape) % 2 + 0.0).astype(dtype)
    put(store, value)
    got = back(store)
    assert got.dtype == value.dtype
    assert got.shape == shape
    assert np.array_equal(got, value)


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 2**64 - 1])
def test_large_integers_are_exact(store, value):
    put(store, np.array(value, "u8" if value > 2**63 else "i8"))
    assert int(back(store)) == value
    assert json_of(store) == value


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.0, 5e-324, 1.1])
def test_special_floats(store, value):
    put(store, value)
    assert np.float64(back(store)).tobytes() == np.float64(value).tobytes()


@pytest.mark.parametrize("text", ["", "plain", "é 数据 😀", 'quote" back\\slash \n', "x" * 70000])
def test_texts(store, text):
    put(store, text)
    assert back(store) == text
    assert json_of(store) == text


def test_lists_of_texts_of_both_kinds(store):
    with h5py.File(store, "w") as f:
        f.attrs["variable"] = ["a", "", "数据"]
        f.attrs["fixed"] = np.array([b"m", b"m/s^2"], "S8")
    with h5py.File(store, "r") as f:
        assert list(f.attrs["variable"]) == ["a", "", "数据"]
        assert f.attrs["fixed"].dtype == np.dtype("S8")
        assert f.attrs["fixed"].tolist() == [b"m", b"m/s^2"]


def test_bytes_that_are_no_utf8(store):
    put(store, np.bytes_(b"\xff\xfe"))
    assert back(store) == b"\xff\xfe"


def test_empty_attributes(store):
    put(store, h5py.Empty("f4"))
    assert back(store) == h5py.Empty("f4")
    assert json_of(store) is None


def test_compound_and_enum(store):
    point = np.array((1, 2.5), [("x", "i4"), ("y", "f8")])
    with h5py.File(store, "w") as f:
        f.attrs["point"] = point
        f.attrs.create("colour", 1, dtype=h5py.enum_dtype({"red": 0, "green": 1}, "i1"))
    with h5py.File(store, "r") as f:
        assert f.attrs["point"].tolist() == (1, 2.5)
        kind = f.attrs.get_id("colour").dtype
        assert h5py.check_enum_dtype(kind) == {"red": 0, "green": 1}


def test_references(store):
    with h5py.File(store, "w") as f:
        f["g/a"] = 1
        f.attrs["x"] = f["g/a"].ref
    with h5py.File(store, "r") as f:
        assert f[f.attrs["x"]].name == "/g/a"


def test_plain_values_do_not_need_our_attribute(store):
    with h5py.File(store, "w") as f:
        f.attrs["text"], f.attrs["number"], f.attrs["list"] = "é", 3, [1.5, 2.5]
    forget_hdf5(store)
    with h5py.File(store, "r") as f:
        assert f.attrs["text"] == "é"
        assert f.attrs["number"] == 3
        assert f.attrs["list"].tolist() == [1.5, 2.5]


def test_ours_is_hidden(store):
    with h5py.File(store, "w") as f:
        f.create_dataset("a", data=[1.5], dtype="f4").attrs["x"] = np.int8(1)
    with h5py.File(store, "r") as f:
        assert list(f["a"].attrs) == ["x"]
        assert list(f.attrs) == []
        assert "_hdf5" not in f["a"].attrs


def test_a_users_attribute_of_that_name_is_kept(store):
    put(store, 1)
    with h5py.File(store, "r+") as f:
        f.attrs["_hdf5"] = "mine"
    with h5py.File(store, "r") as f:
        assert f.attrs["_hdf5"] == "mine"
        assert sorted(f.attrs) == ["_hdf5", "x"]


def test_changed_renamed_and_deleted(store):
    with h5py.File(store, "w") as f:
        f.attrs.update({"a": 1, "b": 2, "c": 3})
    with h5py.File(store, "r+") as f:
        f.attrs["a"] = "now text"
        f.attrs.modify("b", 5)
        del f.attrs["c"]
    with h5py.File(store, "r") as f:
        assert dict(f.attrs) == {"a": "now text", "b": 5}


def test_members_of_others_survive_a_change(store):
    import zarr

    zarr.open_group(store, mode="w").attrs.update({"deep": {"list": [1, {"x": None}]}, "n": 1})
    with h5py.File(store, "r+") as f:
        f.attrs["n"] = 2
    assert zarr.open_group(store, mode="r").attrs.asdict()["deep"] == {"list": [1, {"x": None}]}


ODD = ('{"big": 123456789012345678901234567890, "huge": 1e400, "one": 1.0, "int": 1, "zero": -0.0, "nan": NaN, '
       '"inf": [-Infinity, Infinity], "deep": {"z": [18446744073709551616], "a": NaN}, "half": "\\ud800"}')


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_values_of_others_stay_as_they_were_spelled(tmp_path, zarr_format):
    store = tmp_path / "store.zarr"
    store.mkdir()
    document = store / ("zarr.json" if zarr_format == 3 else ".zattrs")
    if zarr_format == 3:
        document.write_text('{"zarr_format": 3, "node_type": "group", "attributes": %s}' % ODD)
    else:
        (store / ".zgroup").write_text('{"zarr_format": 2}')
        document.write_text(ODD)
    with h5py.File(store, "r+") as f:
        assert f.attrs["big"] == 123456789012345678901234567890.0 and f.attrs["huge"] == np.inf
        assert np.isnan(f.attrs["nan"])
        f.attrs["new"] = 5
    spelled = json.loads(document.read_text(), parse_int=str, parse_float=str, parse_constant=repr)
    spelled = spelled["attributes"] if zarr_format == 3 else spelled
    assert spelled.pop("new") == "5"
    spelled.pop("_hdf5", None)
    assert list(spelled.items()) == list(json.loads(ODD, parse_int=str, parse_float=str, parse_constant=repr).items())


def test_order_of_creation(store):
    names = ["z", "m", "a", "q"]
    with h5py.File(store, "w", track_order=True) as f:
        for name in names:
            f.attrs[name] = 1
    with h5py.File(store, "r") as f:
        assert list(f.attrs) == names


def test_xarray_opens_scalars_of_version_2(store):
    pytest.importorskip("h5netcdf", reason="only in the main environment")
    code = """
import h5py, sys, xarray as xr
with h5py.File(sys.argv[1], "w") as f:
    f["s"] = 5.5
ds = xr.open_zarr(sys.argv[1], consolidated=False)
assert ds["s"].dims == () and float(ds["s"]) == 5.5
with h5py.File(sys.argv[1]) as f:
    assert list(f["s"].attrs) == []
"""
    run_python(code, store, connector="zarr zarr_format=2")


def test_xarray_sees_the_dimensions(store):
    pytest.importorskip("h5netcdf", reason="only in the main environment")
    code = """
import numpy as np, sys, xarray as xr
ds = xr.Dataset({"t": (("time", "x"), np.arange(6.0).reshape(2, 3), {"units": "K"})}, {"x": [10, 20, 30]})
ds.to_netcdf(sys.argv[1], engine="h5netcdf")
assert xr.open_dataset(sys.argv[1], engine="h5netcdf").equals(ds)
zarr = xr.open_zarr(sys.argv[1], consolidated=False)
assert zarr["t"].dims == ("time", "x"), zarr["t"].dims
assert np.array_equal(zarr["t"], ds["t"])
"""
    run_python(code, store)


NAMES = {"": 1, "a": 2, "a\0b": 3, "n" * 65534: 4, "n" * 65535: 5, "z": 6}


@pytest.mark.parametrize("connector", ["zarr", None])
def test_names_that_hdf5_cannot_have_are_left_out_and_kept(store, connector):
    import zarr

    if connector is None and h5py.version.hdf5_version_tuple < (2,):
        pytest.skip("HDF5 1.14 has no views")
    root = zarr.open_group(store, mode="w", attributes=NAMES)
    root.create_array("v", shape=(3,), dtype="i4", attributes=NAMES)[:] = 7
    seen = json.loads(run_python("""
import h5py, json, sys
with h5py.File(sys.argv[1], "r") as f:
    print(json.dumps([list(f), [dict((k, int(v)) for k, v in o.attrs.items()) for o in (f, f["v"])], f["v"][:].tolist()]))
""", store, connector=connector))
    shown = {name: value for name, value in NAMES.items() if value in (2, 4, 6)}
    assert seen == [["v"], [shown, shown], [7, 7, 7]]
    with h5py.File(store, "r+") as f:
        for holder in f, f["v"]:
            holder.attrs["a"] = 20
            del holder.attrs["z"]
    for holder in zarr.open_group(store, mode="r"), zarr.open_array(store, path="v", mode="r"):
        assert dict(holder.attrs) == {name: value for name, value in NAMES.items() if name != "z"} | {"a": 20}


@pytest.mark.parametrize("value, read", [("a\0b", b"a\0b"), ("\0é", "\0é".encode()), (["x", "long\0er", ""], [b"x", b"long\0er", b""])])
def test_texts_with_a_nul_are_shown_whole_and_kept(store, value, read):
    import zarr

    zarr.open_group(store, mode="w", attributes={"x": value, "y": 1})
    with h5py.File(store, "r+") as f:
        got = f.attrs["x"]
        assert (got.tolist() if isinstance(value, list) else got) == read
        kind = f.attrs.get_id("x").get_type()
        assert (kind.is_variable_str(), kind.get_cset(), kind.get_strpad()) == (
            False, h5py.h5t.CSET_UTF8, h5py.h5t.STR_NULLPAD)
        f.attrs["y"] = 2
    assert zarr.open_group(store, mode="r").attrs.asdict() == {"x": value, "y": 2}


def by_creation(obj):
    opened = (h5py.h5a.open(obj.id, index=i, index_type=h5py.h5.INDEX_CRT_ORDER) for i in range(h5py.h5a.get_num_attrs(obj.id)))
    return [attribute.name.decode() for attribute in opened]


HIDDEN = ["_ARRAY_DIMENSIONS", "_hdf5", "_LINKS", "zarr_dtype"]


def make_ordered(f):
    """Attributes deleted, made anew, renamed, and between those of dimension scales."""
    f["type"] = np.dtype("<i2")
    objects = [f, f.create_group("g", track_order=True), f.create_dataset("d", (3,), "f4", track_order=True)]
    many = f.create_group("many", track_order=True)
    for obj in objects:
        for name in ["z", "m", "a", "q", *HIDDEN, "é", "end"]:
            obj.attrs[name] = 1
        h5py.h5a.rename(obj.id, b"m", b"mm")
        del obj.attrs["a"]
        obj.attrs["a"] = [1, 2]
        obj.attrs.modify("z", 3)
        obj.attrs.create("typed", 1, dtype=f["type"])
    f["d"].make_scale("name")
    f["d"].attrs["after"] = 1
    e = f.create_dataset("e", (3, 3), "f4", track_order=True)
    e.attrs["first"] = 1
    e.dims[1].attach_scale(f["d"])
    e.attrs["second"] = 1
    e.dims[0].label = "label"
    e.attrs["third"] = f["d"].ref
    f["d"].attrs["last"] = "x"
    for i in range(20):
        many.attrs[f"a{i * 7 % 20}"] = i
    h5py.h5a.rename(many.id, b"a1", b"zz")
    many.attrs["_LINKS"] = 4
    many.attrs["last"] = 4


def change_ordered(f, names, again):
    for name in names:
        obj = f[name]
        obj.attrs["new"] = 1
        del obj.attrs["new"]
        obj.attrs["new"] = 2
        first = by_creation(obj)[0]
        value = obj.attrs[first]
        del obj.attrs[first]
        obj.attrs[first] = value
        h5py.h5a.rename(obj.id, b"new", b"newer" + again)
        obj.attrs[b"newest" + again] = 1


@pytest.mark.parametrize("settings", ["", "zarr_format=2"])
def test_attributes_keep_their_order_whatever_became_of_them(tmp_path, settings):
    names = ["/", "g", "d", "e", "many"]
    run_python(ORDERED, tmp_path / "x.zarr", connector=f"zarr {settings}")
    with h5py.File(tmp_path / "x.h5", "w", track_order=True) as f:
        make_ordered(f)
    for i, mode in enumerate(["r", "r+", "r", "r+", "r"]):
        seen = []
        for suffix in (".h5", ".zarr"):
            with h5py.File(tmp_path / f"x{suffix}", mode) as f:
                if mode == "r+":
                    change_ordered(f, names, b"%d" % i)
                seen.append({name: (by_creation(f[name]), list(f[name].attrs)) for name in names})
        assert seen[0] == seen[1]
    with h5py.File(tmp_path / "x.zarr") as f:
        # Asked for by name first: those behind the list of its users are made when that is.
        assert f["d"].attrs["last"] == "x" and f["d"].attrs["CLASS"] == b"DIMENSION_SCALE"
        assert by_creation(f["d"]) == seen[0]["d"][0] and f["e"].dims[1][0] == f["d"]
        assert f["e"].attrs.get_id("second").get_type().get_size() == 8


# JSON that HDF5 has no form for.
ODD_JSON = {
    "ome": {"version": "0.5", "multiscales": [{"axes": [{"name": "y"}], "scale": [1.0, 0.5], "name": "é \"q\" \\"}]},
    "mixed": [1, "a", None, True, [2]],
    "ragged": [[1], [2, 3]],
    "nothing": {},
}


def copy_within(f, folder):
    f.copy("g", "copy")
    return folder / "x.zarr"


def copy_to_store(f, folder):
    with h5py.File(folder / "y.zarr", "w") as other:
        f.copy("g", other, "copy")
    return folder / "y.zarr"


def copy_by_native_file(f, folder):
    with h5py.File(folder / "y.h5", "w") as other:
        f.copy("g", other, "copy")
    with h5py.File(folder / "y.h5") as other, h5py.File(folder / "z.zarr", "w") as third:
        other.copy("copy", third)
    return folder / "z.zarr"



@pytest.mark.parametrize("copy", [copy_within, copy_to_store, copy_by_native_file])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_json_that_hdf5_has_no_form_for_stays_json_in_copies(tmp_path, zarr_format, copy):
    import zarr

    root = zarr.open_group(str(tmp_path / "x.zarr"), mode="w", zarr_format=zarr_format)
    root.create_group("g", attributes=ODD_JSON)
    with h5py.File(tmp_path / "x.zarr", "r+") as f:
        shown = dict(f["g"].attrs)
        assert all(json.loads(shown[name]) == value for name, value in ODD_JSON.items())
        copied = copy(f, tmp_path)
    assert {name: zarr.open_group(str(copied), mode="r")["copy"].attrs[name] for name in ODD_JSON} == ODD_JSON
    with h5py.File(copied) as f:
        assert dict(f["copy"].attrs) == shown


def test_json_that_hdf5_has_no_form_for_stays_json_in_h5repack(tmp_path):
    import zarr

    zarr.open_group(str(tmp_path / "x.zarr"), mode="w", attributes=ODD_JSON).create_group("g", attributes=ODD_JSON)
    done = run([tool("h5repack"), tmp_path / "x.zarr", tmp_path / "y.zarr"])
    assert done.returncode == 0, done.stderr
    packed = zarr.open_group(str(tmp_path / "y.zarr"), mode="r")
    assert {name: packed["g"].attrs[name] for name in ODD_JSON} == ODD_JSON
    assert {name: packed.attrs[name] for name in ODD_JSON} == ODD_JSON


@pytest.mark.parametrize("spelled", [
    lambda value: json.dumps(value),
    lambda value: json.dumps(value, indent=2, ensure_ascii=False),
    lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False),
])
@pytest.mark.parametrize("put", [lambda attrs, name, text: attrs.__setitem__(name, text),
                                 lambda attrs, name, text: attrs.modify(name, text)], ids=["set", "modify"])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_the_text_of_json_over_such_json_is_json(store, zarr_format, put, spelled):
    import zarr

    changed = {"ome": ODD_JSON["ome"] | {"more": {"ü": [1, "x"]}}, "mixed": ["b", 2], "ragged": [[1, 2], []], "nothing": {"a": 1}}
    zarr.open_group(store, mode="w", zarr_format=zarr_format, attributes=ODD_JSON)
    with h5py.File(store, "r+") as f:
        for name, value in changed.items():
            put(f.attrs, name, spelled(value))
    root = zarr.open_group(store, mode="r")
    assert {name: root.attrs[name] for name in changed} == changed
    with h5py.File(store) as f:
        assert {name: json.loads(f.attrs[name]) for name in changed} == changed


@pytest.mark.parametrize("text", ["{}", '{"a":1}', '[1,"a"]', "[1, 2]", '{"a": 1', "text"])
def test_text_of_a_programs_own_stays_text(store, text):
    put(store, text)
    assert json_of(store) == text
    with h5py.File(store, "r+") as f:
        f.copy("/", "copy")
        f.attrs["x"] = text
    assert back(store) == text
    assert json_of(store) == text
    assert documents(store)["copy/zarr.json"]["attributes"]["x"] == text


@pytest.mark.parametrize("text", ["", "no", '{"a": 1', "[1,2]", '["a"]', '"a"', "{'a': 1}", '{"a":1e5}', '{"a":NaN}'])
def test_other_text_over_json_is_text(store, text):
    import zarr

    zarr.open_group(store, mode="w", attributes={"x": {"a": 1}})
    with h5py.File(store, "r+") as f:
        f.attrs["x"] = text
    assert back(store) == text
    assert json_of(store) == text


ORDERED = f"""
import sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
import h5py
from test_attributes import make_ordered
with h5py.File(sys.argv[1], "w", track_order=True) as f:
    make_ordered(f)
"""
