"""The key `mirror` of the configuration: programs that know nothing of it, whose files are mirrored as they write."""
import os
import sys

import h5py
import numpy as np
import pytest
import zarr

from mirror_support import group_at, open_repository
from support import run, run_python, tool

pytest.importorskip("icechunk", reason="no icechunk in this environment")

WRITE = """
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as f:
    f.create_dataset("a", data=np.arange(100.), chunks=(10,), compression="gzip").attrs["units"] = "m"
    f["g/text"] = "zwölf"
"""


def mirrored_by(folder, more=""):
    return f"zarr mirror={folder}{more}"


def history(folder):
    """How many states there are."""
    return len(list(open_repository(folder).ancestry(branch="main"))) - 1


NAMES = pytest.mark.parametrize("name", ["x.h5", "x.zarr"])


@NAMES
def test_a_closed_file_is_mirrored(tmp_path, name):
    run_python(WRITE, tmp_path / name, connector=mirrored_by(tmp_path / "m"))
    group = group_at(tmp_path / "m")
    np.testing.assert_array_equal(group["a"][...], np.arange(100.))
    assert group["a"].attrs["units"] == "m" and group["g/text"][()] == "zwölf"
    assert history(tmp_path / "m") == 1


@NAMES
def test_each_session_that_changes_something_is_a_state(tmp_path, name):
    connector = mirrored_by(tmp_path / "m")
    run_python(WRITE, tmp_path / name, connector=connector)
    run_python("""
import sys, h5py
with h5py.File(sys.argv[1], "r+") as f:
    f["a"][5] = -1
with h5py.File(sys.argv[1], "r+") as f:
    f["a"][5]
with h5py.File(sys.argv[1], "r") as f:
    f["a"][5]
""", tmp_path / name, connector=connector)
    assert history(tmp_path / "m") == 2
    assert group_at(tmp_path / "m")["a"][5] == -1


@NAMES
def test_a_flush_is_a_state(tmp_path, name):
    run_python("""
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as f:
    f["a"] = np.arange(30)
    f.flush()
    f["a"][0] = 7
    f.create_group("later")
    h5py.h5f.flush(f["a"].id)
    f["a"][1] = 8
""", tmp_path / name, connector=mirrored_by(tmp_path / "m"))
    assert history(tmp_path / "m") == 3
    states = [zarr.open_group(open_repository(tmp_path / "m").readonly_session(snapshot_id=state.id).store, mode="r")
              for state in list(open_repository(tmp_path / "m").ancestry(branch="main"))[:3]]
    assert [list(group["a"][:2]) for group in states] == [[7, 8], [7, 1], [0, 1]]
    assert ["later" in group for group in states] == [True, True, False]


@NAMES
def test_what_is_left_open_at_exit_is_mirrored(tmp_path, name):
    run_python("""
import sys, h5py, numpy as np
f = h5py.File(sys.argv[1], "w")
f["a"] = np.arange(30)
a = f["a"]
""", tmp_path / name, connector=mirrored_by(tmp_path / "m"))
    np.testing.assert_array_equal(group_at(tmp_path / "m")["a"][...], np.arange(30))


@NAMES
def test_only_the_last_of_several_handles_mirrors(tmp_path, name):
    run_python("""
import os, sys, h5py, numpy as np
f = h5py.File(sys.argv[1], "w")
again = h5py.File(sys.argv[1], "r+")
f["a"] = np.arange(30)
f.close()
assert not os.path.exists(sys.argv[2])
again["a"][0] = 5
again.close()
assert os.path.exists(sys.argv[2])
""", tmp_path / name, tmp_path / "m", connector=mirrored_by(tmp_path / "m"))
    assert group_at(tmp_path / "m")["a"][0] == 5 and history(tmp_path / "m") == 1


def test_versions_of_versioned_hdf5_are_mirrored_as_versions(tmp_path):
    pytest.importorskip("versioned_hdf5", reason="no versioned-hdf5 in this environment")
    code = """
import sys, h5py, numpy as np
from versioned_hdf5 import VersionedHDF5File
for name in ("v1", "v2", "v3"):
    with h5py.File(sys.argv[1], "a") as f:
        with VersionedHDF5File(f).stage_version(name) as new:
            if name == "v1":
                new.create_dataset("a", data=np.arange(100), chunks=(10,))
            else:
                new["a"][int(name[1])] = -1
"""
    run_python(code, tmp_path / "x.h5", connector=mirrored_by(tmp_path / "m"))
    assert open_repository(tmp_path / "m").list_tags() == {"v1", "v2", "v3"}
    expected = np.arange(100)
    for tag, changed in (("v1", []), ("v2", [2]), ("v3", [3])):
        expected[changed] = -1
        np.testing.assert_array_equal(group_at(tmp_path / "m", tag=tag)["a"][...], expected)


def test_the_program_and_its_file_are_as_without_a_mirror(tmp_path):
    """Bytes, output, and what HDF5 says of its open objects."""
    code = WRITE + """
import os
with h5py.File(sys.argv[1], "r+") as f:
    f.flush()
    print(h5py.h5f.get_obj_count(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_ALL), sorted(f), dict(f["a"].attrs))
    try:
        f["missing"]
    except KeyError as error:
        print(error)
    f["a"][3] = 9
print(h5py.h5f.get_obj_count(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_ALL))
"""
    plain = run_python(code, tmp_path / "plain.h5")
    mirrored = run_python(code, tmp_path / "mirrored.h5", connector=mirrored_by(tmp_path / "m"))
    assert mirrored == plain
    assert (tmp_path / "mirrored.h5").read_bytes() == (tmp_path / "plain.h5").read_bytes()
    assert history(tmp_path / "m") == 2


def test_a_mirror_that_fails_is_told_and_nothing_else_changes(tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m/letter.txt").write_text("not a repository")
    done = run([sys.executable, "-c", WRITE, tmp_path / "x.h5"], connector=mirrored_by(tmp_path / "m"))
    assert done.returncode == 0
    assert "is not mirrored" in done.stderr and "letter.txt" in done.stderr and done.stderr.count("\n") == 1
    with h5py.File(tmp_path / "x.h5") as f:
        assert f["a"].shape == (100,)


@NAMES
def test_where_the_user_says_so_a_failed_mirror_fails_flush_and_close(tmp_path, name):
    (tmp_path / "m").mkdir()
    (tmp_path / "m/letter.txt").write_text("not a repository")
    run_python("""
import os, sys, h5py, numpy as np
f = h5py.File(sys.argv[1], "w")
f["a"] = np.arange(30)
for call in (f.flush, f.close):
    try:
        call()
        raise SystemExit("no failure")
    except (OSError, RuntimeError) as error:
        assert "letter.txt" in str(error), error
assert f["a"][3] == 3, "nothing was closed"
os.remove(sys.argv[2] + "/letter.txt")
f.close()
""", tmp_path / name, tmp_path / "m", connector=mirrored_by(tmp_path / "m", ";mirror_on_error=fail"))
    np.testing.assert_array_equal(group_at(tmp_path / "m")["a"][...], np.arange(30))


def test_a_failed_open_leaves_the_error_that_it_had(tmp_path):
    code = """
import sys, h5py
with h5py.File(sys.argv[1], "w") as f:
    pass
try:
    h5py.File(sys.argv[2])
except FileNotFoundError as error:
    print(str(error).replace(sys.argv[2], ""))
"""
    assert run_python(code, tmp_path / "x.h5", tmp_path / "missing.h5", connector=mirrored_by(tmp_path / "m")) == \
        run_python(code, tmp_path / "y.h5", tmp_path / "missing.h5")


@NAMES
def test_a_forked_child_mirrors_nothing_of_its_parent(tmp_path, name):
    run_python("""
import os, sys, h5py, numpy as np
f = h5py.File(sys.argv[1], "w")
f["a"] = np.arange(30)
f.flush()
pid = os.fork()
if pid == 0:
    os._exit(0 if h5py.h5i.get_type(f.id) else 1)
assert os.waitpid(pid, 0)[1] == 0
pid = os.fork()
if pid == 0:
    f.close()
    os._exit(0)
os.waitpid(pid, 0)
f["a"][0] = 9
f.close()
""", tmp_path / name, connector=mirrored_by(tmp_path / "m"))
    assert history(tmp_path / "m") == 2 and group_at(tmp_path / "m")["a"][0] == 9


def test_a_name_that_ends_in_a_slash_is_a_folder_of_mirrors(tmp_path):
    (tmp_path / "mirrors").mkdir()
    for name in ("x.h5", "y.h5"):
        run_python(WRITE, tmp_path / name, connector=mirrored_by(f"{tmp_path}/mirrors/"))
    assert sorted(os.listdir(tmp_path / "mirrors")) == ["x.h5.icechunk", "y.h5.icechunk"]
    assert history(tmp_path / "mirrors/y.h5.icechunk") == 1


def test_a_file_of_another_name_does_not_take_a_mirror_over(tmp_path):
    run_python(WRITE, tmp_path / "x.h5", connector=mirrored_by(tmp_path / "m"))
    done = run([sys.executable, "-c", WRITE, tmp_path / "y.h5"], connector=mirrored_by(tmp_path / "m"))
    assert done.returncode == 0 and "a state of 'x.h5'" in done.stderr
    assert history(tmp_path / "m") == 1


def test_mirrors_of_the_environment_and_of_c_programs(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f.create_dataset("a", data=np.arange(1000), chunks=(100,))
    done = run([tool("h5repack"), "-f", "GZIP=4", tmp_path / "x.h5", tmp_path / "y.h5"],
               H5ZARR_MIRROR=str(tmp_path / "m"))
    assert done.returncode == 0 and done.stderr == ""
    np.testing.assert_array_equal(group_at(tmp_path / "m")["a"][...], np.arange(1000))
    run_python(WRITE, tmp_path / "z.h5", connector=mirrored_by("off"), H5ZARR_MIRROR=str(tmp_path / "other"))
    assert not (tmp_path / "other").exists()


def test_virtual_and_variable_length_data_are_mirrored(tmp_path):
    (tmp_path / "mirrors").mkdir()
    run_python("""
import sys, h5py, numpy as np
with h5py.File(sys.argv[1] + "/source.h5", "w") as f:
    f["part"] = np.arange(10)
with h5py.File(sys.argv[1] + "/x.h5", "w") as f:
    layout = h5py.VirtualLayout(shape=(2, 10), dtype="i8")
    layout[1] = h5py.VirtualSource("source.h5", "part", shape=(10,))
    f.create_virtual_dataset("v", layout, fillvalue=-1)
    f["text"] = np.array(["a", "bc", "😀"], dtype=object)
""", tmp_path, connector=mirrored_by(f"{tmp_path}/mirrors/"))
    group = group_at(tmp_path / "mirrors/x.h5.icechunk")
    np.testing.assert_array_equal(group["v"][...], [[-1] * 10, list(range(10))])
    assert list(group["text"][...]) == ["a", "bc", "😀"]
