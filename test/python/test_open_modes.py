"""Modes and spellings of paths: a store opens, and refuses to open, as an HDF5 file would."""
import json
import os
from pathlib import Path

import h5py
import numpy as np
import pytest

from support import run_python, tree

WRITING = ["r+", "a"]


@pytest.fixture
def made(store):
    with h5py.File(store, "w") as f:
        f["a"] = [1, 2, 3]
    return store


def first(path, mode="r"):
    with h5py.File(path, mode) as f:
        return sorted(f)


def test_r_reads_and_leaves_no_trace(made):
    before = tree(made)
    with h5py.File(made, "r") as f:
        assert f["a"][...].tolist() == [1, 2, 3]
    assert tree(made) == before


@pytest.mark.parametrize("change", ["f.create_group('g')", "f.attrs.__setitem__('x', 1)", "f['a'].__setitem__(0, 9)",
                                    "f.__delitem__('a')", "f.move('a', 'b')"])
def test_r_refuses_to_change(made, change):
    before = tree(made)
    with h5py.File(made, "r") as f:
        with pytest.raises((OSError, KeyError, RuntimeError, ValueError)):
            eval(change)
    assert tree(made) == before


@pytest.mark.parametrize("mode", WRITING)
def test_r_plus_and_a_change_what_is_there(made, mode):
    with h5py.File(made, mode) as f:
        f["a"][1] = 20
        f["b"] = 5
    with h5py.File(made, "r") as f:
        assert f["a"][...].tolist() == [1, 20, 3]
        assert f["b"][()] == 5


@pytest.mark.parametrize("mode", ["w", "w-", "x", "a"])
def test_every_creating_mode_makes_a_store(store, mode):
    with h5py.File(store, mode) as f:
        f["a"] = 1
    assert first(store) == ["a"]
    assert os.path.exists(os.path.join(store, "zarr.json"))


def test_w_replaces_a_store(made):
    with h5py.File(made, "w") as f:
        f["b"] = 1
    assert first(made) == ["b"]
    assert sorted(os.listdir(made)) == ["b", "zarr.json"]


@pytest.mark.parametrize("mode", ["w-", "x"])
def test_exclusive_modes_refuse_an_existing_store(made, mode):
    before = tree(made)
    with pytest.raises(FileExistsError):
        h5py.File(made, mode)
    assert tree(made) == before


@pytest.mark.parametrize("mode", ["w", "a"])
def test_a_folder_of_something_else_is_never_touched(store, mode):
    os.mkdir(store)
    with open(os.path.join(store, "thesis.txt"), "w") as f:
        f.write("years of work")
    before = tree(store)
    with pytest.raises(OSError):
        h5py.File(store, mode)
    assert tree(store) == before


def test_a_folder_of_stores_is_never_replaced(tmp_path):
    folder = tmp_path / "all.zarr"
    folder.mkdir()
    with h5py.File(folder / "one.zarr", "w") as f:
        f["x"] = 1
    (folder / "notes.txt").write_text("mine")
    before = tree(folder)
    with pytest.raises(OSError, match="neither empty nor a Zarr store"):
        h5py.File(folder, "w")
    assert tree(folder) == before


def test_a_folder_that_is_no_store_is_refused_by_that_name(tmp_path):
    (tmp_path / "deep").mkdir()
    with pytest.raises(IsADirectoryError, match="no Zarr store"):
        h5py.File(tmp_path, "r")


@pytest.mark.parametrize("url", ["az://bucket/x.zarr", "gs://bucket/x.zarr", "abfs://c@account/x.zarr"])
@pytest.mark.parametrize("mode", ["r", "r+", "w"])
def test_urls_that_are_not_supported_are_refused_as_urls(url, mode, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError, match="of URLs only .* are opened"):
        h5py.File(url, mode)
    assert os.listdir(tmp_path) == []


def test_a_folder_may_have_the_name_of_a_scheme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gs:" / "bucket").mkdir(parents=True)
    with h5py.File("gs://bucket/x.zarr", "w") as f:
        f["a"] = 1
    assert first(tmp_path / "gs:" / "bucket" / "x.zarr") == ["a"]


def test_w_takes_an_empty_folder(store):
    os.mkdir(store)
    with h5py.File(store, "w") as f:
        f["a"] = 1
    assert first(store) == ["a"]


@pytest.mark.parametrize("mode", ["a", "x"])
def test_an_empty_folder_of_that_name_becomes_a_store(store, mode):
    """As temporary folders are."""
    os.mkdir(store)
    for missing in ("r", "r+"):
        with pytest.raises(FileNotFoundError, match="empty folder"):
            h5py.File(store, missing)
    with h5py.File(store, mode) as f:
        f["a"] = 1
    assert first(store) == ["a"]
    with pytest.raises(FileExistsError):
        h5py.File(store, "x")
    assert first(store) == ["a"]


@pytest.mark.parametrize("mode", ["a", "x"])
def test_any_other_empty_folder_is_left_alone(tmp_path, mode):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        h5py.File(tmp_path / "folder", mode)
    assert os.listdir(tmp_path / "folder") == []


@pytest.mark.parametrize("mode", ["r", "r+"])
@pytest.mark.parametrize("name", ["nothere.zarr", "nothere.h5", "no/such/folder.zarr"])
def test_what_is_not_there_is_file_not_found(tmp_path, name, mode):
    with pytest.raises(FileNotFoundError):
        h5py.File(tmp_path / name, mode)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("text", ["", "{", '{"zarr_format": 99, "node_type": "group"}'])
def test_a_damaged_document_is_an_error(store, text):
    os.mkdir(store)
    with open(os.path.join(store, "zarr.json"), "w") as f:
        f.write(text)
    with pytest.raises(OSError):
        h5py.File(store, "r")


def test_spellings_of_one_path(made, tmp_path, monkeypatch):
    os.symlink(made, tmp_path / "link.zarr")
    monkeypatch.chdir(tmp_path)
    for path in [made, made + "/", "store.zarr", "./store.zarr", "file://" + made, "link.zarr"]:
        assert first(path) == ["a"], path


def test_a_relative_path_survives_chdir(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with h5py.File("new.zarr", "w") as f:
        os.mkdir("elsewhere")
        os.chdir("elsewhere")
        f["a"] = np.arange(4)
    assert first(tmp_path / "new.zarr") == ["a"]


def test_a_group_within_a_store_opens_as_a_file(store):
    with h5py.File(store, "w") as f:
        f["g/h/a"] = [4, 5]
    with h5py.File(store + "/g/h", "r") as f:
        assert sorted(f) == ["a"]
        assert f["a"][...].tolist() == [4, 5]


@pytest.fixture
def outer(store):
    with h5py.File(store, "w") as f:
        f["g/a"], f["h/a"] = [4, 5], 6
    return store


def copies(store):
    """The consolidated metadata of a v3 store, and what they should be."""
    held = json.loads((Path(store) / "zarr.json").read_text())["consolidated_metadata"]["metadata"]
    return held, {str(f.parent.relative_to(store)): json.loads(f.read_text())
                  for f in Path(store).rglob("zarr.json") if f.parent != Path(store)}


def test_a_change_within_keeps_the_outer_stores_consolidated_metadata_true(outer):
    zarr = pytest.importorskip("zarr")
    zarr.consolidate_metadata(outer)
    with h5py.File(outer + "/g", "r+") as f:
        f.attrs["x"] = 1
        f["new"] = [1, 2, 3]
        del f["a"]
        f.flush()
        assert json.loads((Path(outer) / "zarr.json").read_text()).get("consolidated_metadata") is None
    held, expected = copies(outer)
    assert held == expected and set(held) == {"g", "g/new", "h", "h/a"}
    assert zarr.open_group(outer)["g/new"][...].tolist() == [1, 2, 3]
    with h5py.File(outer + "/g", "w") as f:
        f["last"] = 1
    held, expected = copies(outer)
    assert held == expected and set(held) == {"g", "g/last", "h", "h/a"}


@pytest.mark.parametrize("one, two", [("", "/g"), ("/g", ""), ("/g", "/h")])
def test_a_part_of_a_store_is_not_made_anew_while_another_is_open(outer, one, two):
    before = tree(outer)
    with h5py.File(outer + one, "r+") as f:
        with pytest.raises(OSError, match="part of the same Zarr store"):
            h5py.File(outer + two, "w")
        assert sorted(f)
    assert tree(outer) == before
    h5py.File(outer + two, "w").close()


def test_parts_of_one_store_are_read_together(outer):
    with h5py.File(outer, "r") as f, h5py.File(outer + "/g", "r") as g, h5py.File(outer + "/h", "r") as h:
        assert f["g/a"][...].tolist() == g["a"][...].tolist() == [4, 5]
        assert h["a"][()] == 6


def test_two_readers_of_one_store(made):
    with h5py.File(made, "r") as one, h5py.File(made, "r") as two:
        assert one["a"][...].tolist() == two["a"][...].tolist() == [1, 2, 3]


def test_file_name_and_mode_are_the_users(made):
    with h5py.File(made, "r") as f:
        assert f.filename == made
        assert f.mode == "r"
        assert f["a"].file == f


WRONG = """
import h5py, sys
try:
    h5py.File(sys.argv[1], "r")
except OSError as error:
    print(error)
else:
    print("opened")
"""


def test_a_wrong_key_is_reported_by_the_first_open_with_the_valid_ones(made):
    said = run_python(WRONG, made, connector="zarr colour=red")
    assert "colour" in said
    assert "create" in said and "zarr_format" in said and "threads" in said


def test_a_wrong_value_is_reported(made):
    said = run_python(WRONG, made, connector="zarr zarr_format=7")
    assert "zarr_format" in said


def test_keys_of_the_connector_string_take_effect(tmp_path):
    code = "import h5py, sys; h5py.File(sys.argv[1], 'w')['a'] = [1, 2]"
    run_python(code, tmp_path / "anything", connector="zarr create=zarr")
    assert (tmp_path / "anything" / "zarr.json").exists()
    run_python(code, tmp_path / "two.zarr", connector="zarr zarr_format=2")
    assert (tmp_path / "two.zarr" / ".zgroup").exists()
    run_python(code, tmp_path / "native.zarr", connector="zarr create=native")
    assert (tmp_path / "native.zarr").is_file()


def test_the_environment_sets_a_key_and_the_string_goes_before_it(tmp_path):
    code = "import h5py, sys; h5py.File(sys.argv[1], 'w')['a'] = [1, 2]"
    run_python(code, tmp_path / "env.zarr", H5ZARR_ZARR_FORMAT="2")
    assert (tmp_path / "env.zarr" / ".zgroup").exists()
    run_python(code, tmp_path / "string.zarr", connector="zarr zarr_format=3", H5ZARR_ZARR_FORMAT="2")
    assert (tmp_path / "string.zarr" / "zarr.json").exists()


@pytest.mark.parametrize("mode", ["w", "a", "x"])
def test_no_hdf5_file_is_made_where_a_group_would_be(store, mode):
    with h5py.File(store, "w") as f:
        f["a"] = 1
    with pytest.raises(OSError, match="open it and create groups in it"):
        h5py.File(store + "/new", mode)
    with h5py.File(store) as f:
        assert list(f) == ["a"]
    with h5py.File(store + "/beside.h5", "w") as f:
        f["b"] = 2
    assert os.path.isfile(store + "/beside.h5")
