"""Stores of LINDI, hdmf-zarr and NCZarr: links are links, references references, texts texts."""
import json
import os
import shutil
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr

from http_support import fault_server
from support import run, tool, tree

GOLDEN = Path(__file__).parents[1] / "golden" / "conventions"


@pytest.fixture
def golden(tmp_path):
    """Copies of the stores, which a test may change."""
    shutil.copytree(GOLDEN, tmp_path / "golden")
    return tmp_path / "golden"


def as_python(f, value):
    """Values with references as the names of their targets."""
    if isinstance(value, h5py.Reference):
        return f[value].name if value else None
    if isinstance(value, (np.void, tuple)):
        return tuple(as_python(f, item) for item in value)
    if isinstance(value, np.ndarray):
        return [as_python(f, item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def test_lindi_reads_like_the_file_it_was_made_from(golden):
    before = tree(golden)
    with h5py.File(golden / "lindi-source.h5") as expected, h5py.File(golden / "lindi.zarr") as f:
        assert list(f) == list(expected) and list(f["g"]) == list(expected["g"])
        for name in ("scalar", "words", "fixed", "flag", "refs", "table", "numbers", "g/a", "many"):
            assert f[name].shape == expected[name].shape, name
            assert as_python(f, f[name][()]) == as_python(expected, expected[name][()]), name
        assert f["text"][()] == expected["text"][()]
        assert f["table"].dtype.names == ("start", "count", "target")
        assert f["table"].dtype["count"] == np.dtype("u2") and f["numbers"].dtype["z"] == np.dtype("?")
        for name in ("/", "g/a"):
            assert sorted(f[name].attrs) == sorted(expected[name].attrs)
            for attribute in f[name].attrs:
                values = [as_python(file, file[name].attrs[attribute]) for file in (f, expected)]
                assert values[0] == values[1]
        for name in ("soft", "g/up"):
            link = f.get(name, getlink=True)
            assert isinstance(link, h5py.SoftLink) and link.path == expected.get(name, getlink=True).path
        assert f["soft"] == f["g/a"]
    assert tree(golden) == before


def test_lindi_in_hdf5s_tools(golden):
    said = run([tool("h5dump"), "-A", golden / "lindi.zarr"]).stdout
    assert 'SOFTLINK "soft" {\n      LINKTARGET "/g/a"' in said
    assert 'EXTERNAL_LINK "many"' in said and "H5T_STD_REF_OBJECT" in said
    assert '"_REFERENCE' not in said and '"_SCALAR' not in said


def test_lindis_array_in_an_hdf5_file_behind_a_server(golden, tmp_path):
    attributes = golden / "lindi.zarr/many/.zattrs"
    said = attributes.read_text()
    with h5py.File(golden / "lindi.zarr", "r") as f:
        values, name = f["many"][()], f["many"].file.filename
    (tmp_path / "served").mkdir()
    shutil.move(name, tmp_path / "served/x.h5")
    with fault_server(tmp_path / "served") as server:
        attributes.write_text(said.replace("lindi-source.h5", f"{server.url}/x.h5"))
        with h5py.File(golden / "lindi.zarr", "r") as f:
            np.testing.assert_array_equal(f["many"][()], values)
            assert f["many"].file.filename == f"{server.url}/x.h5"
        attributes.write_text(said.replace("lindi-source.h5", f"{server.url}/nothing.h5"))
        with h5py.File(golden / "lindi.zarr", "r") as f:
            assert "many" in f
            with pytest.raises(KeyError):
                f["many"]


def test_links_of_lindi_are_removed_and_moved(golden):
    with h5py.File(golden / "lindi.zarr", "r+") as f:
        del f["soft"]
        f.move("g/up", "g/down")
        f["g/new"] = h5py.SoftLink("/words")
    with h5py.File(golden / "lindi.zarr", "r") as f:
        assert "soft" not in f and sorted(f["g"]) == ["a", "down", "new"]
        assert f["g"].get("down", getlink=True).path == "/words"
    assert not os.path.exists(golden / "lindi.zarr/soft") and not os.path.exists(golden / "lindi.zarr/g/up")


def test_elements_of_lindi_are_not_rewritten(golden):
    before = tree(golden)
    with h5py.File(golden / "lindi.zarr", "r+") as f:
        with pytest.raises(OSError, match="JSON objects"):
            f["refs"][0] = f["g"].ref
    assert tree(golden) == before


def test_damaged_compounds_of_lindi_fail_by_themselves(golden):
    (golden / "lindi.zarr/table/.zattrs").write_text('{"_COMPOUND_DTYPE": [["start", "no such type"]]}')
    (golden / "lindi.zarr/numbers/.zattrs").write_text('{"_COMPOUND_DTYPE": [3]}')
    with h5py.File(golden / "lindi.zarr", "r") as f:
        for name in ("table", "numbers"):
            with pytest.raises(KeyError):
                f[name]
        assert f["scalar"][()] == 3.5


def test_nwb_of_hdmf_zarr(golden):
    with h5py.File(golden / "hdmf.zarr", "r") as f:
        series = f["acquisition/es"]
        assert list(series) == ["data", "electrodes", "starting_time"]
        assert series["data"][...].tolist() == np.arange(20).reshape(10, 2).tolist()
        assert [dim.label for dim in series["data"].dims] == ["num_times", "num_channels"]
        assert sorted(set(series["data"].attrs) - {"DIMENSION_LABELS"}) == ["conversion", "offset", "resolution", "unit"]
        assert series["starting_time"][()] == 0 and series["starting_time"].attrs["rate"] == 10
        assert f["session_description"][()] == b"a session"
        table = f[series["electrodes"].attrs["table"]]
        assert table.name == "/general/extracellular_ephys/electrodes"
        assert table["location"].asstr()[...].tolist() == ["CA0", "CA1", "CA2"]
        link = f.get("acquisition/linked/data", getlink=True)
        assert isinstance(link, h5py.SoftLink) and f["acquisition/linked/data"] == series["data"]
        assert "zarr_link" not in f["acquisition/linked"].attrs
        with pytest.raises(KeyError, match="pickle"):
            table["group"]


def test_links_of_hdmf_zarr_are_removed_and_added(golden):
    with h5py.File(golden / "hdmf.zarr", "r+") as f:
        del f["acquisition/linked/data"]
        f["general/extracellular_ephys/probe/again"] = h5py.SoftLink("/general/devices/device")
    with h5py.File(golden / "hdmf.zarr", "r") as f:
        assert "data" not in f["acquisition/linked"]
        probe = f["general/extracellular_ephys/probe"]
        assert probe["again"] == probe["device"] == f["general/devices/device"]
    attributes = json.loads((golden / "hdmf.zarr/general/extracellular_ephys/probe/.zattrs").read_text())
    assert [link["name"] for link in attributes["zarr_link"]] == ["device"]  # as hdmf-zarr reads it
    assert [link["name"] for link in attributes["_LINKS"]] == ["again"]


def test_references_of_the_unified_convention(store):
    root = zarr.open_group(store, mode="w")
    root.create_group("g").attrs["to"] = {"_REFERENCE": {"source": ".", "path": "/a"}}
    root["g"].attrs["elsewhere"] = {"_REFERENCE": {"source": "other.zarr", "path": "/a"}}
    root.attrs[".specloc"] = "g"
    root.create_array("a", shape=2, dtype=str, attributes={"_DTYPE": "object_reference"})[...] = np.array(["/g", "/a"])
    with h5py.File(store, "r") as f:
        assert f[f["g"].attrs["to"]].name == "/a"
        assert json.loads(f["g"].attrs["elsewhere"])["_REFERENCE"]["source"] == "other.zarr"
        assert f[f.attrs[".specloc"]].name == "/g"
        assert [f[reference].name for reference in f["a"][...]] == ["/g", "/a"]


def test_nczarr(golden):
    with h5py.File(golden / "nczarr.zarr", "r") as f:
        assert list(f) == ["bare", "c", "g", "s", "t", "time", "x"]
        assert list(f.attrs) == ["title"]
        assert f["s"].shape == () and f["s"][()] == 2.5
        assert [dim[0].name for dim in f["t"].dims] == ["/time", "/x"]
        assert [dim[0].name for dim in f["g/w"].dims] == ["/g/y", "/x"]
        assert f["t"].attrs["_FillValue"] == -1 and f["t"].attrs["_FillValue"].dtype == np.dtype("i4")
        assert f["c"][...].tolist() == [b"a", b"b"]


@pytest.mark.parametrize("dtype", ["|u1", "<i2", ">i2", "<f8"])
def test_nczarr_shuffles_elements_whose_size_it_does_not_say(store, dtype):
    """netCDF-C's own default compression: it writes an elementsize of 0."""
    os.makedirs(f"{store}/a")
    values = (np.arange(20) * 7.25).astype(dtype).reshape(4, 5)
    shuffle = {"id": "shuffle", "elementsize": 0}
    document = {"zarr_format": 2, "shape": [4, 5], "chunks": [4, 5], "dtype": dtype, "fill_value": 0, "order": "C",
                "filters": [shuffle], "compressor": {"id": "zlib", "level": 4}}
    with open(f"{store}/.zgroup", "w") as group, open(f"{store}/a/.zarray", "w") as array:
        json.dump({"zarr_format": 2}, group)
        json.dump(document, array)
    by_significance = values.view("u1").reshape(20, values.itemsize).T.tobytes()
    with open(f"{store}/a/0.0", "wb") as chunk:
        chunk.write(zlib.compress(by_significance))
    with h5py.File(store, "r+") as f:
        assert f["a"][...].tolist() == values.tolist() and f["a"][2, 3] == values[2, 3]
        f["a"][0] = 5
    with open(f"{store}/a/0.0", "rb") as chunk:
        written = np.frombuffer(zlib.decompress(chunk.read()), "u1").reshape(values.itemsize, 20).T.tobytes()
    assert np.frombuffer(written, dtype).reshape(4, 5).tolist() == [[5] * 5, *values[1:].tolist()]


def test_nczarr_through_h5netcdf(golden):
    xr = pytest.importorskip("xarray", reason="only in the main environment")
    pytest.importorskip("h5netcdf", reason="only in the main environment")
    shutil.rmtree(golden / "nczarr.zarr/c")  # zarr-python knows no ">S1"
    with xr.open_dataset(golden / "nczarr.zarr", engine="h5netcdf") as got:
        expected = xr.open_zarr(golden / "nczarr.zarr", consolidated=False, chunks=None).load()
        # xarray knows nothing of NCZarr's scalars.
        xr.testing.assert_equal(got.load(), expected.isel(_scalar_=0))
        assert got["t"].dtype == expected["t"].dtype and np.isnan(got["t"].values[0, 0])


@pytest.mark.parametrize("name", ["_SCALAR", "zarr_dtype", "_nczarr_array", "_Netcdf4Dimid", "_ARRAY_DIMENSIONS"])
def test_hidden_names_of_a_programs_own_come_back(store, name):
    with h5py.File(store, "w") as f:
        f["a"] = np.arange(1)
        f["a"].attrs[name] = "mine"
    with h5py.File(store, "r") as f:
        assert f["a"].attrs[name] == "mine" and f["a"].shape == (1,)
