"""With HDF5_PLUGIN_PATH alone: HDF5 2.x registers what a probed plugin opens under its native connector, so it
gets a native file that shows the store, for reading. Each program here is a process of its own."""
import json
import os
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr

from support import newest_hdf5, run, run_python

pytestmark = pytest.mark.skipif(h5py.version.hdf5_version_tuple < (2,), reason="HDF5 1.14 opens stores by its probe")

SUITES = Path(__file__).resolve().parents[1] / "suites"
SELECTIONS = ["...", "5", "(69, 109)", "np.s_[3:40:3, 5:99:7]", "np.s_[16:32, 32:64]", "np.s_[:, 7]", "[1, 5, 69]",
              "np.s_[10:10]", "np.arange(70) % 7 == 0", "np.add.outer(np.arange(70), np.arange(110)) % 5 == 0"]
READ = """
import h5py, json, numpy as np, sys
path, selections = sys.argv[1], json.loads(sys.argv[2])
said = {}
with h5py.File(path) as f:
    def look(name, d):
        if isinstance(d, h5py.Dataset) and d.shape == (70, 110):
            said[name] = [str(d.dtype)] + [d[eval(s)].tolist() for s in selections] + [d.astype("f8")[...].tolist()]
    f.visititems(look)
print(json.dumps(said))
"""


@pytest.fixture
def numbers(store):
    values = np.arange(7700).reshape(70, 110)
    with h5py.File(store, "w") as f:
        f.create_dataset("gzip", data=values, chunks=(16, 32), compression="gzip", shuffle=True)
        f.create_dataset("plain", data=values.astype(">f4"), chunks=(70, 11))
        f.create_dataset("wide", data=values.astype("u2"), chunks=(16, 200), maxshape=(None, None))
        f.create_dataset("shards", data=values, chunks=(32, 64), compression=480, compression_opts=(1, 2, 8, 16))
        f.create_dataset("one", data=values, chunks=(70, 110))
        f["contiguous"] = values.astype("i2")
        f["g/bool"] = values % 3 == 0
    return store


def test_every_selection_reads_as_with_the_connector(numbers):
    arguments = numbers, json.dumps(SELECTIONS)
    viewed = json.loads(run_python(READ, *arguments, connector=None))
    assert viewed == json.loads(run_python(READ, *arguments))
    assert len(viewed) == 7


def test_a_newer_hdf5_reads_views_too(numbers):
    arguments = numbers, json.dumps(SELECTIONS)
    code = "import h5py; assert h5py.h5.get_libversion() > (2, 1)" + READ
    assert run_python(code, *arguments, connector=None, **newest_hdf5()) == run_python(READ, *arguments)


def test_opening_to_write_says_which_variable_to_set(numbers):
    code = """
import h5py, sys
for mode in ("r+", "a", "w"):
    try:
        h5py.File(sys.argv[1], mode)
    except OSError as error:
        print(error)
with h5py.File(sys.argv[1]) as f:
    print(f.mode, len(f))
    try:
        f["new"] = 1
    except (OSError, RuntimeError, ValueError) as error:
        print(error)
"""
    said = run_python(code, numbers, connector=None).splitlines()
    assert "HDF5_VOL_CONNECTOR=zarr" in said[0]
    assert said[-2] == "r 7"
    assert "write intent" in said[-1]


def test_attributes_links_references_and_text_are_in_the_view(store, tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as f:
        f["d"] = 5
    code = """
import h5py, numpy as np, sys
with h5py.File(sys.argv[1]) as f:
    print(list(f), f.attrs["x"].tolist(), f.attrs["s"], f["soft"] == f["g"], f["hard"] == f["g/n"], f["ext"][()])
    print(f[f["ref"][0]].name, f[f["ref"][1]].name, f[f["g/n"].attrs["up"]].name)
    print(f[f["region"][0]][f["region"][0]].tolist())
    print(f["text"].asstr()[...].tolist(), f["sequences"][1].tolist(), f["pairs"][0][1], f["empty"].shape, f["none"][...].size)
    print(f["g/n"].dims[0].label, f["g/n"].dims[0]["axis"][...].tolist(), f["made"].dtype == f["Type"].dtype)
    for wrong in ("nothing", "g/nothing"):
        try:
            f[wrong]
        except KeyError as error:
            print("KeyError")
"""
    with h5py.File(store, "w") as f:
        f.attrs["x"], f.attrs["s"] = [1, 2], "é"
        f["g/n"] = np.arange(6)
        f["soft"], f["hard"], f["ext"] = h5py.SoftLink("/g"), f["g/n"], h5py.ExternalLink("other.h5", "/d")
        f["ref"] = np.array([f["g"].ref, f["g/n"].ref], dtype=h5py.ref_dtype)
        f["region"] = np.array([f["g/n"].regionref[1:4]], dtype=h5py.regionref_dtype)
        f["g/n"].attrs["up"] = f["g"].ref
        f["text"] = ["a", "béc", ""]
        f.create_dataset("sequences", (2,), dtype=h5py.vlen_dtype("i4"))[1] = [1, 2, 3]
        f["pairs"] = np.array([(1, "xyz")], dtype=[("a", "i2"), ("s", h5py.string_dtype())])
        f["empty"], f["none"] = h5py.Empty("f4"), np.zeros((0, 3))
        f["axis"] = np.arange(6) * 2
        f["axis"].make_scale("axis")
        f["g/n"].dims[0].attach_scale(f["axis"])
        f["g/n"].dims[0].label = "x"
        f["Type"] = np.dtype([("a", "i2")])
        f.create_dataset("made", (2,), dtype=f["Type"])
    viewed = run_python(code, store, connector=None)
    assert viewed == run_python(code, store)
    assert viewed.splitlines()[1] == "/g /hard /g"


# What README.md says of views, and properties of HDF5's own format, which a store only remembers.
DIFFERENT = {"alloc", "fill", "filters", "layout", "mappings", "file", "attr order", "attr phase", "link order",
             "link phase", "link estimate", "track times"}
DESCRIBE = """
import h5py.h5d, json, sys
h5py.h5d.FILL_TIME_NEVER = -1  # its values are defined here
sys.path.insert(0, sys.argv[2])
from described import describe
json.dump(describe(sys.argv[1]), sys.stdout)
"""


def test_hdf5s_whole_model_reads_as_with_the_connector(tmp_path):
    """Every type, fill value, link, attribute and virtual dataset of everything.py."""
    here = Path(__file__).parent
    beside = {"HDF5_EXTFILE_PREFIX": "${ORIGIN}"}
    path = tmp_path / "all.zarr"
    done = run([sys.executable, here / "everything.py", "write", path], **beside)
    assert done.returncode == 0, done.stderr
    named, viewed = (json.loads(run_python(DESCRIBE, path, here, connector=connector, **beside))
                     for connector in ("zarr", None))
    assert viewed.keys() == named.keys()
    for said in (*named.values(), *viewed.values()):
        for link in said.get("links", {}).values():
            link.pop("cset")
    for path, described in named.items():
        for what in described.keys() - DIFFERENT - ({"space"} if described.get("mappings") else set()):
            if what != "value" or viewed[path]["fill"] == described["fill"] or described["fill"]["time"] != 1:
                assert viewed[path].get(what) == described[what], (path, what)


def test_links_that_go_in_circles_and_between_files_lead_where_the_connector_leads(store, tmp_path):
    with h5py.File(tmp_path / "other.zarr", "w") as f:
        f["a"] = np.arange(5)
    with h5py.File(store, "w") as f:
        f["a"], g = np.arange(4), f.create_group("g")
        g["self"], g["top"], f["soft"] = g, f["/"], h5py.SoftLink("/soft")
        f["native"], f["other"] = h5py.ExternalLink("links.h5", "/a"), h5py.ExternalLink("other.zarr", "/a")
    os.symlink(".", store + "/loop")
    with h5py.File(tmp_path / "links.h5", "w") as f:
        f["a"] = np.arange(3)
        f["into"], f["group"] = (h5py.ExternalLink(os.path.basename(store), name) for name in ("/a", "/g"))
    code = """
import h5py, sys
with h5py.File(sys.argv[1]) as f:
    names = []
    f.visit(names.append)
    print(list(f), list(f["g"]), names, f["g/self/self/top/g"] == f["g"], f["g/top/g/self/top/a"][...].tolist())
    print(f["native"][...].tolist(), f["other"][...].tolist())
    try:
        f["soft"]
    except RuntimeError as error:
        print(error)
with h5py.File(sys.argv[2]) as f:
    print(f["into"][...].tolist(), list(f["group"]), f["group/self/top/a"][1:3].tolist(), f["a"][...].tolist())
"""
    viewed = run_python(code, store, tmp_path / "links.h5", connector=None)
    assert viewed == run_python(code, store, tmp_path / "links.h5")
    assert viewed.splitlines()[-1] == "[0, 1, 2, 3] ['self', 'top'] [1, 2] [0, 1, 2]"


def test_a_virtual_dataset_of_an_hdf5_file_does_not_take_a_store_for_fill(store, tmp_path):
    """HDF5 opens sources by itself, and asks nobody."""
    with h5py.File(store, "w") as f:
        f["a"] = np.arange(4) + 1
    with h5py.File(tmp_path / "v.h5", "w") as f:
        layout = h5py.VirtualLayout((4,), "i8")
        layout[:] = h5py.VirtualSource(os.path.basename(store), "a", (4,))
        f.create_virtual_dataset("v", layout)
    code = """
import h5py, sys
with h5py.File(sys.argv[1]) as f:
    try:
        print(f["v"][...].tolist())
    except OSError as error:
        print("OSError")
"""
    assert run_python(code, tmp_path / "v.h5") == "[1, 2, 3, 4]\n"
    assert run_python(code, tmp_path / "v.h5", connector=None) == "OSError\n"


def test_virtual_datasets_are_read_through_the_connector(store, tmp_path):
    with h5py.File(tmp_path / "source.h5", "w") as f:
        f["d"] = np.arange(20)
    with h5py.File(tmp_path / "source.zarr", "w") as f:
        f["d"] = np.arange(20) + 100
    with h5py.File(store, "w") as f:
        layout = h5py.VirtualLayout((2, 20), "i8")
        layout[0] = h5py.VirtualSource("source.h5", "d", (20,))
        layout[1] = h5py.VirtualSource("source.zarr", "d", (20,))
        f.create_virtual_dataset("v", layout)
    code = """
import h5py, sys
with h5py.File(sys.argv[1]) as f:
    d = f["v"]
    print(d.shape, d[:, ::5].tolist(), d[1, 7], d.astype("f4")[1, 3:5].tolist())
"""
    assert run_python(code, store, connector=None) == run_python(code, store)


@pytest.mark.parametrize("newest", [False, True])
def test_no_random_open_crashes(newest):
    done = run([sys.executable, SUITES / "random_opens.py", 120, 7], timeout=600, **(newest_hdf5() if newest else {}))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_damaged_chunk_is_an_error_and_others_are_read(store):
    import zarr

    z = zarr.create_array(store=store + "/a", shape=(40,), chunks=(10,), dtype="i4")
    zarr.open_group(store, mode="a")
    z[...] = np.arange(40)
    with open(store + "/a/c/2", "r+b") as chunk:
        chunk.truncate(5)
    code = """
import h5py, sys
with h5py.File(sys.argv[1]) as f:
    print(f["a"][:20].sum(), f["a"][30:].sum())
    for wrong in (lambda: f["a"][...], lambda: f["a"][25], lambda: f["a"].astype("f8")[...]):
        try:
            print(wrong())
        except OSError as error:
            print("c/2" in str(error))
"""
    assert run_python(code, store, connector=None).split() == ["190", "345", "True", "True", "True"]


def test_what_cannot_be_shown_is_listed_and_opening_it_says_why(store):
    with h5py.File(store, "w") as f:
        for name in ("a", "type", "z", "document", "g/inner"):
            f[name] = np.arange(4)
        f["linked"] = f["type"]
        f["top"] = 1
    with open(store + "/type/zarr.json", "r+") as document:
        text = document.read().replace('"int64"', '"unheard_of"')
        document.seek(0)
        document.write(text)
    with open(store + "/document/zarr.json", "w") as document:
        document.write("{ no JSON")
    os.symlink(".", store + "/loop")
    code = """
import h5py, sys
with h5py.File(sys.argv[1]) as f:
    print(list(f), f["a"][...].sum(), f["z"][...].sum(), f["g/inner"][...].sum())
    for name in ("type", "linked", "document"):
        try:
            print(f[name])
        except (KeyError, OSError) as error:
            print(error)
    print(f["a"][...].sum(), f["top"][()])
"""
    listed, unknown, linked, damaged, after = run_python(code, store, connector=None).splitlines()
    names = ["a", "document", "g", "linked", "top", "type", "z"]
    assert listed == f"{names} 6 6 6"
    assert "unheard_of" in unknown and "'type'" in unknown
    assert "unheard_of" in linked
    assert "zarr.json" in damaged
    assert after == "6 1"


def test_hdf5_files_opened_before_and_after_are_untouched(numbers, tmp_path):
    code = """
import h5py, os, sys
store, native = sys.argv[1:]
before = h5py.File(native, "w")
before["d"] = [1, 2, 3]
views = [h5py.File(store), h5py.File(store, locking=False), h5py.File(store, swmr=True)]
assert views[0] == views[1] and views[0]["gzip"][5, 5] == 555
views[1].close()
after = h5py.File(native + ".after", "w")
after["d"] = views[2]["contiguous"][0, :3]
before["d"][0] = 9
held = views[0]["gzip"]
views[0].close()
child = os.fork()
if child == 0:
    again = h5py.File(store)
    os._exit(0 if again["shards"][69, 109] == 7699 and views[2]["plain"][1, 0] == 110 else 1)
assert os.waitpid(child, 0)[1] == 0
views[2].copy("gzip", after)
assert (after["gzip"][...] == views[2]["gzip"][...]).all()
views[2].close()
after.close(), before.close()
print(h5py.File(native)["d"][:].tolist(), h5py.File(native + ".after")["d"][:].tolist())
left_open = h5py.File(store)["gzip"]
"""
    assert run_python(code, numbers, tmp_path / "a.h5", connector=None) == "[9, 2, 3] [0, 1, 2]\n"


def test_a_view_opened_again_shows_what_is_stored_now(store, tmp_path):
    """A view is kept from one open to the next: as long as the store's documents are what they were."""
    code = """
import h5py, json, os, shutil, sys
store = sys.argv[1]
def change(path, old, new):
    text = open(f"{store}/{path}").read()
    assert old in text
    with open(f"{store}/{path}.new", "w") as out:
        out.write(text.replace(old, new))
    os.replace(f"{store}/{path}.new", f"{store}/{path}")
def shown():
    with h5py.File(store) as f:
        names = []
        f.visit(names.append)
        return names, f.attrs["x"].item(), f["a"][...].tolist(), f["text"].asstr()[...].tolist() if "text" in f else None
def then(what):
    what()
    print(json.dumps(shown()))
for _ in range(3):
    then(lambda: None)
then(lambda: change("zarr.json", '"x": 1', '"x": 2'))
then(lambda: shutil.copytree(f"{store}/a", f"{store}/g/b"))
then(lambda: shutil.rmtree(f"{store}/g/b"))
then(lambda: shutil.copy(f"{store}/a/c/1", f"{store}/a/c/0"))
then(lambda: os.remove(f"{store}/a/c/1"))
then(lambda: shutil.copytree(sys.argv[2], f"{store}/text"))
with h5py.File(store) as held:
    change("zarr.json", '"x": 2', '"x": 3')
    print(json.dumps(shown()))
then(lambda: shutil.copy(sys.argv[2] + "2/c/0", f"{store}/text/c/0"))
child = os.fork()
if child == 0:
    change("zarr.json", '"x": 3', '"x": 4')
    os._exit(0 if shown()[1] == 4 else 1)
assert os.waitpid(child, 0)[1] == 0
then(lambda: None)
then(lambda: (os.rename(store, store + ".h5"), h5py.File(store, "w").close(), os.remove(store), os.rename(store + ".h5", store)))
"""
    with h5py.File(store, "w") as f:
        f.attrs["x"] = 1
        f.create_dataset("a", data=np.arange(4), chunks=(2,))
        f.create_group("g")
    for name, text in (("text", "old"), ("text2", "new")):
        with h5py.File(tmp_path / f"{name}.zarr", "w") as f:
            f["text"] = [text]
    os.rename(tmp_path / "text.zarr" / "text", tmp_path / "other")
    os.rename(tmp_path / "text2.zarr" / "text", tmp_path / "other2")
    names, values = ["a", "g"], [0, 1, 2, 3]
    said = [json.loads(line) for line in run_python(code, store, tmp_path / "other", connector=None).splitlines()]
    assert said == 3 * [[names, 1, values, None]] + [
        [names, 2, values, None], [["a", "g", "g/b"], 2, values, None], [names, 2, values, None],
        [names, 2, [2, 3, 2, 3], None], [names, 2, [2, 3, 0, 0], None],
        [names + ["text"], 2, [2, 3, 0, 0], ["old"]], [names + ["text"], 2, [2, 3, 0, 0], ["old"]],
        [names + ["text"], 3, [2, 3, 0, 0], ["new"]], [names + ["text"], 4, [2, 3, 0, 0], ["new"]],
        [names + ["text"], 4, [2, 3, 0, 0], ["new"]]]


def test_hdf5_can_be_closed_and_opened_again_around_a_view(numbers):
    code = """
import ctypes, h5py, os, sys
sys.path.insert(0, sys.argv[2])
from libhdf5 import LIB
name = os.fsencode(sys.argv[1])
LIB.H5Fopen.restype = LIB.H5Dopen2.restype = ctypes.c_int64
LIB.H5Fopen.argtypes = [ctypes.c_char_p, ctypes.c_uint, ctypes.c_int64]
LIB.H5Dopen2.argtypes = [ctypes.c_int64, ctypes.c_char_p, ctypes.c_int64]
for _ in range(3):
    f = LIB.H5Fopen(name, 0, 0)
    assert f > 0 and LIB.H5Dopen2(f, b"gzip", 0) > 0
    assert LIB.H5close() == 0
    LIB.H5open()
print("good", flush=True)
os._exit(0)
"""
    assert run_python(code, numbers, os.path.dirname(__file__), connector=None) == "good\n"


def test_a_single_array_that_cannot_be_shown_says_so_and_gives_no_advice(tmp_path):
    path = tmp_path / "a.zarr"
    path.mkdir()
    (path / "zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "unheard_of", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}],
        "storage_transformers": [{"name": "unheard_of", "configuration": {}}]}))
    code = """
import h5py, sys
try:
    with h5py.File(sys.argv[1]) as f:
        f["a"]
except (OSError, KeyError) as error:
    print(error)
"""
    said = run_python(code, str(path), connector=None)
    assert "unheard_of" in said and "HDF5_VOL_CONNECTOR" not in said


def test_a_store_of_very_many_nodes_keeps_the_advice(crowded_folder):
    store = str(crowded_folder / "x.zarr")
    with h5py.File(store, "w") as f:
        f["a"] = 1
    document = open(store + "/zarr.json").read()
    for i in range(20_001):
        os.makedirs(f"{store}/g/{i}")
    for folder in [f"{store}/g"] + [f"{store}/g/{i}" for i in range(20_001)]:
        with open(folder + "/zarr.json", "w") as copy:
            copy.write(document)
    code = """
import h5py, sys
try:
    h5py.File(sys.argv[1])
except OSError as error:
    print(error)
"""
    assert "20000 nodes" in (said := run_python(code, store, connector=None))
    assert "HDF5_VOL_CONNECTOR=zarr" in said


def test_an_array_of_very_many_chunks_opens_at_once(store):
    import zarr

    z = zarr.create_array(store=store + "/many", shape=(1 << 40,), chunks=(1,), dtype="i4", fill_value=7)
    zarr.open_group(store, mode="a")
    z[1 << 39] = 5
    code = """
import h5py, sys
with h5py.File(sys.argv[1]) as f:
    d = f["many"]
    print(d.shape, d[(1 << 39) - 1:(1 << 39) + 2].tolist(), d[-1])
"""
    assert run_python(code, store, connector=None, timeout=20).strip() == f"({1 << 40},) [7, 5, 7] 7"


def test_what_others_change_while_a_view_is_open_is_read_or_an_error_and_never_fill(tmp_path):
    """HDF5 would fill what it is told is not stored, without asking: so it is told that all chunks are."""
    code = """
import h5py, os, shutil, sys, zarr
store = sys.argv[1]
def make():
    shutil.rmtree(store, ignore_errors=True)
    a = zarr.create_array(store=store + "/a", shape=(40,), chunks=(10,), dtype="i4", fill_value=-1)
    zarr.open_group(store, mode="a")
    a[:10] = 1
    return a
def read(d):
    said = []
    for how in (lambda: d[::10], lambda: d.astype("f8")[::10].astype(int), lambda: d[[0, 11, 25, 39]]):
        try:
            said.append(how().tolist())
        except OSError as error:
            said.append([word for word in ("removed", "replaced", "shrunk") if word in str(error)])
    return said
def shown(change):
    a = make()
    with h5py.File(store) as f:
        read(f["a"])
        change(a)
        print(*read(f["a"]))
def store_chunk(a):
    a[10:20] = 2
def replace_array(a):
    zarr.create_array(store=store + "/a", shape=(40,), chunks=(10,), dtype="f8", overwrite=True)[:] = 5
shown(store_chunk)
shown(lambda a: os.remove(store + "/a/c/0"))
shown(lambda a: shutil.rmtree(store + "/a"))
shown(replace_array)
shown(lambda a: a.resize((5,)))
"""
    added, emptied, removed, replaced, shrunk = run_python(code, tmp_path / "s.zarr", connector=None).splitlines()
    assert added == "[1, 2, -1, -1] [1, 2, -1, -1] [1, 2, -1, -1]"
    assert emptied == "[-1, -1, -1, -1] [-1, -1, -1, -1] [-1, -1, -1, -1]"
    assert [removed, replaced, shrunk] == [" ".join(3 * [f"['{word}']"]) for word in ("removed", "replaced", "shrunk")]


def test_missing_and_foreign_files_fail_as_without_us(tmp_path):
    (tmp_path / "text").write_text("no HDF5 file")
    (tmp_path / "folder").mkdir()
    code = """
import h5py, re, sys
for name in sys.argv[1:]:
    try:
        h5py.File(name)
    except OSError as error:
        print(type(error).__name__, error.errno, re.sub("(time|buf) = [^,]*,", "", str(error)))
"""
    names = [tmp_path / "missing", tmp_path / "text", tmp_path / "folder", tmp_path / "missing.zarr"]
    assert run_python(code, *names, connector=None) == run_python(code, *names, connector=None, plugin=False)


def test_a_folder_without_a_document_that_holds_arrays_opens(store):
    """What tensorstore and others make, who write no groups."""
    os.makedirs(f"{store}/g")
    zarr.create_array(f"{store}/g/a", data=np.arange(3), overwrite=True)
    os.mkdir(os.path.dirname(store) + "/nothing.zarr")
    code = """
import h5py, sys
print(h5py.File(sys.argv[1])["g/a"][()].tolist(), h5py.File(sys.argv[1] + "/g")["a"][()].tolist())
try:
    h5py.File(sys.argv[2])
except IsADirectoryError:
    print("no store")
"""
    said = run_python(code, store, os.path.dirname(store) + "/nothing.zarr", connector=None).splitlines()
    assert said == ["[0, 1, 2] [0, 1, 2]", "no store"]


def test_failed_opens_are_quick_and_read_little(tmp_path):
    """Of missing and foreign files, and damaged stores: below 5 ms (of CPU time, since machines are busy)."""
    with h5py.File(tmp_path / "cut.h5", "w") as f:
        f["a"] = np.arange(100_000)
    os.truncate(tmp_path / "cut.h5", 1000)
    (tmp_path / "text").write_text("no HDF5 file")
    with open(tmp_path / "large", "wb") as file:
        file.truncate(1 << 30)
    for i in range(2000):
        (tmp_path / "folder" / str(i)).mkdir(parents=True)
    for name, text in (("damaged.zarr/zarr.json", "{ no JSON"), ("cut.json", '{"version": 1, "refs": {".zgroup": "{}"'),
                       ("cut.zip", "PK\3\4 and no more")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for i in range(2000):
        (tmp_path / "damaged.zarr" / str(i)).mkdir()
    code = """
import h5py, json, sys, time
def read_bytes():
    with open("/proc/self/io") as counters:
        return int(counters.readline().split()[1])
def attempt(name):
    begin, read = time.process_time(), read_bytes()
    try:
        h5py.File(name)
    except OSError:
        return [(time.process_time() - begin) * 1000, read_bytes() - read]
print(json.dumps({name: [min(costs) for costs in zip(*(attempt(name) for _ in range(10)))] for name in sys.argv[1:]}))
"""
    names = [tmp_path / name for name in ("missing", "missing.zarr", "text", "large", "folder", "cut.h5", "damaged.zarr",
                                          "cut.json", "cut.zip")]
    for name, (took_ms, read_bytes) in json.loads(run_python(code, *names, connector=None)).items():
        assert took_ms < 5, name
        assert read_bytes < 64 << 10, name
