"""Stores with parts that cannot be read: the others are listed and read, and who opens a bad one is told why."""
import json
import os
import subprocess

import h5py
import numpy as np
import pytest
import zarr

from support import environment, run, run_python, tool

LISTING = """
import h5py, os, sys
if os.getuid() == 0:  # whom the system refuses nothing
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
f = h5py.File(sys.argv[1])
seen = []
f.visit(seen.append)
print(list(f), seen)
for name in sys.argv[2:]:
    try:
        print(f[name][()].tolist())
    except KeyError as error:
        print(error)
"""


@pytest.fixture
def three(store):
    """A store with a, b and z, and its folder of b."""
    group = zarr.open_group(store, mode="w")
    for name in "abz":
        group[name] = np.arange(3)
    return store, os.path.join(store, "b")


def let_everybody_in(path):
    while path != os.path.dirname(path):
        if not os.stat(path).st_mode & 0o005:
            os.chmod(path, os.stat(path).st_mode | 0o055)
        path = os.path.dirname(path)


@pytest.mark.parametrize("codec", ["gzip", "zstd", "blosc"])
def test_a_damaged_chunk_is_told_by_its_store_array_key_and_codec(store, codec):
    compressor = {"gzip": zarr.codecs.GzipCodec, "zstd": zarr.codecs.ZstdCodec, "blosc": zarr.codecs.BloscCodec}[codec]
    zarr.open_group(store, mode="w").create_array("g/a", data=np.arange(100), chunks=(50,), compressors=compressor())
    os.truncate(os.path.join(store, "g/a/c/1"), 10)
    with h5py.File(store) as f, pytest.raises(OSError) as raised:
        f["g/a"][()]
    assert f"{store}, chunk g/a/c/1: {codec}: " in str(raised.value) and "array 'g/a'" in str(raised.value)
    assert str(raised.value).count(f"{codec}: ") == 1


@pytest.mark.parametrize("mode", [0, 0o100, 0o600])
def test_a_folder_without_permission_is_listed_and_opening_it_is_the_error(store, mode):
    group = zarr.open_group(store, mode="w")
    group["a"] = np.arange(3)
    group.create_group("g").create_array("q", data=np.arange(2))
    let_everybody_in(store)
    os.chmod(os.path.join(store, "g"), mode)
    try:
        listed, a, g, below = run_python(LISTING, store, "a", "g", "g/q").splitlines()
    finally:
        os.chmod(os.path.join(store, "g"), 0o755)
    assert listed == "['a', 'g'] ['a', 'g']"
    assert a == "[0, 1, 2]"
    assert "'g'" in g and "Permission denied" in g
    assert "'g'" in below and "Permission denied" in below


OPENING = """
import h5py, os, sys
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for mode in sys.argv[2:]:
    try:
        h5py.File(sys.argv[1], mode)
    except OSError as error:
        print(type(error).__name__, error)
"""


@pytest.mark.parametrize("connector", ["zarr", None])
@pytest.mark.parametrize("mode", [0, 0o200, 0o600])
def test_a_store_without_permission_is_a_permission_error(store, mode, connector):
    zarr.open_group(store, mode="w")["a"] = np.arange(3)
    let_everybody_in(store)
    os.chmod(store, mode)
    try:
        modes = ("r", "r+", "a", "w") if connector else ("r", "r+", "a")  # HDF5 makes files without asking us
        said = run_python(OPENING, store, *modes, connector=connector).splitlines()
    finally:
        os.chmod(store, 0o755)
    assert len(said) == len(modes) and all(line.startswith("PermissionError") for line in said), said


def test_a_group_that_may_not_be_listed_leaves_the_others_to_a_visit(store):
    group = zarr.open_group(store, mode="w")
    group.create_group("g").create_array("q", data=np.arange(2))
    group["z"] = np.arange(3)
    let_everybody_in(store)
    os.chmod(os.path.join(store, "g"), 0o311)
    try:
        listed, z = run_python(LISTING, store, "z").splitlines()
    finally:
        os.chmod(os.path.join(store, "g"), 0o755)
    assert listed == "['g', 'z'] ['g', 'z']"
    assert z == "[0, 1, 2]"


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("/dev/zero", path),
                                  lambda path: os.symlink(os.path.basename(path), path)])
def test_what_is_no_file_in_place_of_a_document_is_the_error_of_its_node(three, make):
    store, bad = three
    os.remove(bad + "/zarr.json")
    make(bad + "/zarr.json")
    with h5py.File(store) as f:
        assert list(f) == ["a", "b", "z"]
        assert f["z"][()].tolist() == [0, 1, 2]
        with pytest.raises(KeyError, match="'b'"):
            f["b"]
        with pytest.raises(KeyError, match="'b'"):
            f["b/below"]


@pytest.mark.parametrize("connector", ["zarr", None])
def test_links_that_lead_back_are_not_followed(three, connector):
    store, _ = three
    zarr.open_group(store).create_group("g/h")
    os.symlink(".", store + "/loop")
    os.symlink("../..", store + "/g/h/up")
    os.symlink(store + "/g", store + "/g/h/around")
    os.symlink("../b", store + "/g/b")  # which does not
    code = """
import h5py, sys
seen = []
f = h5py.File(sys.argv[1])
f.visit(seen.append)
print(*sorted(seen), f["g/b"][()].sum())
"""
    assert run_python(code, store, connector=connector).split() == ["a", "b", "g", "g/b", "g/h", "z", "3"]


def spoil(key, value):
    def change(document):
        document[key] = value
        return json.dumps(document)
    return change


@pytest.mark.parametrize("change", [spoil("data_type", "float8_e4m3fn"), spoil("unknown", {"name": "x"}),
                                    spoil("chunk_grid", {"name": "rectilinear", "configuration": {}}),
                                    spoil("shape", [1] * 33), spoil("fill_value", "bad"), lambda document: ""],
                         ids=["type", "field", "grid", "rank", "fill", "empty"])
def test_tools_go_on_without_a_node_that_cannot_be_opened(three, change):
    store, bad = three
    with open(bad + "/zarr.json") as document:
        text = change(json.load(document))
    with open(bad + "/zarr.json", "w") as document:
        document.write(text)
    assert [line.split()[0] for line in run([tool("h5ls"), "-r", store]).stdout.splitlines()] == ["/", "/a", "/b", "/z"]
    assert "0, 1, 2" in run([tool("h5dump"), "-d", "/z", store]).stdout
    whole = subprocess.run([tool("h5dump"), store], env=environment(), capture_output=True, text=True, timeout=60)
    assert whole.returncode != 0 and 'DATASET "a"' in whole.stdout
    assert '"b"' in whole.stderr and "internal error" not in whole.stderr
    with h5py.File(store) as f:
        assert "b" in f
        for use in (lambda: f["b"], lambda: h5py.h5d.open(f.id, b"b"), lambda: h5py.h5g.open(f.id, b"b")):
            with pytest.raises((KeyError, ValueError), match="cannot open .*b"):
                use()


@pytest.mark.parametrize("target", ["copy.zarr", "copy.h5"])
def test_a_copy_fails_with_a_node_that_cannot_be_opened_and_leaves_nothing(three, tmp_path, target):
    store, bad = three
    open(bad + "/zarr.json", "w").close()
    with h5py.File(store) as f, h5py.File(tmp_path / target, "w") as copy:
        for source in ("/", "b"):
            with pytest.raises((KeyError, OSError, RuntimeError), match="cannot open 'b'"):
                f.copy(source, copy, name="c")
            assert list(copy) == []
        f.copy("z", copy)
        assert copy["z"][()].tolist() == [0, 1, 2]


@pytest.mark.parametrize("tool_name", ["h5repack", "h5copy"])
def test_tools_that_copy_a_node_that_cannot_be_opened_fail(three, tmp_path, tool_name):
    store, bad = three
    open(bad + "/zarr.json", "w").close()
    target = str(tmp_path / "copy.h5")
    command = {"h5repack": [store, target], "h5copy": ["-i", store, "-o", target, "-s", "/b", "-d", "/b"]}[tool_name]
    assert run([tool(tool_name), *command]).returncode != 0


@pytest.mark.parametrize("name", ["zarr.json", ".zgroup", ".zmetadata"])
def test_a_document_in_place_of_its_store_is_refused_with_the_folder_to_open(store, name):
    group = zarr.open_group(store, mode="w", zarr_format=3 if name == "zarr.json" else 2)
    group["a"] = np.arange(3)
    if name == ".zmetadata":
        zarr.consolidate_metadata(store, zarr_format=2)
    with pytest.raises(OSError, match=f"open is its folder, '{store}'"):
        h5py.File(os.path.join(store, name), "r")


def test_elements_of_no_bytes_are_refused_in_words(three):
    store, bad = three
    with open(bad + "/zarr.json") as document:
        members = json.load(document)
    members["data_type"] = {"name": "null_terminated_bytes", "configuration": {"length_bytes": 0}}
    members["fill_value"] = ""
    with open(bad + "/zarr.json", "w") as document:
        json.dump(members, document)
    with h5py.File(store) as f, pytest.raises(KeyError, match="elements of 0 bytes|length_bytes"):
        f["b"]


def test_extents_by_themselves_and_attributes_of_null_are_read_from_v2(store):
    group = zarr.open_group(store, mode="w", zarr_format=2)
    group.create_array("a", shape=(4,), chunks=(2,), dtype="i4")[:] = np.arange(4)
    document = os.path.join(store, "a", ".zarray")
    members = json.load(open(document))
    with open(document, "w") as file:
        json.dump(members | {"shape": 4, "chunks": 2}, file)
    with open(os.path.join(store, "a", ".zattrs"), "w") as file:
        file.write("null")
    with h5py.File(store) as f:
        assert f["a"][()].tolist() == [0, 1, 2, 3] and dict(f["a"].attrs) == {}
