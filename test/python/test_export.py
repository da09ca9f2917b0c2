"""`h5zarr export`, `import` and `diff`: whole files from one world to the other, compared by h5diff, h5py and
Zarr's own readers."""
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr

import one_of_each
from command_support import COMMAND, h5zarr, h5zarr_json, needs_command
from support import READERS, assert_equal, documents, environment, run, run_python, tool, tree

pytestmark = needs_command
EVERYTHING = Path(__file__).with_name("everything.py")

BESIDE = {"HDF5_EXTFILE_PREFIX": "${ORIGIN}"}  # files of external storage


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "x.h5"
    return one_of_each.write(path)


def test_a_file_comes_back_from_zarr_as_it_was(source, tmp_path):
    h5zarr("export", source, tmp_path / "x.zarr")
    assert h5zarr("diff", source, tmp_path / "x.zarr").stdout == ""
    h5zarr("import", tmp_path / "x.zarr", tmp_path / "back.h5")
    assert h5zarr("diff", source, tmp_path / "back.h5").stdout == ""
    with h5py.File(source) as f, h5py.File(tmp_path / "back.h5") as g:
        assert sorted(f) == sorted(g) and list(g)[:2] == ["z", "a"]  # in the order they were made
        for name in ("a", "plain", "x"):
            assert (f[name].chunks, f[name].maxshape, f[name].dtype) == (g[name].chunks, g[name].maxshape, g[name].dtype)
            np.testing.assert_array_equal(f[name][...], g[name][...])
        assert g["a"].compression == "gzip" and g["a"].shuffle and g["a"].fletcher32
        first, second, third = g["refs"]
        assert g[first] == g["a"] and g[second] == g["z"] and not third
        assert g[g.attrs["main"]] == g["a"] and g["again"] == g["a"]
        np.testing.assert_array_equal(g["a"][g["a"].attrs["region"]], f["a"][2:4, 5:9])
        assert g["a"].dims[1][0] == g["x"]
        assert g["typed"].id.get_type().committed()
        assert g.get("soft", getlink=True).path == "/z/deep"
        assert g["sparse"].id.get_num_chunks() == 1
        assert [list(sequence) for sequence in g["sequences"]] == [[1, 2, 3], [], [4]]


def test_everything_that_hdf5_tools_know_comes_back(tmp_path):
    written = run([sys.executable, EVERYTHING, "write", tmp_path / "x.h5", "1.14", "tools"], connector=None, **BESIDE)
    assert written.returncode == 0, written.stderr
    h5zarr("export", tmp_path / "x.h5", tmp_path / "x.zarr", **BESIDE)
    assert h5zarr("diff", tmp_path / "x.h5", tmp_path / "x.zarr", **BESIDE).stdout == ""
    h5zarr("import", tmp_path / "x.zarr", tmp_path / "back.h5", **BESIDE)
    assert h5zarr("diff", tmp_path / "x.h5", tmp_path / "back.h5", **BESIDE).stdout == ""


@pytest.mark.parametrize("reader", READERS)
def test_readers_of_zarr_open_what_was_exported(source, tmp_path, reader):
    h5zarr("export", source, tmp_path / "x.zarr", "--codec", "zstd", "--shard", "32KiB")
    np.testing.assert_array_equal(READERS[reader](tmp_path / "x.zarr", "a"), np.arange(6000.).reshape(60, 100))


def test_shards_and_codecs_are_those_that_were_asked_for(source, tmp_path):
    h5zarr("export", source, tmp_path / "x.zarr", "--codec", "zstd:7", "--shard", "16KiB")
    codec, = documents(tmp_path / "x.zarr")["a/zarr.json"]["codecs"]
    assert codec["name"] == "sharding_indexed" and codec["configuration"]["chunk_shape"] == [7, 30]
    inner = codec["configuration"]["codecs"]
    assert [c["name"] for c in inner] == ["bytes", "zstd"] and inner[1]["configuration"]["level"] == 7
    plain = documents(tmp_path / "x.zarr")["plain/zarr.json"]["codecs"]
    assert [c["name"] for c in plain] == ["bytes", "zstd"]
    assert h5zarr("diff", source, tmp_path / "x.zarr").stdout == ""
    # HDF5 programs still see the filters of the file.
    run_python("import h5py, sys; a = h5py.File(sys.argv[1])['a']; assert a.compression == 'gzip' and a.chunks == (7, 30)",
               tmp_path / "x.zarr")


def test_groups_track_times_as_they_did(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w", libver="latest") as f:
        for name in ("tracked", "plain"):
            properties = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
            properties.set_obj_track_times(name == "tracked")
            h5py.h5g.create(f.id, name.encode(), gcpl=properties)
    h5zarr("export", tmp_path / "x.h5", tmp_path / "x.zarr")
    kept = {name: zarr.open_group(tmp_path / "x.zarr" / name, mode="r").attrs.get("_hdf5", {}).get("times")
            for name in ("tracked", "plain")}
    assert kept["tracked"] and not kept["plain"]


def test_lzf_of_h5py_goes_there_and_back(tmp_path):
    values = np.arange(1000, dtype="i4").reshape(50, 20)
    file, store, again = (str(tmp_path / name) for name in ("x.h5", "x.zarr", "again.h5"))
    with h5py.File(file, "w") as f:
        f.create_dataset("lzf", data=values, compression="lzf", chunks=(10, 20))
    h5zarr("export", file, store)
    assert_equal(zarr.open_array(store + "/lzf", mode="r")[:], values)
    h5zarr("verify", store)
    h5zarr("import", store, again)
    with h5py.File(again) as f:
        assert_equal(f["lzf"][()], values)
    h5zarr("diff", file, again)


@pytest.mark.parametrize("into", ["export", "mirror"])
def test_texts_behind_lzf_are_copied(tmp_path, into):
    with h5py.File(tmp_path / "x.h5", "w") as f:
        texts = np.array([f"text {i}" for i in range(3000)], dtype=object)
        f.create_dataset("texts", data=texts, dtype=h5py.string_dtype(), compression="lzf", chunks=(700,))
        f.create_dataset("same", shape=(5000,), dtype=h5py.string_dtype(), compression="lzf", chunks=(5000,))[:1] = "x"
    h5zarr(into, tmp_path / "x.h5", tmp_path / "x.zarr")
    assert h5zarr("diff", tmp_path / "x.h5", tmp_path / "x.zarr").stdout == ""
    with h5py.File(tmp_path / "x.zarr") as f:
        assert_equal(f["texts"].asstr()[()], texts)


@pytest.mark.parametrize("into", ["export", "mirror", "h5copy"])
def test_datasets_that_grow_in_any_one_dimension_are_copied(tmp_path, into):
    shape = (6, 30, 40)
    with h5py.File(tmp_path / "x.h5", "w", libver=("v110", "v114")) as f:
        for grows in range(3):
            for compression in (None, "gzip"):
                for stop in (None, 10):
                    maxshape = tuple(None if d == grows else extent for d, extent in enumerate(shape))
                    dataset = f.create_dataset(f"{grows}{compression}{stop}", shape, "<i4", chunks=(1, 10, 5),
                                               maxshape=maxshape, compression=compression, fillvalue=-1)
                    part = tuple(slice(stop) if d == grows else slice(None) for d in range(3))
                    dataset[part] = np.arange(7200).reshape(shape)[part]
                    if compression:  # a chunk that is stored without its filter
                        dataset.id.write_direct_chunk((0, 0, 0), np.full(50, 3, "<i4").tobytes(), 1)
        names = sorted(f)
    if into == "h5copy":
        for name in names:
            copied = run([tool("h5copy"), "-i", tmp_path / "x.h5", "-o", tmp_path / "x.zarr", "-s", name, "-d", name])
            assert copied.returncode == 0, copied.stderr
    else:
        h5zarr(into, tmp_path / "x.h5", tmp_path / "x.zarr")
    assert h5zarr("diff", tmp_path / "x.h5", tmp_path / "x.zarr").stdout == ""
    with h5py.File(tmp_path / "x.h5") as f, h5py.File(tmp_path / "x.zarr") as g:
        for name in names:
            np.testing.assert_array_equal(g[name][...], f[name][...], err_msg=name)


def test_an_imported_file_needs_no_plugin(tmp_path):
    zarr = pytest.importorskip("zarr")
    data = np.arange(10000, dtype="f4").reshape(100, 100)
    zarr.create_array(tmp_path / "s.zarr", name="sharded", data=data, chunks=(10, 20), shards=(50, 100))
    group = zarr.open_group(tmp_path / "s.zarr")
    group.create_array("blosc", data=data, chunks=(30, 30), compressors=zarr.codecs.BloscCodec())
    group.attrs["title"] = "T"
    h5zarr("import", tmp_path / "s.zarr", tmp_path / "s.h5")
    code = """
import h5py, sys, numpy as np
with h5py.File(sys.argv[1]) as f:
    assert f.attrs["title"] == "T"
    for name, chunks in ("sharded", (10, 20)), ("blosc", (30, 30)):
        assert f[name].chunks == chunks and f[name].compression == "gzip" and f[name].shuffle
        assert (f[name][...] == np.arange(10000.).reshape(100, 100)).all()
"""
    run_python(code, tmp_path / "s.h5", plugin=False, connector=None)
    h5zarr("import", tmp_path / "s.zarr", tmp_path / "kept.h5", "--codec", "filters")
    assert h5zarr("diff", tmp_path / "s.h5", tmp_path / "kept.h5").stdout == ""
    assert "480" in run([tool("h5dump"), "-pH", "-d", "/sharded", tmp_path / "kept.h5"]).stdout


def test_a_version_of_a_versioned_file_is_exported_plain(tmp_path):
    pytest.importorskip("versioned_hdf5")
    run_python("""
import sys, h5py, numpy as np
from versioned_hdf5 import VersionedHDF5File
with h5py.File(sys.argv[1], "w") as f:
    v = VersionedHDF5File(f)
    with v.stage_version("one") as new:
        new.create_dataset("g/a", data=np.arange(95.), chunks=(10,), compression="gzip", fillvalue=-1)
        new["g/a"].attrs["units"] = "m"
    with v.stage_version("two") as new:
        new["g/a"].resize((101,))
        new["g/a"][3] = 0
""", tmp_path / "v.h5", plugin=False, connector=None)
    h5zarr("export", f"{tmp_path}/v.h5@one", tmp_path / "one.zarr")
    h5zarr("export", f"{tmp_path}/v.h5@two", tmp_path / "two.zarr")
    expected = np.arange(95.)
    np.testing.assert_array_equal(READERS["zarr-python"](tmp_path / "one.zarr", "g/a"), expected)
    expected = np.append(expected, [-1] * 6)
    expected[3] = 0
    np.testing.assert_array_equal(READERS["zarr-python"](tmp_path / "two.zarr", "g/a"), expected)
    document = documents(tmp_path / "one.zarr")["g/a/zarr.json"]
    assert document["attributes"]["units"] == "m" and "raw_data" not in document["attributes"]
    assert document["chunk_grid"]["configuration"]["chunk_shape"] == [10]
    differences = h5zarr_json("diff", f"{tmp_path}/v.h5@one", tmp_path / "two.zarr", expected=1)
    assert {"path": "/g/a", "difference": "shape (95) and (101)"} in differences
    assert "no version 'three'" in h5zarr("export", f"{tmp_path}/v.h5@three", tmp_path / "x", expected=4).stderr


def test_a_version_with_a_chunk_larger_than_its_array_is_exported(tmp_path):
    pytest.importorskip("versioned_hdf5", reason="no versioned-hdf5 in this environment")
    run_python("""
import sys, h5py, numpy as np
from versioned_hdf5 import VersionedHDF5File
with h5py.File(sys.argv[1], "w") as f:
    with VersionedHDF5File(f).stage_version("v1") as new:
        new.create_dataset("a", data=np.arange(12.).reshape(3, 4), chunks=(100, 4))
        new.create_dataset("b", data=np.arange(5))  # chunks of thousands of elements
""", tmp_path / "v.h5", plugin=False, connector=None)
    for name in ("v.zarr", "v1.h5"):
        h5zarr("export" if name == "v.zarr" else "import", f"{tmp_path}/v.h5@v1", tmp_path / name)
        assert h5zarr("diff", f"{tmp_path}/v.h5@v1", tmp_path / name).stdout == ""
    np.testing.assert_array_equal(zarr.open_group(tmp_path / "v.zarr", mode="r")["a"][...],
                                  np.arange(12.).reshape(3, 4))


def test_import_refuses_the_name_of_a_store(source, tmp_path):
    h5zarr("export", source, tmp_path / "x.zarr")
    done = h5zarr("import", tmp_path / "x.zarr", tmp_path / "y.zarr", expected=64)
    assert "name of a Zarr store" in done.stderr
    assert not (tmp_path / "y.zarr").exists()


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_export_that_is_interrupted_leaves_nothing(tmp_path, sent):
    with h5py.File(tmp_path / "large.h5", "w") as f:
        f.create_dataset("a", data=np.random.default_rng(1).random((1200, 1000, 40)), chunks=(100, 100, 40))
    run = subprocess.Popen([str(COMMAND), "export", str(tmp_path / "large.h5"), str(tmp_path / "x.zarr"),
                            "--codec", "zstd:15", "--quiet"], env=environment(), stderr=subprocess.PIPE)
    partial = tmp_path / "x.zarr.h5zarr-partial"
    for _ in range(2000):
        if partial.exists() and len(list(partial.rglob("*"))) > 4:
            break
        time.sleep(0.01)
    assert run.poll() is None
    run.send_signal(sent)
    run.communicate(timeout=60)
    assert run.returncode == -sent
    assert os.listdir(tmp_path) == ["large.h5"]


def test_virtual_datasets_become_plain(tmp_path):
    with h5py.File(tmp_path / "parts.h5", "w") as f:
        f["x"] = np.arange(100).reshape(10, 10)
    layout = h5py.VirtualLayout((12, 10), "i8")
    layout[:10] = h5py.VirtualSource(tmp_path / "parts.h5", "x", (10, 10))
    with h5py.File(tmp_path / "v.h5", "w") as f:
        f.create_virtual_dataset("all", layout, fillvalue=-3)
    h5zarr("export", tmp_path / "v.h5", tmp_path / "v.zarr")
    expected = np.vstack([np.arange(100).reshape(10, 10), np.full((2, 10), -3)])
    np.testing.assert_array_equal(READERS["zarr-python"](tmp_path / "v.zarr", "all"), expected)


@pytest.mark.parametrize("change, path, difference", [
    ("f['a'][3, 4] = -1; f['a'][59, 99] = -1", "/a", "2 of 6000 elements, the first at (3, 4)"),
    ("f['a'].attrs['text'] = 'zwolf'", "/a@text", "its value"),
    ("del f['a'].attrs['text']", "/a@text", "only in the first"),
    ("f['new'] = 1", "/new", "only in the second"),
    ("del f['soft']; f['soft'] = h5py.SoftLink('/a')", "/soft", "leads to '/z/deep' and to '/a'"),
    ("f['a'].resize((61, 100))", "/a", "shape (60, 100) and (61, 100)"),
    ("del f['plain']; f['plain'] = np.arange(10, dtype='<u2')", "/plain", "type uint16 big-endian and uint16"),
    ("f['text'][1] = 'b'", "/text", "1 of 3 elements, the first at (1)"),
    ("f['sequences'][2] = [5]", "/sequences", "1 of 3 elements, the first at (2)"),
    ("f['refs'][1] = f['x'].ref", "/refs", "1 of 3 elements, the first at (1)"),
    ("f['sparse'][99999, 99999] = 1", "/sparse", "1 of 10000000000 elements, the first at (99999, 99999)"),
])
def test_diff_says_what_is_not_the_same(source, tmp_path, change, path, difference):
    other = tmp_path / "y.h5"
    other.write_bytes(source.read_bytes())
    with h5py.File(other, "r+") as f:
        exec(change)
    assert h5zarr_json("diff", source, other, expected=1) == [{"path": path, "difference": difference}]
    assert h5zarr("diff", source, other, "--quiet", expected=1).stdout == ""


def test_nothing_is_left_of_an_export_that_fails(source, tmp_path):
    broken = tmp_path / "broken.zarr"
    h5zarr("export", source, broken)
    chunk = broken / "a/c/0/0"
    chunk.write_bytes(chunk.read_bytes()[:-3])
    before = sorted(os.listdir(tmp_path))
    assert "'/a'" in h5zarr("export", broken, tmp_path / "y.zarr", "--codec", "zstd", expected=4).stderr
    assert "'/a'" in h5zarr("import", broken, tmp_path / "y.h5", expected=4).stderr
    assert sorted(os.listdir(tmp_path)) == before


def test_what_is_there_is_not_overwritten(source, tmp_path):
    h5zarr("export", source, tmp_path / "x.zarr")
    before = tree(tmp_path / "x.zarr")
    assert "already there" in h5zarr("export", source, tmp_path / "x.zarr", expected=4).stderr
    assert tree(tmp_path / "x.zarr") == before
    (tmp_path / "x.h5").write_bytes(b"mine")
    assert "already there" in h5zarr("import", tmp_path / "x.zarr", tmp_path / "x.h5", expected=4).stderr
    assert (tmp_path / "x.h5").read_bytes() == b"mine"


@pytest.mark.parametrize("words, code", [
    (["export"], 64), (["export", "a"], 64), (["export", "nothing", "b"], 4), (["export", "a", "b", "--shard", "x"], 64),
    (["export", "a", "b", "--codec", "lzw"], 64), (["export", "a", "b", "--threads", "none"], 64),
    (["import", "a", "b", "--codec", "zstd"], 64), (["import", "nothing", "b"], 4), (["diff", "a"], 64),
    (["diff", "nothing", "b"], 4), (["export", "--help"], 0), (["import", "--help"], 0), (["diff", "--help"], 0)])
def test_exit_codes_tell_wrong_words_from_failures(tmp_path, words, code):
    done = h5zarr(*words, expected=code, cwd=tmp_path)
    assert ("usage:" in done.stdout + done.stderr) == (code != 4)
    assert os.listdir(tmp_path) == []
