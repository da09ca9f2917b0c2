"""When something fails: the call that lost data says so, a retry works, and native files behave as without us."""
import os
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest

from support import environment, run_python

LIMITED = """
import h5py, numpy as np, os, resource, signal, sys
store = sys.argv[1]
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def limit(bytes):
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes, resource.RLIM_INFINITY))
def fails(call):
    try:
        call()
    except (OSError, RuntimeError) as error:
        assert "File too large" in str(error), error
        return
    raise AssertionError("no error")
f = h5py.File(store, "w")
"""


def test_a_failing_flush_and_close_say_so_and_a_retry_saves(store):
    code = LIMITED + """
a = f.create_dataset("a", shape=(400_000,), dtype="f8", chunks=(100_000,))
a[5] = 1
limit(1000)
fails(f.flush)
fails(f.close)
assert f
limit(resource.RLIM_INFINITY)
f.close()
assert h5py.File(store)["a"][4:7].tolist() == [0, 1, 0]
"""
    assert run_python(code, store) == ""


def test_a_failing_write_says_so_and_a_retry_writes(store):
    code = LIMITED + """
data = np.arange(400_000.0)
a = f.create_dataset("a", shape=data.shape, dtype="f8", chunks=(100_000,))
limit(1000)
fails(lambda: a.__setitem__(slice(None), data))
limit(resource.RLIM_INFINITY)
a[:] = data
f.close()
assert (h5py.File(store)["a"][:] == data).all()
assert not [name for _, _, files in os.walk(store) for name in files if name not in ("zarr.json", "0", "1", "2", "3")]
"""
    assert run_python(code, store) == ""


def test_failing_metadata_is_saved_by_the_retry(store):
    code = LIMITED + """
f.attrs["long"] = "x" * 5000
limit(1000)
fails(f.close)
limit(resource.RLIM_INFINITY)
f.attrs["more"] = 1
f.close()
f = h5py.File(store)
assert len(f.attrs["long"]) == 5000 and f.attrs["more"] == 1
"""
    assert run_python(code, store) == ""


def test_a_save_that_fails_at_exit_is_reported(store):
    code = LIMITED + """
f.create_dataset("a", shape=(100_000,), dtype="f8", chunks=(100_000,))[5] = 1
limit(1000)
"""
    done = subprocess.run([sys.executable, "-c", code, store], env=environment(), capture_output=True, text=True,
                          timeout=120)
    assert done.returncode >= 0
    assert "could not be saved at exit" in done.stderr and "File too large" in done.stderr


def test_what_may_not_be_written_is_a_permission_error(store, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user")
    with h5py.File(store, "w") as f:
        f["a"] = np.arange(3)
    parents = [path for path in tmp_path.parents if path.stat().st_uid == os.geteuid()]
    if any(not path.stat().st_mode & 0o001 for path in [tmp_path, *parents]):
        pytest.skip("another user cannot enter the folder of this test")
    code = """
import h5py, os, sys
os.setgid(65534), os.setuid(65534)
store = sys.argv[1]
for mode in ("r+", "a", "w"):
    try:
        h5py.File(store, mode)
        raise AssertionError(mode)
    except PermissionError:
        pass
assert h5py.File(store, "r")["a"][1] == 1
"""
    assert run_python(code, store) == ""


@pytest.fixture
def made(store):
    with h5py.File(store, "w") as f:
        f.create_dataset("a", data=np.arange(20).reshape(4, 5) + 1, chunks=(2, 5))
        f["g/b"] = 1
    return store


REMOVED = {"the store": "", "the array": "a", "the array's document": "a/zarr.json"}


def remove(path):
    shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)


@pytest.mark.parametrize("what", REMOVED)
@pytest.mark.parametrize("mode", ["r", "r+"])
def test_what_is_removed_while_it_is_open_does_not_read_as_fill(made, what, mode):
    with h5py.File(made, mode) as f:
        a = f["a"]
        remove(os.path.join(made, REMOVED[what]))
        if what == "the array's document":
            os.remove(os.path.join(made, "a/c/0/0"))
        with pytest.raises(FileNotFoundError, match="has been removed"):
            a[...]


@pytest.mark.parametrize("what", REMOVED)
def test_what_is_removed_while_it_is_open_is_not_written_again_by_halves(made, what):
    f = h5py.File(made, "r+")
    a = f["a"]
    a[0, 0] = 5
    a.attrs["x"] = 1
    remove(os.path.join(made, REMOVED[what]))
    with pytest.raises(RuntimeError, match="has been removed"):
        f.flush()
    with pytest.raises(FileNotFoundError, match="has been removed"):
        a[...] = 3
    f.close()  # as with an unlinked HDF5 file
    assert not os.path.exists(os.path.join(made, "a/zarr.json"))


def test_a_removed_store_is_not_an_empty_one(made):
    with h5py.File(made, "r") as f:
        shutil.rmtree(made)
        with pytest.raises(RuntimeError, match="has been removed"):
            list(f)


@pytest.mark.parametrize("key", ["a/c", "a/c/0", "a/c/0/0"])
def test_what_stands_in_the_place_of_a_chunk_is_an_error(made, key):
    path = os.path.join(made, key)
    folder = key == "a/c/0/0"
    remove(path)
    os.mkdir(path) if folder else open(path, "w").close()
    with h5py.File(made, "r+") as f:
        for read in (lambda: f["a"][...], lambda: f["a"][0, 0]):
            with pytest.raises(IsADirectoryError if folder else NotADirectoryError):
                read()
        if not folder:
            with pytest.raises((OSError, RuntimeError)):
                f["a"].id.get_num_chunks()
        assert f["g/b"][()] == 1


@pytest.mark.parametrize("create", [lambda f: f.create_group("x"), lambda f: f.create_dataset("x", data=[1, 2]),
                                    lambda f: f.__setitem__("x", [1, 2])])
def test_a_node_is_refused_where_a_file_is_in_its_way(made, create):
    with open(os.path.join(made, "x"), "w") as file:
        file.write("notes")
    with h5py.File(made, "r+") as f:
        with pytest.raises((OSError, ValueError, RuntimeError), match="not overwritten"):
            create(f)
        f.flush()
    with open(os.path.join(made, "x")) as file:
        assert file.read() == "notes"


def outcomes(folder, **env):
    """What h5py says of files that cannot be opened, without times and addresses."""
    folder.mkdir()
    (folder / "folder").mkdir()
    (folder / "text.h5").write_text("hello " * 500)
    (folder / "empty.h5").touch()
    with h5py.File(folder / "good.h5", "w") as f:
        f["a"] = 1
    code = r"""
import h5py, os, re, sys
os.chdir(sys.argv[1])
for mode in ("r", "r+", "a", "w", "w-"):
    for name in ("missing.h5", "no/folder.h5", "folder", "text.h5", "empty.h5", "good.h5/x", "good.h5", ""):
        if mode in "aw-" and name in ("missing.h5", "text.h5", "empty.h5", "good.h5"):
            continue
        try:
            with h5py.File(name, mode) as f:
                print(mode, name, sorted(f))
        except Exception as error:
            text = re.sub(r"time = [^,]*, |0x[0-9a-f]+|descriptor = \d+", "", str(error).replace("\n", ""))
            if os.path.isdir(name):  # of which ours has more to say
                text = ""
            print(mode, name, type(error).__name__, getattr(error, "errno", None), text)
"""
    return run_python(code, folder, **env)


def test_files_that_do_not_open_fail_as_without_the_plugin(tmp_path):
    alone = outcomes(tmp_path / "without", connector=None, plugin=False)
    assert "FileNotFoundError 2" in alone
    assert outcomes(tmp_path / "with") == alone


def test_native_files_are_the_same_to_the_byte(tmp_path):
    code = """
import h5py, numpy as np, sys
with h5py.File(sys.argv[1], "w") as f:
    f.create_dataset("a", data=np.arange(1000.0).reshape(10, 100), chunks=(5, 10), compression="gzip", shuffle=True)
    f["s"] = ["x", "yy"]
    f.create_group("g").attrs["q"] = 1
    f["l"], f["e"] = h5py.SoftLink("a"), h5py.ExternalLink("other.h5", "p")
    f.copy("a", "b")
    del f["s"]
"""
    run_python(code, tmp_path / "with.h5")
    run_python(code, tmp_path / "without.h5", connector=None, plugin=False)
    assert (tmp_path / "with.h5").read_bytes() == (tmp_path / "without.h5").read_bytes()


@pytest.mark.parametrize("connector, variables, expected", [
    ("zarr nope=1", {}, "unknown key 'nope'; the valid keys are create,"),
    ("zarr create", {}, "'create' is not key=value"),
    ("zarr create=maybe", {}, "create=maybe is not one of: auto, zarr, native"),
    ("zarr threads=0", {}, "threads=0 is not one of"),
    ("zarr", {"H5ZARR_STRICT": "7"}, "H5ZARR_STRICT: h5zarr configuration: strict=7"),
    ("zarr", {"H5ZARR_CACHE_BYTES": "99999999999999999999"}, "H5ZARR_CACHE_BYTES"),
])
@pytest.mark.parametrize("name", ["a.zarr", "a.h5"])
def test_a_wrong_setting_fails_the_first_file_and_says_why(tmp_path, connector, variables, expected, name):
    code = """
import h5py, sys
try:
    h5py.File(sys.argv[1], "w")
except OSError as error:
    print(error)
"""
    assert expected in run_python(code, tmp_path / name, connector=connector, **variables)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("connector", ["zarr cache_bytes=0;memory=1;threads=1", "zarr ;;create=auto; "])
def test_the_smallest_settings_work(store, connector):
    code = """
import h5py, numpy as np, sys
with h5py.File(sys.argv[1], "w") as f:
    f["a"] = np.arange(300_000)
with h5py.File(sys.argv[1]) as f:
    assert f["a"][299_999] == 299_999
"""
    assert run_python(code, store, connector=connector) == ""
