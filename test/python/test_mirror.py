"""`h5zarr mirror`: versions of versioned-hdf5 files in an Icechunk repository, compared through icechunk and
zarr-python, through h5py under the plugin, and with the file itself."""
import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr

from command_support import COMMAND, h5zarr, needs_command
from mirror_support import (assert_version_equals, has_versions, mirror, objects, open_repository, report,
                            write)
from support import environment, run_python

icechunk = pytest.importorskip("icechunk", reason="no icechunk in this environment")
pytest.importorskip("versioned_hdf5", reason="no versioned-hdf5 in this environment")

pytestmark = [
    needs_command,
    pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr"),
]


def delete_version(source, name):
    run_python("""
import sys, h5py
from versioned_hdf5 import delete_versions
with h5py.File(sys.argv[1], "r+") as f:
    delete_versions(f, [sys.argv[2]])
""", source, name, plugin=False, connector=None)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A file of four versions; v3's other child is v4."""
    return write(tmp_path_factory.mktemp("source") / "versions.h5", "v1", "v2", "v3", "v4")


@pytest.mark.parametrize("codec", ["passthrough", "portable"])
def test_every_version_is_equal_through_icechunk_and_h5py(source, tmp_path, codec):
    folder = tmp_path / "m.icechunk"
    assert report(source, folder, "--codec", codec)["added"] == 4
    for version in ("v1", "v2", "v3", "v4"):
        assert_version_equals(source, folder, version)
    repository = open_repository(folder)
    messages = [commit.message for commit in repository.ancestry(branch="main")]
    assert messages == [f"versioned-hdf5 v{i}" for i in (4, 3, 2, 1)] + ["Repository initialized"]
    with h5py.File(folder) as f:  # the newest
        assert f["raw"].shape == (12,)


@pytest.mark.parametrize("codec", ["passthrough", "portable"])
@pytest.mark.parametrize("name", ["Zstd", "Blosc", "LZ4"])
def test_filters_of_plugins_are_kept_or_decoded(tmp_path, name, codec):
    hdf5plugin = pytest.importorskip("hdf5plugin", reason="no hdf5plugin in this environment")
    source, folder = str(tmp_path / "s.h5"), tmp_path / "m"
    run_python("""
import sys, h5py, hdf5plugin, numpy as np
from versioned_hdf5 import VersionedHDF5File
with h5py.File(sys.argv[1], "w") as f:
    with VersionedHDF5File(f).stage_version("v") as new:
        filter = dict(getattr(hdf5plugin, sys.argv[2])())
        new.create_dataset("a", data=np.arange(3000) // 7, chunks=(1000,), compression=filter["compression"],
                           compression_opts=filter.get("compression_opts", ()))
""", source, name, plugin=False, connector=None)
    theirs = os.path.join(os.path.dirname(hdf5plugin.__file__), "plugins")
    done = subprocess.run([str(COMMAND), "mirror", source, str(folder), "--codec", codec], capture_output=True,
                          text=True, env=environment() | {"HDF5_PLUGIN_PATH": theirs})
    assert done.returncode == 0, done.stderr
    assert_version_equals(source, folder, "v")


def test_a_second_run_writes_nothing(source, tmp_path):
    folder = tmp_path / "m.icechunk"
    report(source, folder)
    before = {path: path.stat() for path in folder.rglob("*")}
    again = report(source, folder)
    assert (again["added"], again["objects_written"], again["bytes_written"]) == (0, 0, 0)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == {
        path: stat.st_mtime_ns for path, stat in before.items()}


def test_two_mirrors_of_one_file_are_equal_byte_for_byte(source, tmp_path):
    report(source, tmp_path / "a")
    report(source, tmp_path / "b")
    assert objects(tmp_path / "a") == objects(tmp_path / "b")


def test_a_new_version_writes_its_changed_chunks_and_nothing_twice(tmp_path):
    source, folder = write(tmp_path / "s.h5", "v1"), tmp_path / "m.icechunk"
    first = report(source, folder)
    before = objects(folder)
    write(source, "change")
    second = report(source, folder)
    assert second["added"] == 1
    assert (second["chunks_added"], second["chunk_bytes_added"]) == (1, 10 * 8)
    # pack, manifest of "raw", snapshot, transaction log, tag, branch: whatever else there is, stays.
    assert second["objects_written"] == 6
    after = objects(folder)
    changed = {key for key in before if after[key] != before[key]}
    assert changed == {"refs/branch.main/ref.json"}
    assert first["chunks_added"] > 60
    assert_version_equals(source, folder, "change")


def test_equal_chunks_are_stored_once_whatever_versions_and_datasets_have_them(tmp_path):
    source = str(tmp_path / "s.h5")
    code = """
import sys, h5py, numpy as np
from versioned_hdf5 import VersionedHDF5File
with h5py.File(sys.argv[1], "w") as f:
    v = VersionedHDF5File(f)
    with v.stage_version("r0") as new:
        for name in "ab":
            new.create_dataset(name, data=np.repeat(np.arange(8), 100), chunks=(100,))
    with v.stage_version("r1") as new:
        new["a"][:] = 99
    with v.stage_version("r2") as new:
        new["a"][:] = np.repeat(np.arange(8), 100)
"""
    run_python(code, source, plugin=False, connector=None)
    done = report(source, tmp_path / "m")
    assert done["chunks_added"] == 9 - 1  # 0 to 7 and 99, but the chunk of zeros is a hole
    for version in ("r0", "r1", "r2"):
        assert_version_equals(source, tmp_path / "m", version)


def test_a_branch_has_its_own_parent(tmp_path):
    source, folder = write(tmp_path / "s.h5", "v1", "x", "y<v1"), tmp_path / "m"
    report(source, folder)
    for version in ("v1", "x", "y"):
        assert_version_equals(source, folder, version)
    repository = open_repository(folder)
    parents = {commit.message.split()[-1]: commit.parent_id for commit in repository.ancestry(tag="y")}
    assert set(parents) == {"y", "v1", "initialized"}
    assert repository.lookup_branch("main") == repository.lookup_tag("y")


def test_the_transaction_log_says_what_changed(source, tmp_path):
    folder = tmp_path / "m"
    report(source, folder)
    repository = open_repository(folder)
    diff = repository.diff(from_tag="v2", to_tag="v3")
    assert diff.deleted_arrays == {"/lzf"}
    assert "/g/a" in diff.updated_arrays and not diff.new_arrays
    assert set(diff.updated_chunks) == {"/g/a"}
    diff = repository.diff(from_tag="v1", to_tag="v2")
    assert set(diff.updated_chunks) == {"/g/a", "/raw", "/text"}
    assert diff.updated_chunks["/g/a"] == [[0, 0]]


def test_icechunk_commits_on_top_and_the_mirror_leaves_that_alone(tmp_path):
    source, folder = write(tmp_path / "s.h5", "v1"), tmp_path / "m"
    report(source, folder)
    repository = open_repository(folder)
    session = repository.writable_session("main")
    zarr.open_group(session.store)["raw"][0] = 4711
    theirs = session.commit("by hand")
    with h5py.File(folder) as f:
        assert f["raw"][0] == 4711
    write(source, "v2")
    done = report(source, folder)
    assert done["main_kept"] and done["added"] == 1
    repository = open_repository(folder)
    assert repository.lookup_branch("main") == theirs
    assert_version_equals(source, folder, "v2")


def test_an_uncommitted_version_is_left_out_and_told(tmp_path):
    source, folder = write(tmp_path / "s.h5", "v1", "v2"), tmp_path / "m"
    run_python("""
import h5py, sys
with h5py.File(sys.argv[1], "r+") as f:
    f["_version_data/versions/v2"].attrs["committed"] = False
""", source, plugin=False, connector=None)
    done = mirror(source, folder, expected=2)
    assert "'v2' was never committed" in done.stderr
    assert [path.name for path in (folder / "refs").iterdir()].count("tag.v2") == 0
    assert_version_equals(source, folder, "v1")
    with h5py.File(folder) as f:
        assert f["raw"].shape == (95,)


def test_deleted_versions_and_repacked_files_write_no_chunk_again(tmp_path):
    source, folder = write(tmp_path / "s.h5", "v1", "v2", "v3"), tmp_path / "m"
    report(source, folder)
    delete_version(source, "v2")
    with h5py.File(source) as old, h5py.File(tmp_path / "repacked.h5", "w") as new:
        old.copy("_version_data", new)  # (h5repack of HDF5 1.14 crashes on these files)
    os.replace(tmp_path / "repacked.h5", source)
    again = report(source, folder)
    assert (again["added"], again["objects_written"]) == (0, 0)
    write(source, "after")
    done = report(source, folder)
    assert done["gone"] == ["v2"] and done["added"] == 1
    assert done["chunks_added"] == 1
    for version in ("v1", "v3", "after"):
        assert_version_equals(source, folder, version)


def test_pruned_versions_go_and_the_others_stay_exact(tmp_path):
    source, folder = write(tmp_path / "s.h5", "v1", "v2", "v3", "v4"), tmp_path / "m"
    report(source, folder)
    delete_version(source, "v3")
    assert "kept: 'v3'" in mirror(source, folder).stdout
    done = report(source, folder, "--prune", "delete")
    assert done["gone"] == ["v3"] and done["gone_were_deleted"]
    again = report(source, folder, "--prune", "delete")
    assert again["gone"] == [] and again["objects_written"] == 0
    for version in ("v1", "v2", "v4"):
        assert_version_equals(source, folder, version)
    repository = open_repository(folder)
    assert repository.list_tags() == {"v1", "v2", "v4"}
    messages = [commit.message for commit in repository.ancestry(tag="v4")]
    assert messages == [f"versioned-hdf5 v{i}" for i in (4, 2, 1)] + ["Repository initialized"]
    diff = repository.diff(from_tag="v2", to_tag="v4")  # by the log, which v4's snapshot now has against v2
    assert diff.new_arrays == {"/deep/er/zero"} and "/lzf" in diff.updated_arrays | set(diff.updated_chunks)
    with pytest.raises(FileNotFoundError):
        h5py.File(f"{folder}@v3")


def test_a_version_that_was_pruned_and_made_again_is_refused(tmp_path):
    source, folder = write(tmp_path / "s.h5", "v1", "v2", "v3"), tmp_path / "m"
    report(source, folder)
    delete_version(source, "v3")
    report(source, folder, "--prune", "delete")
    write(source, "v3")
    before = objects(folder)
    assert "gives no tag twice" in mirror(source, folder, expected=4).stderr
    assert objects(folder) == before


def test_gc_removes_what_nothing_leads_to_and_no_more(source, tmp_path):
    whole, folder = tmp_path / "whole", tmp_path / "m"
    report(source, whole)
    assert json.loads(mirror("gc", whole, "--json").stdout)["objects_removed"] == 0
    shutil.copytree(whole, folder)
    for name in ("v3", "v4"):
        (folder / f"refs/tag.{name}/ref.json.deleted").write_bytes(b"")
    main = folder / "refs/branch.main/ref.json"
    main.write_bytes((folder / "refs/tag.v2/ref.json").read_bytes())
    old = folder / "chunks/.h5zarr-1-1.tmp"
    old.write_bytes(b"half")
    os.utime(old, (0, 0))
    (folder / "chunks/.h5zarr-1-2.tmp").write_bytes(b"somebody's")
    done = json.loads(mirror("gc", folder, "--json").stdout)
    assert done["objects_removed"] > 4 and done["unfinished_removed"] == 1 and done["foreign_kept"] == 0
    # What is left is what a mirror of these two alone has.
    alone = write(tmp_path / "two.h5", "v1", "v2")
    report(alone, tmp_path / "two")
    kinds = ("chunks", "manifests", "snapshots", "transactions")
    count = lambda folder: [len([p for p in (folder / kind).iterdir() if p.suffix != ".tmp"]) for kind in kinds]
    assert count(folder) == count(tmp_path / "two")
    assert (folder / "chunks/.h5zarr-1-2.tmp").exists()
    mirror("verify", folder)
    for version in ("v1", "v2"):
        assert_version_equals(source, folder, version)


def test_gc_leaves_what_icechunk_wrote(source, tmp_path):
    folder = tmp_path / "m"
    report(source, folder)
    repository = open_repository(folder)
    session = repository.writable_session("main")
    zarr.open_group(session.store)["raw"][0] = 4711  # its chunk is there, and no commit yet
    done = json.loads(mirror("gc", folder, "--json").stdout)
    assert done["objects_removed"] == 0
    session.commit("by hand")
    mirror("gc", folder)
    with h5py.File(folder) as f:
        assert f["raw"][0] == 4711


def test_gc_beside_running_mirrors_loses_nothing(source, tmp_path):
    report(source, tmp_path / "whole")
    folder = tmp_path / "m"
    report(source, folder, "--since", "v3")
    mirrors = [subprocess.Popen([str(COMMAND), "mirror", source, str(folder), "--quiet"], env=environment())
               for _ in range(2)]
    while any(run.poll() is None for run in mirrors):
        mirror("gc", folder, "--quiet")
    assert [run.wait() for run in mirrors] == [0, 0]
    mirror("verify", folder)
    for version in ("v1", "v2", "v3", "v4"):
        assert_version_equals(source, folder, version)


@pytest.mark.parametrize("threads", ["1", "3"])
def test_mirrors_are_equal_whatever_the_number_of_threads(source, tmp_path, threads):
    report(source, tmp_path / "auto")
    report(source, tmp_path / "m", "--threads", threads)
    assert objects(tmp_path / "m") == objects(tmp_path / "auto")


@pytest.mark.parametrize("how", ["newer", "userblock", "earliest"])
def test_files_of_every_layout_are_mirrored(tmp_path, how):
    """Whether mappings are read from the file's bytes or asked of HDF5: versions are the same."""
    source = str(tmp_path / "s.h5")
    run_python("""
import sys, h5py, numpy as np
from versioned_hdf5 import VersionedHDF5File
options = {"newer": {"libver": ("v110", "v114")}, "userblock": {"userblock_size": 1024}, "earliest": {"libver": "earliest"}}
with h5py.File(sys.argv[1], "w", **options[sys.argv[2]]) as f:
    v = VersionedHDF5File(f)
    with v.stage_version("v1") as new:
        new.create_dataset("a/b", data=np.arange(60.).reshape(6, 10), chunks=(4, 3), maxshape=(None, 10))
        new.create_dataset("long", data=np.arange(70_000), chunks=(10,), compression="gzip")
        new.create_dataset("zero", data=np.zeros(50), chunks=(10,))
        for i in range(40):
            new["long"].attrs[f"attribute {i}"] = "x" * 50 * i
    with v.stage_version("v2") as new:
        new["a/b"].resize((9, 10))
        new["a/b"][8] = 7
        new["long"][60_000] = 0
""", source, how, plugin=False, connector=None)
    report(source, tmp_path / "m")
    for version in ("v1", "v2"):
        assert_version_equals(source, tmp_path / "m", version)


def test_a_damaged_list_of_mappings_is_an_error_and_no_fill(tmp_path):
    source = write(tmp_path / "s.h5", "v1")
    data = bytearray(Path(source).read_bytes())
    at = data.index(b".\0/_version_data/raw/raw_data\0")
    data[at + 60] ^= 1
    Path(source).write_bytes(data)
    assert "dataset 'raw'" in mirror(source, tmp_path / "m", expected=4).stderr
    assert not has_versions(tmp_path / "m")


def test_a_wrong_hash_table_changes_nothing(tmp_path):
    source, folder = write(tmp_path / "s.h5", "v1"), tmp_path / "m"
    run_python("""
import h5py, sys
with h5py.File(sys.argv[1], "r+") as f:
    table = f["_version_data/raw/hash_table"]
    rows = table[:]
    rows["shape"] = rows["shape"][::-1]
    rows["hash"] = 7
    table[:] = rows
""", source, plugin=False, connector=None)
    report(source, folder)
    assert_version_equals(source, folder, "v1")


def test_a_version_and_its_mirror_do_not_differ(source, tmp_path):
    report(source, tmp_path / "m")
    done = h5zarr("diff", f"{source}@v3", f"{tmp_path}/m@v3")
    assert done.stdout == ""
    assert "/g/a" in h5zarr("diff", f"{source}@v2", f"{tmp_path}/m@v1", expected=1).stdout


def test_since_leaves_older_versions_out(source, tmp_path):
    done = report(source, tmp_path / "m", "--since", "v2")
    assert done["added"] == 2
    for version in ("v3", "v4"):
        assert_version_equals(source, tmp_path / "m", version)
    assert not (tmp_path / "m/refs/tag.v1").exists()


def test_all_is_what_a_run_does_anyway(source, tmp_path):
    report(source, tmp_path / "default")
    assert report(source, tmp_path / "m", "--all")["added"] == 4
    assert objects(tmp_path / "m") == objects(tmp_path / "default")


def test_names_that_no_tag_may_have_are_escaped(tmp_path):
    source = write(tmp_path / "s.h5", "v1", "100%")
    report(source, tmp_path / "m")
    with h5py.File(f"{tmp_path}/m@100%25") as f:
        assert f["raw"].shape == (95,)


def test_icechunk_finds_versions_of_any_name(tmp_path):
    names = ["v1", "\xe9t\xe9", "a b", "x#1", "[q]?", "~t*", "a:b"]
    source = write(tmp_path / "s.h5", *names)
    report(source, tmp_path / "m")
    repository = open_repository(tmp_path / "m")
    for name in names:  # (its list has some of them encoded)
        with h5py.File(f"{tmp_path}/m@{name}") as f:
            there = zarr.open_group(repository.readonly_session(tag=name).store, mode="r")
            assert sorted(there.keys()) == sorted(f)
    assert report(source, tmp_path / "m")["objects_written"] == 0


def test_what_cannot_be_mirrored_leaves_nothing_behind(source, tmp_path):
    (tmp_path / "text").write_text("no HDF5 file")
    for words in (["text"], ["nothing"], [source, "--since", "v9"]):
        mirror(tmp_path / words[0], tmp_path / "m", *words[1:], expected=4)
        assert not (tmp_path / "m").exists(), words


def test_a_repository_without_versions_or_with_a_broken_one_is_told(source, tmp_path):
    icechunk.Repository.create(icechunk.local_filesystem_storage(str(tmp_path / "empty")))
    report(source, tmp_path / "broken")
    for path in (tmp_path / "broken/snapshots").iterdir():
        path.write_bytes(path.read_bytes()[:-7])
    for verb in ("status", "verify"):
        assert "no version" in mirror(verb, tmp_path / "empty", expected=4).stderr
        assert "snapshots/" in mirror(verb, tmp_path / "broken", expected=4).stderr


def test_a_version_that_was_made_again_is_refused(tmp_path):
    source, folder = write(tmp_path / "s.h5", "v1"), tmp_path / "m"
    report(source, folder)
    before = objects(folder)
    other = write(tmp_path / "other.h5", "v1")
    done = mirror(other, folder, expected=4)
    assert "tags never change" in done.stderr
    assert objects(folder) == before


@pytest.mark.parametrize("words, code", [
    ([], 64), (["a"], 64), (["a", "b", "c"], 64), (["a", "b", "--what"], 64), (["a", "b", "--since"], 64),
    (["a", "b", "--all", "--since", "v"], 64), (["a", "b", "--codec", "x"], 64), (["a", "b", "--prune", "x"], 64), (["a", "b", "--threads", "x"], 64),
    (["gc", "nothing"], 4), (["nothing.h5", "b"], 4), (["status", "nothing"], 4), (["--help"], 0),
    (["gc", "nothing", "--prune", "delete"], 64), (["status", "nothing", "--quiet"], 64),
    (["verify", "nothing", "--tag", "x"], 64), (["gc", "nothing", "--verify"], 64)])
def test_exit_codes_tell_wrong_words_from_failures(tmp_path, words, code):
    done = subprocess.run([str(COMMAND), "mirror", *words], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == code
    assert bool(done.stderr) == (code != 0)


def test_a_folder_with_something_else_in_it_is_left_alone(source, tmp_path):
    zarr.open_group(tmp_path / "x.zarr", mode="w")
    before = objects(tmp_path)
    assert "no Icechunk repository" in mirror(source, tmp_path / "x.zarr", expected=4).stderr
    assert objects(tmp_path) == before


def test_status_and_verify_say_what_is_there(source, tmp_path):
    folder = tmp_path / "m"
    report(source, folder)
    status = json.loads(mirror("status", folder, "--json").stdout)
    assert sorted(status["tags"]) == ["v1", "v2", "v3", "v4"]
    assert status["main"] == status["tags"]["v4"]["snapshot"]
    assert "4 snapshots" in mirror("verify", folder).stdout
    assert report("verify", folder)["snapshots"] == 4


@pytest.mark.parametrize("kind", ["chunks", "manifests", "snapshots", "transactions"])
def test_verify_notices_every_damage(source, tmp_path, kind):
    folder = tmp_path / "m"
    report(source, folder)
    rng = random.Random(5)
    for path in sorted((folder / kind).iterdir()):
        good = path.read_bytes()
        path.unlink()
        assert path.name in mirror("verify", folder, expected=4).stderr
        path.write_bytes(good[:len(good) // 2])
        assert path.name in mirror("verify", folder, expected=4).stderr
        if kind == "chunks":
            at = rng.randrange(len(good) - 16)
            path.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])
            mirror("verify", folder, expected=4)
        path.write_bytes(good)
    mirror("verify", folder)


def damage(kind, folder):
    """A damage that no command on a mirror can go on with: the word of the message that says what it is."""
    if kind == "ref":
        (folder / "refs/branch.main/ref.json").write_text("")
        return "refs/branch.main/ref.json"
    for path in (folder / "snapshots").iterdir():
        if path.name != "1CECHNKREP0F1RSTCMT0":
            path.write_bytes(path.read_bytes()[:50])
    return "snapshots/"


@pytest.mark.parametrize("kind", ["ref", "snapshot"])
def test_what_is_damaged_is_named_with_its_repository_and_nothing_is_changed(source, tmp_path, kind):
    folder = tmp_path / "m"
    report(source, folder)
    word = damage(kind, folder)
    before = objects(folder)
    for words in (["status", folder], ["verify", folder], ["gc", folder], [source, folder],
                  [source, folder, "--prune", "delete"]):
        done = mirror(*words, "--json", expected=4)
        assert done.stdout == "" and word in done.stderr and str(folder) in done.stderr, words
    assert objects(folder) == before


def test_a_repository_of_others_with_branches_keeps_them(source, tmp_path):
    folder = tmp_path / "theirs"
    repository = icechunk.Repository.create(icechunk.local_filesystem_storage(str(folder)))
    for branch in ("main", "dev"):
        session = repository.writable_session(branch)
        zarr.open_group(session.store, mode="a")[branch] = np.arange(9)
        tip = session.commit(branch)
        if branch == "main":
            repository.create_branch("dev", tip)
    before = objects(folder)
    for verb in ("status", "verify"):
        assert f"{folder} has no version in it that was mirrored" in mirror(verb, folder, expected=4).stderr
    assert report("gc", folder)["objects_removed"] == 0
    assert objects(folder) == before
    assert report(source, folder)["main_kept"]
    mirror("verify", folder)
    assert report(source, folder, "--prune", "delete")["objects_written"] == 0
    after = objects(folder)
    assert before == {key: after[key] for key in before}


def test_many_versions_take_few_objects(tmp_path):
    source = str(tmp_path / "s.h5")
    run_python("""
import sys, h5py, numpy as np
from versioned_hdf5 import VersionedHDF5File
rng = np.random.default_rng(3)
with h5py.File(sys.argv[1], "w") as f:
    v = VersionedHDF5File(f)
    data = rng.integers(0, 1000, (320, 3200)).astype("f8")
    with v.stage_version("r0") as new:
        new.create_dataset("g/v", data=data, chunks=(10, 100), compression="gzip", compression_opts=1, shuffle=True)
        new.create_dataset("t", data=np.arange(95), chunks=(10,))
    for r in range(1, 20):
        with v.stage_version(f"r{r}") as new:
            for k in rng.choice(1024, 51, replace=False):
                new["g/v"][k // 32 * 10, k % 32 * 100] = r * 1000 + k
""", source, plugin=False, connector=None)
    done = report(source, tmp_path / "m")
    assert done["chunks_added"] == 1024 + 10 + 19 * 51
    stored = objects(tmp_path / "m")
    assert len(stored) <= 150
    assert sum(map(len, stored.values())) <= 0.7 * os.path.getsize(source)
    for version in ("r0", "r11", "r19"):
        assert_version_equals(source, tmp_path / "m", version)


def test_every_version_is_equal_through_xarray(source, tmp_path):
    xarray = pytest.importorskip("xarray")
    report(source, tmp_path / "m", "--codec", "portable")
    repository = open_repository(tmp_path / "m")
    compared = 0
    for version in ("v1", "v2", "v3", "v4"):
        store = repository.readonly_session(tag=version).store
        with h5py.File(source) as f, xarray.open_datatree(store, engine="zarr", consolidated=False) as found:
            names = []
            f["_version_data/versions"][version].visit(names.append)
            for name in names:
                expected = f["_version_data/versions"][version][name]
                if isinstance(expected, h5py.Group) or expected.dtype.kind not in "iufb":
                    continue
                np.testing.assert_array_equal(found[name].values, expected[()], err_msg=name)
                assert found[name].attrs.get("units") == expected.attrs.get("units")
                compared += 1
    assert compared >= 24


def test_a_file_of_the_first_data_version_is_mirrored(tmp_path):
    """Its layout is today's; what its hash tables say is wrong for texts."""
    source = write(tmp_path / "s.h5", "v1", "v2")
    run_python("""
import h5py, sys
with h5py.File(sys.argv[1], "r+") as f:
    del f["_version_data/versions"].attrs["data_version"]
    table = f["_version_data/text/hash_table"]
    rows = table[:]
    rows["hash"] = 1
    table[:] = rows
""", source, plugin=False, connector=None)
    report(source, tmp_path / "m")
    for version in ("v1", "v2"):
        assert_version_equals(source, tmp_path / "m", version)
