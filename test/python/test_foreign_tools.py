"""Stores of others in HDF5's own tools: they look as an HDF5 user expects of the same data in an HDF5 file."""
import json
import os
import re

import h5py
import numpy as np
import pytest

from support import run, tool

FORMATS = [2, 3]
ROWS = np.array([(1, 2.5, b"ab"), (-3, np.inf, b"")], [("a", "<i2"), ("b", "<f8"), ("s", "S2")])


def dump(path, *options, **env):
    done = run([tool("h5dump"), *options, path], **env)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


def listing(path, *options, **env):
    done = run([tool("h5ls"), *options, path], **env)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout.splitlines()


def group(store, zarr_format):
    import zarr

    return zarr.open_group(store, mode="w", zarr_format=zarr_format)


@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize("dtype, units", [("<M8[D]", "days since 1970-01-01"), ("<M8[ns]", "nanoseconds since 1970-01-01"),
                                          ("<m8[h]", "hours")])
def test_times_are_integers_with_units(store, zarr_format, dtype, units):
    group(store, zarr_format).create_array("t", data=np.array([1, 2**40], dtype), chunks=(2,))
    said = dump(store, "-d", "/t")
    assert "DATATYPE  H5T_STD_I64LE" in said and f"(0): 1, {2**40}" in said
    assert re.search(rf'ATTRIBUTE "units".*?"{units}"', said, re.S)


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_structured_arrays_are_compounds(store, tmp_path, zarr_format):
    group(store, zarr_format).create_array("r", data=ROWS, chunks=(2,))
    with h5py.File(tmp_path / "same.h5", "w") as f:
        f.create_dataset("r", data=ROWS, chunks=(2,), maxshape=(2,))
    native, stored = (dump(path, "-d", "/r", **env).replace(str(path), "FILE")
                      for path, env in ((tmp_path / "same.h5", {"plugin": False, "connector": None}), (store, {})))
    assert stored == native


def test_arrays_of_variable_length_are_sequences(store):
    """Written by hand: zarr-python 3 makes no such arrays any more."""
    import numcodecs

    codec = numcodecs.VLenArray("<i4")
    values = np.empty(3, object)
    values[:] = [np.array([1, 2], "<i4"), np.array([], "<i4"), np.array([3], "<i4")]
    group(store, 2)
    os.makedirs(os.path.join(store, "v"))
    with open(os.path.join(store, "v", ".zarray"), "w") as document:
        json.dump({"zarr_format": 2, "shape": [3], "chunks": [3], "dtype": "|O", "compressor": None, "fill_value": None,
                   "order": "C", "filters": [codec.get_config()]}, document)
    with open(os.path.join(store, "v", "0"), "wb") as chunk:
        chunk.write(codec.encode(values))
    said = dump(store, "-d", "/v")
    assert "H5T_VLEN { H5T_STD_I32LE }" in said
    assert "(0): (1, 2), (), (3)" in said


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_texts_are_strings(store, zarr_format):
    root = group(store, zarr_format)
    root.create_array("variable", shape=(2,), dtype=str, chunks=(2,))[:] = np.array(["a", "b c"])
    root.create_array("fixed", data=np.array(["a", "b c"], "<U3"), chunks=(2,))
    said = dump(store, "-d", "/variable", "-d", "/fixed").replace("\\000", "")  # h5dump shows padding
    assert said.count('"a"') == said.count('"b c"') == 2
    assert "STRSIZE H5T_VARIABLE" in said and "STRSIZE 12" in said and said.count("CSET H5T_CSET_UTF8") == 2


def weather(xarray):
    """What most datasets of xarray have: coordinates, time, missing values, text, attributes."""
    temperature = np.array([[1.5, np.nan, 3], [4, 5, 6]], "<f4")
    return xarray.Dataset(
        {"temperature": (("time", "station"), temperature, {"units": "K", "long_name": "air temperature"}),
         "count": (("time",), np.array([1, 2], "<i2")), "plain": (("free",), np.arange(4.0))},
        {"time": np.array(["2000-01-01", "2000-01-02"], "M8[ns]"), "station": ["a", "bc", "ä"]}, {"title": "weather"})


@pytest.fixture(params=FORMATS)
def both(request, store, tmp_path):
    """The same dataset as xarray writes it: an HDF5 file, and a store."""
    xarray = pytest.importorskip("xarray", reason="xarray is not in this environment")
    pytest.importorskip("h5netcdf")
    dataset = weather(xarray)
    encoding = {"temperature": {"_FillValue": np.float32(-99)}, "count": {"_FillValue": np.int16(-1)}}
    dataset.to_netcdf(tmp_path / "same.h5", engine="h5netcdf", encoding=encoding)
    dataset.to_zarr(store, zarr_format=request.param, encoding=encoding, consolidated=False)
    return tmp_path / "same.h5", store


NATIVE = {"plugin": False, "connector": None}


def test_h5ls_lists_the_dataset_of_xarray(both):
    native, store = both
    assert listing(store, "-r") == [line.replace("/Inf", "") for line in listing(native, "-r", **NATIVE)]


def scales_of(said):
    """The dimension scales h5dump shows: of each dataset, what kind it is and what is attached to it."""
    return {name: (re.findall(r'"(DIMENSION_SCALE)"', body), sorted(re.findall(r'DATASET \d+ "([^"]*)"', body)))
            for name, body in re.findall(r'^   DATASET "(\w+)" \{(.*?)^   \}', said, re.M | re.S)}


def test_h5dump_shows_its_dimension_scales(both):
    native, store = both
    expected, said = scales_of(dump(native, "-A", **NATIVE)), scales_of(dump(store, "-A"))
    assert expected["temperature"][1] == ["/station", "/time"] and said == expected


def attribute(said, name):
    """What h5dump shows of an attribute: type, space and value."""
    found = re.search(rf'ATTRIBUTE "{name}" \{{(.*?\n      \}})\n', said, re.S)
    return found and found.group(1)


@pytest.mark.parametrize("variable, name", [("temperature", "units"), ("temperature", "long_name"), ("time", "units"),
                                            ("time", "calendar")])
def test_h5dump_shows_its_attributes(both, variable, name):
    native, store = both
    expected, said = (attribute(dump(path, "-A", "-d", f"/{variable}", **env), name)
                      for path, env in ((native, NATIVE), (store, {})))
    assert said == expected and expected is not None


@pytest.mark.parametrize("variable, dtype, value", [("temperature", "H5T_IEEE_F32LE", -99), ("count", "H5T_STD_I16LE", -1)])
def test_h5dump_shows_the_fill_value_of_netcdf_in_the_type_of_the_data(both, variable, dtype, value):
    _, store = both
    said = attribute(dump(store, "-A", "-d", f"/{variable}"), "_FillValue")
    assert f"DATATYPE  {dtype}" in said and f"(0): {value}\n" in said


def test_missing_values_are_what_the_fill_value_says(both):
    native, store = both
    with h5py.File(native, "r") as one, h5py.File(store, "r") as other:
        assert other["temperature"][0, 1] == one["temperature"][0, 1] == -99
        assert other["temperature"].attrs["_FillValue"] == -99
