"""`h5zarr mirror` of what has no versions: states of HDF5 files and Zarr stores in an Icechunk repository, compared
through icechunk, zarr-python and xarray, through h5py under the plugin, and with the source itself."""
import os
import random
import re
import shutil
import signal
import subprocess
import time

import h5py
import numpy as np
import pytest
import zarr

from command_support import COMMAND, h5zarr, h5zarr_json, needs_command
from mirror_support import group_at, objects, open_repository
from one_of_each import write
from support import environment, run_python

pytest.importorskip("icechunk", reason="no icechunk in this environment")

pytestmark = needs_command


def change(path, code, **env):
    run_python("import sys, h5py, numpy as np\nwith h5py.File(sys.argv[1], 'r+') as f:\n    " + code, path,
               **({"plugin": False, "connector": None} | env))


def mirror(source, folder, *words, **options):
    return h5zarr_json("mirror", source, folder, *words, **options)


@pytest.fixture(params=["x.h5", "x.zarr", "x2.zarr"])
def source(request, tmp_path):
    if request.param == "x.h5":
        return write(tmp_path / "x.h5")
    format_ = "zarr zarr_format=2" if request.param == "x2.zarr" else "zarr"
    return write(tmp_path / request.param, plugin=True, connector=format_)


def test_a_state_is_the_source_again(source, tmp_path):
    done = mirror(source, tmp_path / "m", "--verify")
    assert done["added"] == 1
    assert h5zarr("diff", source, tmp_path / "m").stdout == ""
    assert h5zarr("diff", source, f"{tmp_path}/m@{done['tag']}").stdout == ""


def test_other_readers_open_a_state(source, tmp_path):
    mirror(source, tmp_path / "m")
    group = group_at(tmp_path / "m")
    np.testing.assert_array_equal(group["a"][...], np.arange(6000.).reshape(60, 100))
    np.testing.assert_array_equal(group["plain"][...], np.arange(10))
    assert group["scalar"][()] == 3.5
    assert list(group["text"][...]) == ["a", "", "😀"]
    assert group["a"].metadata.dimension_names[1] == "x" and group["a"].attrs["text"] == "zwölf"
    assert list(group["z/deep"].attrs["level"]) == [1, 2]


@pytest.mark.filterwarnings("ignore")
def test_xarray_opens_a_state(tmp_path):
    xarray = pytest.importorskip("xarray")
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as f:
        f["a"] = np.arange(6.).reshape(2, 3)
        f.create_dataset("b", data=np.arange(30), chunks=(7,), compression="gzip")
    mirror(path, tmp_path / "m")
    data = xarray.open_zarr(open_repository(tmp_path / "m").readonly_session(branch="main").store, consolidated=False)
    np.testing.assert_array_equal(data["a"], np.arange(6.).reshape(2, 3))
    np.testing.assert_array_equal(data["b"], np.arange(30))


def test_a_second_run_writes_nothing(source, tmp_path):
    first = mirror(source, tmp_path / "m")
    before = objects(tmp_path / "m")
    second = mirror(source, tmp_path / "m")
    assert second["added"] == second["objects_written"] == second["bytes_written"] == 0
    assert second["tag"] == first["tag"]
    assert objects(tmp_path / "m") == before


def wait_until_old(path):
    """A file's times tell a change only where it does not follow at once."""
    while time.time() - max(os.stat(path).st_mtime, os.stat(path).st_ctime) < 1.1:
        time.sleep(0.05)


def test_a_file_that_nobody_touched_is_not_read_again(tmp_path):
    source = write(tmp_path / "x.h5")
    wait_until_old(source)
    first = mirror(source, tmp_path / "m")
    assert first["source_read"] and first["added"] == 1
    again = mirror(source, tmp_path / "m")
    assert not again["source_read"] and again["objects_written"] == 0 and again["tag"] == first["tag"]
    # One that is as old and as long as it was, but another.
    was = os.stat(source)
    change(source, "f['scalar'][()] = 4.5")
    os.utime(source, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert os.stat(source).st_size == was.st_size
    assert mirror(source, tmp_path / "m")["added"] == 1
    assert group_at(tmp_path / "m")["scalar"][()] == 4.5


def test_a_file_that_was_just_written_is_read_again(tmp_path):
    source = write(tmp_path / "x.h5")
    change(source, "f['scalar'][()] = 4.5")
    mirror(source, tmp_path / "m")
    assert mirror(source, tmp_path / "m")["source_read"]


def test_a_file_with_elements_of_other_files_is_read_again(tmp_path):
    with h5py.File(tmp_path / "part.h5", "w") as f:
        f["a"] = np.arange(10)
    with h5py.File(tmp_path / "x.h5", "w") as f:
        layout = h5py.VirtualLayout((10,), "i8")
        layout[:] = h5py.VirtualSource(tmp_path / "part.h5", "a", (10,))
        f.create_virtual_dataset("all", layout)
    wait_until_old(tmp_path / "x.h5")
    mirror(tmp_path / "x.h5", tmp_path / "m")
    with h5py.File(tmp_path / "part.h5", "r+") as f:
        f["a"][3] = -1
    assert mirror(tmp_path / "x.h5", tmp_path / "m")["added"] == 1
    assert group_at(tmp_path / "m")["all"][3] == -1


def test_a_file_that_tracks_times_makes_no_snapshot_of_its_own_accord(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver="v110") as f:
        f.create_dataset("a", data=np.arange(10), track_times=True)
        f.create_group("g")
    mirror(path, tmp_path / "m")
    time.sleep(1.1)  # times are in seconds
    assert mirror(path, tmp_path / "m")["objects_written"] == 0


def test_changed_chunks_are_stored_and_nothing_twice(tmp_path):
    source = write(tmp_path / "x.h5")
    first = mirror(source, tmp_path / "m")
    change(source, "f['big'][::100000] = -1")
    second = mirror(source, tmp_path / "m")
    assert second["added"] == 1 and second["chunks_added"] == 4
    assert second["chunk_bytes_added"] <= 4 * 8000
    # Pack, manifest, log and snapshot; branch and tag.
    assert second["objects_written"] == 6
    tags = open_repository(tmp_path / "m").list_tags()
    assert tags == {first["tag"], second["tag"]}
    expected = np.arange(400000)
    np.testing.assert_array_equal(group_at(tmp_path / "m", tag=first["tag"])["big"][...], expected)
    expected[::100000] = -1
    np.testing.assert_array_equal(group_at(tmp_path / "m", tag=second["tag"])["big"][...], expected)
    # What was there before is there again: not a chunk more.
    change(source, "f['big'][...] = np.arange(400000)")
    assert mirror(source, tmp_path / "m")["chunks_added"] == 0


def test_an_attribute_alone_is_a_change(source, tmp_path):
    mirror(source, tmp_path / "m")
    env = {} if source.suffix == ".h5" else {"plugin": True, "connector": "zarr"}
    change(source, "f['a'].attrs['text'] = 'dreizehn'", **env)
    second = mirror(source, tmp_path / "m")
    assert second["added"] == 1 and second["chunks_added"] == 0
    assert group_at(tmp_path / "m")["a"].attrs["text"] == "dreizehn"


def test_the_log_says_what_changed(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("g/a", data=np.arange(100), chunks=(10,))
        f["gone"] = 1
    first = mirror(path, tmp_path / "m")
    change(path, "f['g/a'][25] = -1; del f['gone']; f['new'] = 2; f['g'].attrs['x'] = 1")
    second = mirror(path, tmp_path / "m")
    diff = open_repository(tmp_path / "m").diff(from_tag=first["tag"], to_tag=second["tag"])
    assert diff.new_arrays == {"/new"} and diff.deleted_arrays == {"/gone"} and diff.updated_groups == {"/g"}
    assert {path: list(chunks) for path, chunks in diff.updated_chunks.items()} == {"/g/a": [[2]], "/new": [[]]}


def test_a_tag_is_the_time_or_what_the_user_says(tmp_path):
    source = write(tmp_path / "x.h5")
    assert re.fullmatch(r"\d{8}T\d{6}(\.\d{6})?Z", mirror(source, tmp_path / "m")["tag"])
    change(source, "f['scalar'][()] = 4")
    assert mirror(source, tmp_path / "m", "--tag", "final")["tag"] == "final"
    with_plugin = run_python("import sys, h5py; print(h5py.File(sys.argv[1])['scalar'][()])", f"{tmp_path}/m@final")
    assert with_plugin.strip() == "4.0"
    change(source, "f['scalar'][()] = 5")
    refused = h5zarr("mirror", source, tmp_path / "m", "--tag", "final", expected=4)
    assert "tags never change" in refused.stderr


def test_commits_of_others_and_mirrors_of_other_files_are_left_alone(tmp_path):
    source = write(tmp_path / "x.h5")
    mirror(source, tmp_path / "m")
    before = objects(tmp_path / "m")
    other = shutil.copy(source, tmp_path / "y.h5")
    assert "a state of 'x.h5'" in h5zarr("mirror", other, tmp_path / "m", expected=4).stderr
    assert objects(tmp_path / "m") == before
    session = open_repository(tmp_path / "m").writable_session("main")
    zarr.open_group(session.store)["plain"][0] = 7
    session.commit("by hand")
    before = objects(tmp_path / "m")
    change(source, "f['scalar'][()] = 4")
    assert "of others" in h5zarr("mirror", source, tmp_path / "m", expected=4).stderr
    assert objects(tmp_path / "m") == before


def test_a_source_that_moved_goes_on_where_it_was(tmp_path):
    source = write(tmp_path / "x.h5")
    mirror(source, tmp_path / "m")
    (tmp_path / "elsewhere").mkdir()
    moved = shutil.move(source, tmp_path / "elsewhere/x.h5")
    assert mirror(moved, tmp_path / "m")["objects_written"] == 0


def test_a_version_alone_can_be_a_state(tmp_path):
    pytest.importorskip("versioned_hdf5", reason="no versioned-hdf5 in this environment")
    path = tmp_path / "v.h5"
    run_python("""
import sys, h5py, numpy as np
from versioned_hdf5 import VersionedHDF5File
with h5py.File(sys.argv[1], "w") as f:
    for name in ("v1", "v2"):
        with VersionedHDF5File(f).stage_version(name) as new:
            new.create_dataset(name, data=np.arange(20), chunks=(6,))
""", path, plugin=False, connector=None)
    mirror(f"{path}@v1", tmp_path / "m")
    group = group_at(tmp_path / "m")
    assert list(group) == ["v1"]
    np.testing.assert_array_equal(group["v1"][...], np.arange(20))


@pytest.mark.parametrize("words", [["--since", "v1"], ["--all"], ["--codec", "portable"]])
def test_words_for_versions_are_wrong_for_states(tmp_path, words):
    source = write(tmp_path / "x.h5")
    h5zarr("mirror", source, tmp_path / "m", *words, expected=64)
    assert not (tmp_path / "m").exists()


def test_what_cannot_be_read_leaves_the_last_state(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("a", data=np.arange(10000), chunks=(1000,), fletcher32=True)
    mirror(path, tmp_path / "m")
    with h5py.File(path) as f:
        offset = f["a"].id.get_chunk_info(3).byte_offset
    with open(path, "r+b") as f:
        f.seek(offset)
        f.write(b"damaged!")
    with h5py.File(path, "r+") as f:
        f["b"] = 1
    before = objects(tmp_path / "m/refs")
    assert "'/a'" in h5zarr("mirror", path, tmp_path / "m", expected=4).stderr
    assert objects(tmp_path / "m/refs") == before
    np.testing.assert_array_equal(group_at(tmp_path / "m")["a"][...], np.arange(10000))


def test_killed_at_any_time_the_history_is_whole(tmp_path):
    source = write(tmp_path / "x.h5")
    mirror(source, tmp_path / "m")
    rng = random.Random(7)
    words = [str(COMMAND), "mirror", str(source), str(tmp_path / "m"), "--quiet"]
    change(source, "f['big'][...] = np.arange(400000)[::-1] * 3")
    began = time.monotonic()
    subprocess.run(words, env=environment(), check=True)
    takes = time.monotonic() - began
    outcomes = []
    for run in range(int(os.environ.get("H5ZARR_MIRROR_KILLS", 12))):
        change(source, f"f['big'][...] = np.arange(400000) * {run + 2}")
        after = rng.uniform(0, 1.3 * takes)
        process = subprocess.Popen(words, env=environment(), stderr=subprocess.PIPE, text=True)
        time.sleep(after)
        process.send_signal(signal.SIGKILL)
        _, said = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), (run, after, said)
        outcomes.append(process.returncode)
        values = group_at(tmp_path / "m")["big"][...]
        if values[0] != 0:  # still the state before the first kill
            np.testing.assert_array_equal(values, np.arange(400000)[::-1] * 3)
            continue
        assert values[1] in range(2, run + 3)
        np.testing.assert_array_equal(values, np.arange(400000) * values[1])
    assert -signal.SIGKILL in outcomes, outcomes
    mirror(source, tmp_path / "m")
    np.testing.assert_array_equal(group_at(tmp_path / "m")["big"][...], np.arange(400000) * (run + 2))
    assert mirror(source, tmp_path / "m", "--verify")["objects_written"] == 0
    # Every state that is in the history has its tag.
    history = list(open_repository(tmp_path / "m").ancestry(branch="main"))
    assert len(history) - 1 == len(open_repository(tmp_path / "m").list_tags())


def test_runs_at_the_same_time_lose_nothing(tmp_path):
    sources = [tmp_path / str(i) / "x.h5" for i in range(3)]
    for i, source in enumerate(sources):
        source.parent.mkdir()
        write(source)
        change(source, f"f['scalar'][()] = {i}")
    running = [subprocess.Popen([str(COMMAND), "mirror", str(source), str(tmp_path / "m"), "--quiet"], text=True,
                                stderr=subprocess.PIPE, env=environment()) for source in sources]
    said = [process.communicate(timeout=120)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], said
    assert len(open_repository(tmp_path / "m").list_tags()) == 3
    found = sorted(float(group_at(tmp_path / "m", tag=tag)["scalar"][()])
                   for tag in open_repository(tmp_path / "m").list_tags())
    assert found == [0, 1, 2]
