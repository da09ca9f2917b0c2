"""Files and objects from open to close: in whatever order they go, and however a process ends, data is kept."""
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import h5py
import numpy as np
import pytest

from support import environment, run_python, tree

OPEN = "import h5py, numpy as np, os, sys\nstore = sys.argv[1]\n"


@pytest.fixture
def made(store):
    with h5py.File(store, "w") as f:
        f.create_dataset("a", data=np.arange(100), chunks=(10,))
    return store


def values(store, name="a"):
    with h5py.File(store, "r") as f:
        return f[name][...].tolist()


@pytest.mark.parametrize("end", ["", "sys.exit(0)", "del f", "f.id.close()"])
def test_a_program_that_never_closes_still_saves(store, end):
    code = OPEN + f"""
f = h5py.File(store, "w")
a = f.create_dataset("a", data=np.arange(100), chunks=(7,))
a[3] = 33
a.attrs["k"] = 1
f.create_group("g").attrs["k"] = 2
{end}
"""
    assert run_python(code, store) == ""
    with h5py.File(store, "r") as f:
        assert f["a"][3] == 33 and f["a"].attrs["k"] == 1 and f["g"].attrs["k"] == 2


def test_two_readers_share_a_store_and_close_in_any_order(made):
    f, g = h5py.File(made, "r"), h5py.File(made, "r")
    f.close()
    assert g["a"][5] == 5
    g.close()


def test_two_writers_see_each_others_changes(made):
    f, g = h5py.File(made, "r+"), h5py.File(made, "r+")
    f["a"][0] = 70
    assert g["a"][0] == 70
    g["b"] = 3
    assert f["b"][()] == 3
    f.close()
    g["b"][()] = 5
    g.close()
    assert values(made, "b") == 5 and values(made)[0] == 70


def test_a_store_open_for_reading_is_refused_for_writing(made):
    with h5py.File(made, "r"):
        with pytest.raises(OSError, match="open read-only"):
            h5py.File(made, "r+")
    h5py.File(made, "r+").close()


def test_an_open_store_is_not_replaced(made):
    with h5py.File(made, "r+"):
        with pytest.raises(OSError, match="already open"):
            h5py.File(made, "w")
    assert values(made)[5] == 5


def test_objects_outlive_their_file(store):
    f = h5py.File(store, "w")
    a = f.create_dataset("a", data=np.arange(100), chunks=(10,))
    g = f.create_group("g")
    f.id.close()
    a[5] = 99
    g.attrs["x"] = 1
    g["late"] = 4
    assert a.file["a"][5] == 99
    del f, a, g
    with h5py.File(store, "r") as f:
        assert f["a"][5] == 99 and f["g"].attrs["x"] == 1 and f["g/late"][()] == 4


def reopened(path):
    """A file closed while a dataset keeps it open, and opened anew: what is whose."""
    with h5py.File(path, "w") as f:
        f["a"] = np.arange(5)
    f = h5py.File(path, "r+")
    a = f["a"]
    f.id.close()
    g, h = h5py.File(path, "r+"), h5py.File(path, "r+")
    found = [bool(a), h5py.h5f.get_obj_count(g.id, h5py.h5f.OBJ_ALL), h5py.h5f.get_obj_count(g.id, h5py.h5f.OBJ_FILE),
             h5py.h5f.get_obj_count(g.id, h5py.h5f.OBJ_ALL | h5py.h5f.OBJ_LOCAL),
             sorted(type(x).__name__ for x in h5py.h5f.get_obj_ids(g.id, h5py.h5f.OBJ_ALL)), a.file == g, a in (g["a"],)]
    a[0] = 9
    found += [int(g["a"][0]), g.id.id == h.id.id]
    g["b"] = 3
    g.close()
    found += [bool(a), bool(h), a[...].tolist(), sorted(h)]
    h.id.close()
    a[1] = 77
    found += [bool(a), a[...].tolist()]
    del a
    with h5py.File(path, "w" if not h5py.h5f.get_obj_count(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_FILE) else "r") as f:
        return found + [list(f)]


def test_a_file_reopened_while_objects_keep_it_open_is_a_file_of_its_own(store, tmp_path):
    code = "from test_lifetime import reopened\nimport sys\nprint(reopened(sys.argv[1]))"
    folder = os.path.dirname(__file__)
    native = run_python(code, tmp_path / "a.h5", PYTHONPATH=folder)
    assert run_python(code, store, PYTHONPATH=folder) == native


def test_questions_of_one_file_are_answered_for_the_store_or_refused(made):
    with h5py.File(made, "r+") as f:
        f.flush()
        size = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(made) for name in names)
        assert f.id.get_filesize() == size
        assert h5py.h5f.get_freespace(f.id) == 0 if hasattr(h5py.h5f, "get_freespace") else f.id.get_freespace() == 0
        for refused in (f.id.get_vfd_handle, f.id.get_file_image):
            with pytest.raises((RuntimeError, NotImplementedError), match="a Zarr store"):
                refused()
        f["a"].refresh(), f["a"].flush(), f.id.get_mdc_config(), f.id.get_mdc_hit_rate(), f.id.get_mdc_size()


def test_only_an_attribute_or_a_type_is_left_open(store):
    f = h5py.File(store, "w")
    f["t"] = np.dtype("i4")
    f.attrs["k"] = 1
    kept = h5py.h5a.open(f.id, b"k")
    f.id.close()
    del f, kept
    with h5py.File(store, "r") as f:
        assert f.attrs["k"] == 1 and f["t"].dtype == np.dtype("i4")


def test_closing_strongly_saves_what_is_open(store):
    fapl = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    fapl.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
    f = h5py.File(h5py.h5f.create(os.fsencode(store), h5py.h5f.ACC_TRUNC, fapl=fapl))
    a = f.create_dataset("a", data=np.arange(10))
    a[3] = 9
    f.id.close()
    assert values(store)[:5] == [0, 1, 2, 9, 4]


def test_four_hundred_openings_leave_nothing_behind(made):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(400):
        with h5py.File(made, "r") as f:
            assert f["a"][3] == 3
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_killed_writer_leaves_what_it_flushed(store):
    code = OPEN + """
f = h5py.File(store, "w")
f.create_dataset("a", data=np.arange(1000), chunks=(10,))
f.attrs["k"] = 1
f.flush()
f.attrs["k"] = 2
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", code, store], env=environment(), timeout=120)
    assert done.returncode == -signal.SIGKILL
    with h5py.File(store, "r+") as f:
        assert f.attrs["k"] == 1 and f["a"][...].tolist() == list(range(1000))
        f["b"] = 1


def test_a_forked_child_reads_afresh_and_never_writes_what_it_inherited(store):
    code = OPEN + """
f = h5py.File(store, "w")
a = f.create_dataset("a", data=np.arange(100), chunks=(10,))
f.flush()
a[5] = 50
f.attrs["v"] = 1
ready, go = os.pipe()
pid = os.fork()
if pid == 0:
    os.read(ready, 1)
    assert a[5] == 50
    try:
        a[6] = 1
        os._exit(1)
    except OSError:
        pass
    with h5py.File(store, "r") as g:
        assert g["a"][5] == 51 and g.attrs["v"] == 2
    with h5py.File(store, "r+") as g:
        g["child"] = 1
    sys.exit(0)
a[5] = 51
f.attrs["v"] = 2
f.flush()
os.write(go, b"x")
assert os.waitpid(pid, 0)[1] == 0
a[7] = 77
f.close()
with h5py.File(store) as f:
    assert f["a"][5] == 51 and f["a"][7] == 77 and f.attrs["v"] == 2 and "child" in f
print("good")
"""
    assert run_python(code, store) == "good\n"


def test_nothing_is_taken_for_absent_while_the_store_is_elsewhere(store):
    with h5py.File(store, "w") as f:
        f["a"], f["g/b"] = 1, 2
    with h5py.File(store) as f:
        os.rename(store, store + ".elsewhere")
        for look in (lambda: f["a"], lambda: f["g/b"], lambda: f.get("a", getlink=True), lambda: list(f), lambda: f["none"]):
            with pytest.raises((KeyError, OSError, RuntimeError), match="has been removed while it was open"):
                look()
        os.rename(store + ".elsewhere", store)
        assert f["a"][()] == 1 and f["g/b"][()] == 2 and "none" not in f


def test_a_forked_child_reads_through_what_it_inherited_and_what_it_opens(store):
    code = """
import h5py, os, sys
f = h5py.File(sys.argv[1])
pid = os.fork()
if pid == 0:
    for again in range(2):
        g = h5py.File(sys.argv[1])
        read = [[h["a"][...].tolist(), h["g/text"].asstr()[0], h["g"].attrs["x"]] for h in (f, g, f)]
        if read != 3 * [[[1, 2, 3], "abc", 4]]:
            print(read, flush=True)
            os._exit(1)
        g.close()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
assert f["a"][1] == 2
"""
    with h5py.File(store, "w") as f:
        f["a"], f["g/text"] = [1, 2, 3], ["abc"]
        f["g"].attrs["x"] = 4
    for connector in ("zarr", None):
        run_python(code, store, connector=connector)


def test_forked_workers_read_in_parallel(store):
    code = OPEN + """
import multiprocessing
with h5py.File(store, "w") as f:
    f.create_dataset("a", data=np.arange(100_000), chunks=(1000,), compression="gzip")
f = h5py.File(store, "r")
f["a"][:10]
def total(start):
    with h5py.File(store, "r") as g:
        return int(g["a"][start:start + 10_000].sum())
with multiprocessing.get_context("fork").Pool(3) as pool:
    assert sum(pool.map(total, range(0, 100_000, 10_000))) == sum(range(100_000))
print("good")
"""
    assert run_python(code, store) == "good\n"


def test_threads_read_at_once(store):
    data = np.arange(250_000).reshape(500, 500)
    with h5py.File(store, "w") as f:
        f.create_dataset("a", data=data, chunks=(50, 50), compression="gzip")
    with h5py.File(store, "r") as f, ThreadPoolExecutor(8) as pool:

        def right(i):
            if i % 3:
                return (f["a"][i:i + 300] == data[i:i + 300]).all()
            with h5py.File(store, "r") as g:
                return (g["a"][i] == data[i]).all()

        assert all(pool.map(right, range(100)))


def test_attributes_one_by_one_are_stored_together(store):
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    code = OPEN + """
with h5py.File(store, "w") as f:
    f["a"] = np.arange(3)
    for i in range(1000):
        f.attrs[f"n{i}"] = i
        f["a"].attrs[f"n{i}"] = i
"""
    trace = store + ".trace"
    subprocess.run([strace, "-f", "-e", "trace=rename,renameat,renameat2,linkat", "-o", trace, sys.executable, "-c", code,
                    store], env=environment(), check=True, timeout=120)
    with open(trace) as lines:
        assert sum("zarr.json" in line for line in lines) <= 10


def test_what_waits_to_be_stored_is_bounded(store):
    code = OPEN + """
f = h5py.File(store, "w")
for i in range(2500):
    f.create_group(f"g{i:04}").attrs["i"] = i
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", code, store], env=environment(), timeout=120)
    assert done.returncode == -signal.SIGKILL
    with h5py.File(store, "r") as f:
        assert len(f) >= 1000
        assert all(f[f"g{i:04}"].attrs["i"] == i for i in range(1000))


INTERRUPTED = OPEN + """
import signal
data = np.arange(1_000_000, dtype="i8").reshape(1000, 1000)
f = h5py.File(store, "w" if sys.argv[2] == "write" else "r")
if sys.argv[2] == "write":
    a = f.create_dataset("a", data=data, chunks=(100, 100), compression="gzip", compression_opts=1)
# Not KeyboardInterrupt: Python may lose one in h5py's destructors.
came = []
signal.signal(signal.SIGINT, lambda *_: came.append(True))
print("started", flush=True)
while not came:
    if sys.argv[2] == "write":
        a[...] = data
    else:
        assert (f["a"][...] == data).all()
f.close()
print("interrupted")
"""


@pytest.mark.parametrize("suffix", ["zarr", "h5"])
def test_an_interrupt_arrives_between_calls_and_leaves_a_good_store(tmp_path, suffix):
    path = str(tmp_path / f"store.{suffix}")
    for what in "write", "read":
        program = subprocess.Popen([sys.executable, "-c", INTERRUPTED, path, what], env=environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert program.stdout.readline() == "started\n"
        program.send_signal(signal.SIGINT)
        said, errors = program.communicate(timeout=120)
        assert (said, errors, program.returncode) == ("interrupted\n", "", 0)
        with h5py.File(path, "r") as f:
            assert (f["a"][...] == np.arange(1_000_000).reshape(1000, 1000)).all()


def test_new_files_follow_the_umask(store):
    old = os.umask(0o027)
    try:
        with h5py.File(store, "w") as f:
            f["g/a"] = np.arange(6)
    finally:
        os.umask(old)
    for folder, folders, files in os.walk(store):
        assert all(os.stat(os.path.join(folder, name)).st_mode & 0o777 == 0o750 for name in folders)
        assert all(os.stat(os.path.join(folder, name)).st_mode & 0o777 == 0o640 for name in files)


def test_a_link_to_a_store_is_the_store(made, tmp_path):
    link = str(tmp_path / "link.zarr")
    os.symlink(made, link)
    with h5py.File(link, "r") as f, h5py.File(made, "r") as g:
        assert f["a"] == g["a"]
    with h5py.File(link, "w") as f:
        f["b"] = 1
    assert os.path.islink(link)
    with h5py.File(made, "r") as f:
        assert list(f) == ["b"]


def test_reading_never_changes_a_store_whatever_is_asked(made):
    before = tree(made)
    with h5py.File(made, "r") as f:
        f["a"].id.get_num_chunks(), f["a"].id.get_storage_size(), f.visititems(lambda name, item: None)
        f.flush()
    assert tree(made) == before
