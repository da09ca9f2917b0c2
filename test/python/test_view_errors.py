"""With HDF5_PLUGIN_PATH alone, on HDF5 2.x: what is said of what cannot be opened or shown is what is said with the
connector named, and the advice to name it comes only where that would help."""
import zipfile

import h5py
import numpy as np
import pytest
import zarr

from http_support import fault_server
from support import run_python

pytestmark = pytest.mark.skipif(h5py.version.hdf5_version_tuple < (2,), reason="HDF5 1.14 opens stores by its probe")

OPEN = """
import h5py, sys
for name in sys.argv[2:]:
    try:
        print("opened", list(h5py.File(name, sys.argv[1])))
    except Exception as error:
        print(type(error).__name__, error)
"""
ADVICE = "HDF5_VOL_CONNECTOR"


def said_by_both(*names, mode="r", **env):
    """What opening them says, with the path alone and with the connector named."""
    return [run_python(OPEN, mode, *names, connector=connector, H5ZARR_RETRIES="0", **env) for connector in (None, "zarr")]


def make_document(folder):
    zarr.create_group(str(folder / "x.zarr"))
    return folder / "x.zarr" / "zarr.json"


def make_document_v2(folder):
    zarr.create_array(str(folder / "x.zarr"), data=np.arange(3), zarr_format=2)
    return folder / "x.zarr" / ".zarray"


def make_zip(folder):
    with zipfile.ZipFile(folder / "x.zip", "w") as archive:
        archive.writestr("readme", "no store")
    return folder / "x.zip"


def make_damaged_zip(folder):
    with open(make_zip(folder), "r+b") as archive:
        archive.truncate(60)
    return folder / "x.zip"


def make_references(text):
    def make(folder):
        (folder / "x.json").write_text(text)
        return folder / "x.json"
    return make


def make_parquet(folder):
    (folder / "x.parq").mkdir()
    (folder / "x.parq" / ".zmetadata").write_text('{"metadata": {".zgroup": {"zarr_format": 2}}, "record_size": 10}')
    return folder / "x.parq"


GROUP = '".zgroup": "{\\"zarr_format\\": 2}"'


@pytest.mark.parametrize("make, message", [
    (make_document, "the store to open is its folder"),
    (make_document_v2, "the store to open is its folder"),
    (make_zip, "ZIP archive, but no Zarr store"),
    (make_damaged_zip, "x.zip"),
    (make_references('{"version": 1, "refs": {%s, "a/0": ["x", -1, 4]}}' % GROUP), "x.json"),
    (make_references('{"version": 5, "refs": {%s}}' % GROUP), "version"),
    (make_references('{"version": 1, "refs": {%s' % GROUP), "x.json"),
    (make_parquet, "LazyReferenceMapper"),
    (lambda folder: "gs://bucket/x.zarr", "https://"),
], ids=["zarr.json", ".zarray", "zip", "cut zip", "bad range", "later version", "cut JSON", "parquet", "gs"])
def test_what_is_no_store_is_said_as_with_the_connector(tmp_path, make, message):
    viewed, named = said_by_both(make(tmp_path))
    assert viewed == named
    assert message in viewed and ADVICE not in viewed


def test_what_a_server_says_is_said_as_with_the_connector(tmp_path):
    zarr.create_array(str(tmp_path / "a.zarr"), data=np.arange(3))
    (tmp_path / "text").write_text("neither")
    with fault_server(tmp_path) as server:
        names = [f"{server.url}/{name}" for name in ("missing.zarr", "missing", "text", "a.zarr/zarr.json")]
        viewed, named = said_by_both(*names, "http://127.0.0.1:9/x.zarr", "http://127.0.0.1:9/x.h5")
        assert viewed == named
        assert viewed.startswith("FileNotFoundError")
        for habits, message in (({"token": "hush"}, "403"), ({"user": "ann", "password": "hush"}, "401"),
                                ({"missing": 500}, "500")):
            server.become(**habits)
            viewed, named = said_by_both(f"{server.url}/a.zarr" if "missing" not in habits else names[0], names[1])
            assert viewed == named
            assert message in viewed and ADVICE not in viewed


def test_settings_of_the_environment_hold_for_views(tmp_path):
    zarr.create_array(str(tmp_path / "a.zarr"), data=np.arange(3))
    (tmp_path / "headers").write_text("X-Token: hush\n")
    with fault_server(tmp_path, token="hush") as server:
        viewed, named = said_by_both(f"{server.url}/a.zarr", H5ZARR_HEADERS_FILE=tmp_path / "headers")
        assert viewed == named == "opened ['a']\n"


@pytest.mark.parametrize("name, most", [("v3.zarr", 2), ("v2.zarr", 3)])
def test_opening_a_remote_store_takes_few_requests(tmp_path, name, most):
    zarr.create_array(str(tmp_path / name), name="a", data=np.arange(3), zarr_format=int(name[1]))
    zarr.consolidate_metadata(str(tmp_path / name))
    with fault_server(tmp_path) as server:
        assert run_python(OPEN, "r", f"{server.url}/{name}", connector=None) == "opened ['a']\n"
        assert len(server.requests()) <= most


def test_the_advice_comes_only_where_the_connector_can_write(tmp_path):
    zarr.create_array(str(tmp_path / "a.zarr"), data=np.arange(3))
    zip_name = tmp_path / "x.zip"
    with zipfile.ZipFile(zip_name, "w") as archive:
        archive.write(tmp_path / "a.zarr" / "zarr.json", "zarr.json")
    references = make_references('{"version": 1, "refs": {%s}}' % GROUP)(tmp_path)
    assert ADVICE in run_python(OPEN, "r+", tmp_path / "a.zarr", connector=None)
    with fault_server(tmp_path) as server:
        viewed, named = said_by_both(zip_name, references, f"{server.url}/a.zarr", mode="r+")
    assert viewed == named and viewed.count("can only be read") == 3


def test_what_cannot_be_shown_is_told_of_as_with_the_connector(store):
    with h5py.File(store, "w") as f:
        for name in ("a", "document", "g/inner", "type", "z"):
            f[name] = np.arange(4)
        f["g/linked"] = f["type"]
    for name, damaged in (("type", '"unheard_of"'), ("document", '"int64')):
        with open(f"{store}/{name}/zarr.json", "r+") as document:
            text = document.read().replace('"int64"', damaged)
            document.seek(0)
            document.write(text)
    code = """
import h5py, sys
with h5py.File(sys.argv[1]) as f:
    names = []
    f.visit(names.append)
    print(names, [f.get(name, getclass=True) for name in f])
    print([name in f for name in f], h5py.h5o.get_info(f.id, b"type").type, f.get("type", "no default"))
    for way in (lambda: f["type"], lambda: f["g/linked"], lambda: f["document"], lambda: f["type/below"],
                lambda: f.visititems(lambda *_: None), lambda: f.copy("type", "copied")):
        try:
            print(way())
        except Exception as error:
            print(type(error).__name__, error)
    print(f["a"][...].sum(), f["g/inner"][...].sum(), f["z"][...].sum())
"""
    viewed, named = (run_python(code, store, connector=connector).splitlines() for connector in (None, "zarr"))
    assert viewed[:2] == named[:2] and viewed[-1] == named[-1] == "6 6 6"
    assert len(viewed) == len(named) == 9
    for line, other in zip(viewed[2:5], named[2:5]):
        assert line.startswith("KeyError") and other.startswith("KeyError")
        assert ("unheard_of" in line) == ("unheard_of" in other)
    assert "unheard_of" in viewed[2] and "unheard_of" in viewed[3] and "zarr.json" in viewed[4]


def test_damaged_elements_keep_nothing_else_from_being_opened(store):
    """HDF5 reads past the end of headers, whose length it does not know, and there may be elements."""
    group = zarr.open_group(store, mode="w")
    for i in range(60):
        array = group.create_array(f"a{i}", shape=(50,), chunks=(50,), dtype="i4", attributes={f"k{j}": j for j in range(i % 7)})
        array[...] = i + 1
        with open(f"{store}/a{i}/c/0", "wb") as file:
            file.write(b"damaged")
    code = """
import h5py, sys
with h5py.File(sys.argv[1]) as f:
    print(len([dataset.attrs.items() for dataset in f.values()]))
    for dataset in f.values():
        try:
            print("read", dataset[()])
        except OSError as error:
            assert f"'{dataset.name[1:]}'" in str(error), error
"""
    assert run_python(code, store, connector=None).split() == ["60"]


def test_what_a_busy_server_kept_from_a_view_is_in_the_next_one(tmp_path):
    group = zarr.create_group(str(tmp_path / "x.zarr"))
    group.create_array("text", shape=(2,), dtype=str)[:] = ["a", "b"]
    group.create_array("number", data=np.arange(3))
    zarr.consolidate_metadata(str(tmp_path / "x.zarr"))
    code = """
import h5py, sys
url = sys.argv[1]
def attempt(way):
    try:
        return way()
    except OSError as error:
        return error
print(attempt(lambda: h5py.File(url)))
first = h5py.File(url)
print(list(first), attempt(lambda: first["text"][0]))
second = h5py.File(url)
print(second["text"][0], attempt(lambda: first["text"][0]))
print(attempt(lambda: second["number"][0]), first["number"][2])
third = h5py.File(url)
print(third == second, third["text"][1])
"""
    with fault_server(tmp_path, busy_first=1) as server:
        lines = run_python(code, f"{server.url}/x.zarr", connector=None, H5ZARR_RETRIES="0").splitlines()
    refused, partial, whole, number, shared = lines
    assert "503" in refused
    assert partial.startswith("['number', 'text']") and "503" in partial and "text" in partial
    assert whole.startswith("b'a' ") and "503" in whole
    assert "503" in number and number.endswith(" 2")
    assert shared == "True b'b'"
