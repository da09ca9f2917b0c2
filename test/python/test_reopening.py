"""A store that is opened again and again: what was made of it is used again, unless anything of it has changed."""
import json
import os
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest
import zarr

from support import environment, run_python


@pytest.fixture(params=[3, 2])
def made(request, store):
    root = zarr.open_group(store, mode="w", zarr_format=request.param)
    root.attrs["k"] = 1
    array = root.create_array("a", data=np.arange(100), chunks=(10,), compressors=None)
    array.attrs["unit"] = "m"
    group = root.create_group("g")
    group.create_array("b", data=np.arange(5.0), chunks=(5,))
    return store


def look(store, **how):
    """Opens a store, looks at this and that, and says by which number HDF5 knew the file."""
    with h5py.File(store, "r", **how) as f:
        assert f["a"].shape[0] >= 100 and f["g/b"][2] == 2.0
        return h5py.h5o.get_info(f.id).fileno


def rest(store):
    """Opens it often enough for it to stay; returns its number."""
    look(store)
    number = look(store)
    assert look(store) == number
    return number


def document_of(store, path):
    names = ("zarr.json", ".zarray", ".zgroup")
    return next(p for p in (os.path.join(store, path, name) for name in names) if os.path.exists(p))


def attributes_of(store, path):
    v3 = os.path.join(store, path, "zarr.json")
    return v3 if os.path.exists(v3) else os.path.join(store, path, ".zattrs")


def test_it_is_made_once_for_many_opens(made):
    number = rest(made)
    assert all(look(made) == number for _ in range(5))


def test_nothing_of_it_is_open_meanwhile(made):
    def open_objects():
        return h5py.h5f.get_obj_count(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_ALL)

    before = open_objects()
    rest(made)
    assert open_objects() == before
    assert not [name for name in os.listdir("/proc/self/fd")
                if os.path.realpath(f"/proc/self/fd/{name}").startswith(made)]


def test_elements_that_changed_are_read(made):
    number = rest(made)
    zarr.open_group(made, mode="r+")["a"][3] = 33
    with h5py.File(made, "r") as f:
        assert h5py.h5o.get_info(f.id).fileno == number and f["a"][3] == 33


@pytest.mark.parametrize("path", ["", "a", "g"])
def test_an_attribute_that_changed_is_read_though_size_and_time_are_the_same(made, path):
    with zarr.config.set({}):
        zarr.open(made, mode="r+", path=path).attrs["k"] = 1
    number = rest(made)
    document = attributes_of(made, path)
    before = os.stat(document)
    with open(document) as file:
        text = file.read()
    changed = text.replace('"k": 1', '"k": 2')
    assert changed != text
    with open(document, "r+") as file:
        file.write(changed)
    os.utime(document, ns=(before.st_atime_ns, before.st_mtime_ns))
    with h5py.File(made, "r") as f:
        assert f["/" + path].attrs["k"] == 2
        assert h5py.h5o.get_info(f.id).fileno != number


def test_a_shape_that_changed_is_read(made):
    rest(made)
    zarr.open_group(made, mode="r+")["a"].resize((120,))
    with h5py.File(made, "r") as f:
        assert f["a"].shape == (120,) and f["a"][110] == 0


def test_what_was_added_is_found(made):
    rest(made)
    zarr.open_group(made, mode="r+").create_array("new", data=np.arange(3))
    with h5py.File(made, "r") as f:
        assert f["new"][...].tolist() == [0, 1, 2]


def test_what_was_removed_is_not_found(made):
    rest(made)
    shutil.rmtree(os.path.join(made, "g"))
    with h5py.File(made, "r") as f:
        assert "g" not in f and f["a"][5] == 5


def test_what_was_not_there_and_was_added_is_found(made):
    for _ in range(3):
        with h5py.File(made, "r") as f:
            assert "later" not in f
    zarr.open_group(made, mode="r+").create_array("later", data=np.arange(3))
    with h5py.File(made, "r") as f:
        assert f["later"][1] == 1


@pytest.mark.parametrize("path", ["", "g"])
def test_a_list_of_names_is_that_of_now(made, path):
    def names():
        with h5py.File(made, "r") as f:
            return list(f["/" + path]), h5py.h5o.get_info(f.id).fileno

    names()
    before = names()
    assert names() == before
    zarr.open_group(made, mode="r+").create_group(f"{path}/z")
    after = names()
    assert after[0] == before[0] + ["z"] and after[1] != before[1]
    shutil.rmtree(os.path.join(made, path, "z"))
    assert names()[0] == before[0]


def test_what_is_in_a_folder_without_a_document_is_that_of_now(store):
    zarr.open_group(store, mode="w").create_array("g/h/a", data=np.arange(3))
    os.remove(os.path.join(store, "g", "zarr.json"))
    for number in range(3):
        with h5py.File(store, "r") as f:
            assert list(f["g"]) == ["h"] and f["g/h/a"][1] == 1
    os.makedirs(os.path.join(store, "g", "more"))
    shutil.copytree(os.path.join(store, "g/h/a"), os.path.join(store, "g/more/b"))
    with h5py.File(store, "r") as f:
        assert list(f["g"]) == ["h", "more"] and list(f["g/more"]) == ["b"]
    shutil.rmtree(os.path.join(store, "g"))
    with h5py.File(store, "r") as f:
        assert list(f) == []


def test_a_store_that_was_removed_is_gone(made):
    rest(made)
    shutil.rmtree(made)
    with pytest.raises(FileNotFoundError):
        h5py.File(made, "r")


def test_another_store_in_its_place_is_another(made, tmp_path):
    number = rest(made)
    os.rename(made, tmp_path / "old.zarr")
    root = zarr.open_group(made, mode="w")
    root.create_array("a", data=np.arange(200), chunks=(10,))
    root.create_array("g/b", data=np.arange(5.0))
    assert look(made) != number
    with h5py.File(made, "r") as f:
        assert f["a"].shape == (200,)


def test_an_hdf5_file_in_its_place_is_one(made):
    rest(made)
    shutil.rmtree(made)
    with h5py.File(made + ".new", "w") as f:
        f["a"] = 7
    os.rename(made + ".new", made)
    with h5py.File(made, "r") as f:
        assert f["a"][()] == 7


def test_writing_between_two_readings(made):
    rest(made)
    for value in (2, 3):
        with h5py.File(made, "r+") as f:
            f.attrs["k"] = value
            f["a"][0] = value
            f.create_dataset(f"new{value}", data=value)
        with h5py.File(made, "r") as f:
            assert f.attrs["k"] == value and f["a"][0] == value and f[f"new{value}"][()] == value
        look(made)


def test_what_is_written_and_not_saved_yet_is_no_readers(made):
    rest(made)
    with h5py.File(made, "r+") as writer:
        writer.attrs["k"] = 5
        with h5py.File(made, "r") as reader:  # the same file, as HDF5 has it
            assert reader.attrs["k"] == 5
    with h5py.File(made, "r") as f:
        assert f.attrs["k"] == 5


def test_another_store_that_is_written_meanwhile_makes_no_difference(made, tmp_path):
    with h5py.File(tmp_path / "log.zarr", "w") as log:
        number = rest(made)
        log["seen"] = number
        assert look(made) == number


def test_another_access_list_is_heeded(made):
    rest(made)
    with h5py.File(made, "r", rdcc_nbytes=12345, libver=("v110", "latest")) as f:
        assert f.id.get_access_plist().get_cache()[2] == 12345
        assert f.libver[0] == "v110"
    with h5py.File(made, "r") as f:
        assert f.id.get_access_plist().get_cache()[2] != 12345
        assert f.libver[0] == "earliest"


def test_another_spelling_is_the_files_name(made, monkeypatch):
    rest(made)
    monkeypatch.chdir(os.path.dirname(made))
    with h5py.File(os.path.basename(made), "r") as f:
        assert f.filename == os.path.basename(made)


def test_objects_that_outlive_their_file_keep_working(made):
    fapl = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    for value in range(6):
        zarr.open_group(made, mode="r+")["a"][99] = value
        f = h5py.h5f.open(made.encode(), h5py.h5f.ACC_RDONLY, fapl)
        a = h5py.h5d.open(f, b"a")
        if value >= 3:
            f.close()
        out = np.empty(100, "i8")
        a.read(h5py.h5s.ALL, h5py.h5s.ALL, out)
        assert out[99] == value
        del a
        f.close() if value < 3 else None


def test_it_is_made_anew_in_its_place(made):
    rest(made)
    with h5py.File(made, "w") as f:
        f["a"] = np.arange(120)
        f["g/b"] = np.arange(5.0)
    with h5py.File(made, "r") as f:
        assert f["a"].shape == (120,) and "k" not in f.attrs


def test_two_files_at_once(made):
    rest(made)
    for _ in range(3):
        with h5py.File(made, "r") as f, h5py.File(made, "r") as g:
            assert f == g and f["a"][1] == 1
            f.close()
            assert g["a"][2] == 2


def test_another_store_that_is_opened_while_it_is_open(made, tmp_path):
    other = str(tmp_path / "other.zarr")
    shutil.copytree(made, other)
    for _ in range(4):
        rest(made)
        with h5py.File(made, "r") as f:
            look(other)
            assert f["a"][4] == 4
        shutil.rmtree(made)
        shutil.copytree(other, made)
        with h5py.File(made, "r+") as f:  # its shadow cannot be made while an earlier one is there
            assert f["a"][5] == 5
        f = h5py.File(made, "r")
        a = f["a"]
        f.close()
        look(other)
        look(other)
        assert not a
        look(made)


@pytest.mark.parametrize("below", [True, False])
def test_it_may_be_mounted(made, tmp_path, below):
    other = str(tmp_path / "other.zarr")
    shutil.copytree(made, other)
    for _ in range(3):
        rest(made)
        with h5py.File(made, "r") as f, h5py.File(other, "r") as g:
            outer, inner = (g, f) if below else (f, g)
            h5py.h5f.mount(outer.id, b"g", inner.id)
            assert outer["g/a"][5] == 5 and outer["g/g/b"][1] == 1
            h5py.h5f.unmount(outer.id, b"g")
            assert outer["g/b"][1] == 1
        with h5py.File(made, "r+") as f:
            assert f["a"][6] == 6


def test_a_chunk_cache_does_not_outlive_the_file(made):
    with h5py.File(made, "r") as f:
        assert f["a"][3] == 3
    for value in range(4):
        with h5py.File(made, "r") as f:
            f["a"][3]
        zarr.open_group(made, mode="r+")["a"][3] = value
        with h5py.File(made, "r") as f:
            assert f["a"][3] == value


def test_a_child_process_opens_it_itself(made):
    number = rest(made)
    child = os.fork()
    if child == 0:
        try:
            with h5py.File(made, "r") as f:
                right = f["a"][7] == 7
            with h5py.File(made, "r+") as f:
                f.attrs["k"] = 9
            os._exit(0 if right else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with h5py.File(made, "r") as f:
        assert f.attrs["k"] == 9 and h5py.h5o.get_info(f.id).fileno != number


@pytest.mark.parametrize("end", ["", "f = h5py.File(store, 'r')", "f = h5py.File(store, 'r'); a = f['a']"])
def test_a_program_ends_quietly_while_one_rests(made, end):
    code = f"""
import sys, h5py
store = sys.argv[1]
for _ in range(4):
    with h5py.File(store, "r") as f: f["a"][0]
{end}
"""
    done = subprocess.run([sys.executable, "-c", code, made], capture_output=True, text=True, timeout=60,
                          env=environment())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_library_may_close_while_one_rests(made):
    code = """
import ctypes, sys, h5py
store = sys.argv[1]
library = next(line.split()[-1] for line in open("/proc/self/maps") if "libhdf5-" in line or "libhdf5.so" in line)
hdf5 = ctypes.CDLL(library)
hdf5.H5Fopen.restype = hdf5.H5Dopen2.restype = ctypes.c_int64
hdf5.H5Fopen.argtypes = [ctypes.c_char_p, ctypes.c_uint, ctypes.c_int64]
hdf5.H5Dopen2.argtypes = [ctypes.c_int64, ctypes.c_char_p, ctypes.c_int64]
hdf5.H5Fclose.argtypes = hdf5.H5Dclose.argtypes = [ctypes.c_int64]
for _ in range(2):
    for _ in range(4):
        f = hdf5.H5Fopen(store.encode(), 0, 0)
        d = hdf5.H5Dopen2(f, b"a", 0)
        assert f > 0 and d > 0
        assert hdf5.H5Dclose(d) == 0 and hdf5.H5Fclose(f) == 0
    assert hdf5.H5close() == 0
"""
    assert run_python(code, made) == ""


def test_memory_does_not_grow_with_opens(made):
    code = """
import os, sys, h5py
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
def times(count):
    for i in range(count):
        with h5py.File(sys.argv[1], "r") as f: f["a"][i % 100]
times(300)
before = resident()
times(3000)
print(resident() - before)
"""
    assert int(run_python(code, made)) < 2 << 20


def test_a_document_of_json_is_read_again_and_may_be_damaged(made):
    rest(made)
    with open(document_of(made, "a"), "w") as file:
        json.dump({"zarr_format": 3}, file)
    with h5py.File(made, "r") as f:
        with pytest.raises((KeyError, OSError)):
            f["a"][...]
