"""Buckets that several programs write to: what must be one's alone is asked for under a condition. Icechunk
repositories in S3, mirrors and exports to it; reference files and archives there. moto knows conditional PUT."""
import json
import subprocess
import sys
import tarfile
import time
import urllib.request

import h5py
import numpy as np
import pytest
import zarr

import one_of_each
from command_support import h5zarr, h5zarr_json, needs_command
from http_support import fault_server
from s3_support import KEYS, SOMEBODY, bucket, keys_in, moto_url, put, use  # noqa: F401
from support import environment, run, run_python

DATA = np.random.default_rng(8).integers(0, 1 << 30, (60, 70), dtype="i4")

RACE = """
import h5py, sys, time
time.sleep(max(0, float(sys.argv[2]) - time.time()))
try:
    with h5py.File(sys.argv[1], sys.argv[3]) as f:
        f.attrs["who"] = int(sys.argv[4])
    print("made it")
except FileExistsError as error:
    print("exists", error)
"""


def race(name, mode, **env):
    """How many of four programs that make it at once succeed."""
    begin = time.time() + 2
    programs = [subprocess.Popen([sys.executable, "-c", RACE, name, str(begin), mode, str(i)], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(**env))
                for i in range(4)]
    said = [program.communicate(timeout=120) for program in programs]
    assert all(program.returncode == 0 for program in programs), said
    assert all(out.startswith(("made it", "exists")) for out, _ in said), said
    return [out for out, _ in said].count("made it\n")


@pytest.mark.parametrize("connector", ["zarr", "zarr zarr_format=2"])
def test_of_programs_that_make_a_store_in_mode_x_one_succeeds(tmp_path, monkeypatch, connector):
    (tmp_path / "bucket").mkdir()
    with fault_server(tmp_path, s3=True, latency_ms=50) as server:
        use(monkeypatch, server.url)
        for name in ("s3://bucket/race.zarr", str(tmp_path / "race.zarr")):
            assert race(name, "x", connector=connector) == 1
            with h5py.File(name) as f:
                assert list(f.attrs) == ["who"]
        # All but one got as far as the condition, or saw what the first had made.
        asked = [one for one in server.requests() if one["headers"].get("if-none-match") == "*" and
                 one["path"].endswith(("/zarr.json", "/.zgroup"))]
        assert [one["status"] for one in asked].count(200) == 1


@pytest.mark.parametrize("habits, message", [({}, None), ({"no_conditions": True}, None),
                                             ({"lost_first": 1}, "may have written it")])
def test_what_servers_make_of_conditions(tmp_path, monkeypatch, habits, message):
    """Those that know none get a look before; where an answer is lost nobody knows who it was."""
    (tmp_path / "bucket").mkdir()
    with fault_server(tmp_path, s3=True, **habits) as server:
        use(monkeypatch, server.url)
        if message:
            with pytest.raises(OSError, match=message):
                h5py.File("s3://bucket/x.zarr", "x")
            return
        h5py.File("s3://bucket/x.zarr", "x").close()
        with pytest.raises(FileExistsError):
            h5py.File("s3://bucket/x.zarr", "x")
        conditional = [one for one in server.requests() if one["headers"].get("if-none-match") == "*"]
        assert len(conditional) == 1 and conditional[0]["path"].endswith("/x.zarr/zarr.json")


def test_a_failed_creation_in_mode_x_leaves_nothing(bucket):
    code = """
import h5py
fcpl = h5py.h5p.create(h5py.h5p.FILE_CREATE)
fapl = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
with h5py.File("s3://bucket/made.zarr", "x") as f:
    f["a"] = 1
try:
    h5py.File("s3://bucket/made.zarr", "x")
except FileExistsError:
    print("kept", h5py.File("s3://bucket/made.zarr")["a"][()])
"""
    assert run_python(code).strip() == "kept 1"


# --- Icechunk --------------------------------------------------------------------------------------


def icechunk_repository(url, prefix, spec_version):
    icechunk = pytest.importorskip("icechunk", reason="no icechunk in this environment")
    storage = icechunk.s3_storage(bucket="bucket", prefix=prefix, endpoint_url=url, allow_http=True,
                                  region="us-east-1", force_path_style=True,
                                  access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
                                  secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"])
    more = {} if spec_version == 1 else {"spec_version": spec_version}
    return icechunk.Repository.create(storage, **more), storage, icechunk


def test_refs_of_any_name_in_a_bucket_are_found(bucket):
    repository, _, _ = icechunk_repository(bucket, "names.icechunk", 1)
    session = repository.writable_session("main")
    zarr.group(session.store)
    snapshot = session.commit("one")
    for name in ("\xe9t\xe9", "a b", "x#1", "[q]?", "50%25", "~t*"):
        repository.create_tag(name, snapshot)
        with h5py.File(f"s3://bucket/names.icechunk@{name}", "r") as f:
            assert list(f) == []


def test_icechunk_repositories_in_a_bucket_are_read(bucket):
    repository, _, icechunk = icechunk_repository(bucket, "deep/repo.icechunk", 1)
    session = repository.writable_session("main")
    group = zarr.create_group(session.store)
    group.create_array("g/a", data=DATA, chunks=(20, 30))
    repository.create_tag("v1", snapshot_id=session.commit("first"))
    session = repository.writable_session("main")
    zarr.open_array(session.store, path="g/a")[:10] = -1
    session.commit("second")
    later = DATA.copy()
    later[:10] = -1
    for name, path, expected in (("repo.icechunk", "g/a", later), ("repo.icechunk@v1", "g/a", DATA),
                                 ("repo.icechunk@branch:main", "g/a", later), ("repo.icechunk@v1/g", "a", DATA),
                                 ("repo.icechunk/g", "a", later)):
        with h5py.File(f"s3://bucket/deep/{name}") as f:
            np.testing.assert_array_equal(f[path][()], expected)
            assert [key for key in f] == [path.split("/")[0]]
    for mode in ("r+", "a", "w"):
        with pytest.raises(OSError, match="can only be read|name"):
            h5py.File("s3://bucket/deep/repo.icechunk@v1", mode)
    with pytest.raises(FileNotFoundError, match="v9"):
        h5py.File("s3://bucket/deep/repo.icechunk@v9")
    with pytest.raises(FileNotFoundError):
        h5py.File("s3://bucket/deep/none.icechunk@v1")


def test_icechunk_repositories_behind_a_web_server_are_read(tmp_path):
    icechunk = pytest.importorskip("icechunk", reason="no icechunk in this environment")
    repository = icechunk.Repository.create(icechunk.local_filesystem_storage(str(tmp_path / "repo.icechunk")))
    session = repository.writable_session("main")
    zarr.create_group(session.store).create_array("a", data=DATA, chunks=(20, 30))
    repository.create_tag("v1", snapshot_id=session.commit("first"))
    with fault_server(tmp_path) as server:
        for name in ("repo.icechunk", "repo.icechunk@v1", "repo.icechunk@v1?token=1"):
            with h5py.File(f"{server.url}/{name}") as f:
                np.testing.assert_array_equal(f["a"][()], DATA)


def test_names_with_an_at_sign_are_what_they_are(bucket):
    for name in ("s3://bucket/me@home.zarr", "s3://bucket/you@work/x.zarr"):
        with h5py.File(name, "w") as f:
            f["a"] = DATA
        with h5py.File(name) as f:
            np.testing.assert_array_equal(f["a"][()], DATA)


VERSIONS = """
import sys, h5py, numpy as np
from versioned_hdf5 import VersionedHDF5File
with h5py.File(sys.argv[1], "a") as f:
    for name in sys.argv[2:]:
        with VersionedHDF5File(f).stage_version(name) as new:
            if "a" not in new:
                new.create_dataset("a", data=np.arange(600.).reshape(30, 20), chunks=(8, 8), compression="gzip")
            new["a"][0] = int(name[1:])
"""


def array_by_icechunk(url, prefix, **version):
    """The array "a" of a version of the repository below `prefix`, as icechunk itself reads it."""
    import icechunk

    storage = icechunk.s3_storage(bucket="bucket", prefix=prefix, endpoint_url=url, allow_http=True, region="us-east-1",
                                  force_path_style=True, access_key_id="x", secret_access_key="y")
    session = icechunk.Repository.open(storage).readonly_session(**version)
    return zarr.open_array(session.store, path="a", mode="r")


@needs_command
def test_mirrors_in_a_bucket(bucket, tmp_path):
    icechunk = pytest.importorskip("icechunk", reason="no icechunk in this environment")
    pytest.importorskip("versioned_hdf5", reason="no versioned-hdf5 in this environment")
    source, place = tmp_path / "v.h5", "s3://bucket/mirrors/v.icechunk"
    run_python(VERSIONS, source, "v1", "v2", plugin=False, connector=None)
    assert h5zarr_json("mirror", source, place, "--verify")["added"] == 2
    again = h5zarr_json("mirror", source, place)
    assert again["added"] == 0 and again["objects_written"] == 0
    run_python(VERSIONS, source, "v3", plugin=False, connector=None)
    assert h5zarr_json("mirror", source, place)["added"] == 1
    for version in (1, 2, 3):
        with h5py.File(f"{place}@v{version}") as f:
            assert f["a"][0, 0] == version and f["a"][1, 0] == 20
    with h5py.File(place) as f:
        assert f["a"][0, 0] == 3
    assert array_by_icechunk(bucket, "mirrors/v.icechunk", tag="v2")[0, 0] == 2
    assert set(h5zarr_json("mirror", "status", place)["tags"]) == {"v1", "v2", "v3"}
    assert "all as they should be" in h5zarr("mirror", "verify", place).stdout
    h5zarr("verify", place)
    # A chunk that is damaged is found.
    key = next(key for key in keys_in(bucket, "mirrors/v.icechunk/chunks/"))
    put(bucket, key, b"x" * 100)
    h5zarr("mirror", "verify", place, expected=4)


STATE = """
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "a") as f:
    a = f.require_dataset("a", (30, 20), "f8", chunks=(8, 8), compression="gzip")
    a[:8] = int(sys.argv[2])
"""


@needs_command
def test_states_in_a_bucket(bucket, tmp_path):
    pytest.importorskip("icechunk", reason="no icechunk in this environment")
    source, place = one_of_each.write(tmp_path / "all.h5"), "s3://bucket/states/all.icechunk"
    with h5py.File(source, "r+") as f:
        del f["outside"]  # which a store in a bucket may not lead to
    assert h5zarr_json("mirror", source, place, "--verify")["added"] == 1
    assert h5zarr_json("mirror", source, place)["objects_written"] == 0
    assert h5zarr("diff", source, place).stdout == ""
    source, place = tmp_path / "x.h5", "s3://bucket/states/x.icechunk"
    for state in (1, 2):
        run_python(STATE, source, str(state), plugin=False, connector=None)
        assert h5zarr_json("mirror", source, place, "--tag", f"s{state}", "--verify")["added"] == 1
    for state in (1, 2):
        assert array_by_icechunk(bucket, "states/x.icechunk", tag=f"s{state}")[0, 0] == state
    # What a killed run leaves is taken up: here a tag that was not set yet.
    urllib.request.urlopen(urllib.request.Request(f"{bucket}/bucket/states/x.icechunk/refs/tag.s2/ref.json",
                                                  method="DELETE", headers=SOMEBODY)).close()
    assert h5zarr_json("mirror", source, place)["objects_written"] == 1
    assert array_by_icechunk(bucket, "states/x.icechunk", tag="s2")[0, 0] == 2


@pytest.mark.parametrize("name", ["x.h5", "x.zarr"])
def test_what_a_program_writes_is_mirrored_into_a_bucket(bucket, tmp_path, name):
    pytest.importorskip("icechunk", reason="no icechunk in this environment")
    for state in (1, 2):
        run_python(STATE, tmp_path / name, str(state), connector="zarr mirror=s3://bucket/kept/")
        assert array_by_icechunk(bucket, f"kept/{name}.icechunk", branch="main")[0, 0] == state


def test_a_bucket_that_is_not_there_is_told(bucket, tmp_path):
    code = "import sys, h5py\nh5py.File(sys.argv[1], 'w').close()"
    told = run([sys.executable, "-c", code, tmp_path / "x.h5"], connector="zarr mirror=s3://nowhere/x.icechunk")
    assert told.returncode == 0 and "not mirrored to 's3://nowhere/x.icechunk'" in told.stderr
    failed = run([sys.executable, "-c", code, tmp_path / "x.h5"],
                 connector="zarr mirror=s3://nowhere/x.icechunk;mirror_on_error=fail")
    assert failed.returncode != 0 and "s3://nowhere/x.icechunk" in failed.stderr


@needs_command
def test_two_mirrors_at_once_end_in_one_repository(bucket, tmp_path):
    pytest.importorskip("icechunk", reason="no icechunk in this environment")
    pytest.importorskip("versioned_hdf5", reason="no versioned-hdf5 in this environment")
    from command_support import COMMAND
    source, place = tmp_path / "v.h5", "s3://bucket/twice/v.icechunk"
    run_python(VERSIONS, source, "v1", "v2", "v3", plugin=False, connector=None)
    programs = [subprocess.Popen([COMMAND, "mirror", source, place, "--quiet"], env=environment(),
                                 stderr=subprocess.PIPE, text=True) for _ in range(3)]
    said = [program.communicate(timeout=120)[1] for program in programs]
    for program, err in zip(programs, said):
        assert program.returncode == 0 or "try again" in err, said
    assert any(program.returncode == 0 for program in programs), said
    h5zarr("mirror", source, place, "--verify")
    for version in (1, 2, 3):
        with h5py.File(f"{place}@v{version}") as f:
            assert f["a"][0, 0] == version


@needs_command
def test_exports_to_a_bucket_are_whole_or_nothing(bucket, tmp_path):
    source = tmp_path / "x.h5"
    with h5py.File(source, "w") as f:
        f.create_dataset("g/a", data=DATA, chunks=(20, 30), compression="gzip")
        f["b"] = "text"
    place = "s3://bucket/exports/x.zarr"
    h5zarr("export", source, place)
    assert h5zarr("diff", source, place).stdout == ""
    assert not [key for key in keys_in(bucket, "exports/") if "partial" in key]
    assert h5zarr("export", source, place, expected=4).stderr
    assert h5zarr("diff", source, place).stdout == ""
    with h5py.File(source, "r+") as f:  # what cannot be stored leaves nothing behind
        f.create_group("g/..x").create_dataset("..", data=1)
    failed = h5zarr("export", source, "s3://bucket/exports/y.zarr", expected=4)
    assert failed.stderr and not [key for key in keys_in(bucket, "exports/y")]
    h5zarr("import", place, tmp_path / "back.h5")
    with h5py.File(tmp_path / "back.h5") as f:
        np.testing.assert_array_equal(f["g/a"][()], DATA)


# --- reference files and archives ------------------------------------------------------------------


def references(target, document=None):
    refs = {".zgroup": '{"zarr_format":2}',
            "a/.zarray": json.dumps({"zarr_format": 2, "shape": [60, 70], "chunks": [60, 70], "dtype": "<i4",
                                     "order": "C", "fill_value": 0, "compressor": None, "filters": None}),
            "a/0.0": target}
    return json.dumps({"version": 1, "refs": refs}).encode()


def read_a(name):
    with h5py.File(name) as f:
        return f["a"][()]


def test_reference_files_in_a_bucket_lead_to_it_and_elsewhere(bucket, tmp_path):
    put(bucket, "refs/raw/a.bin", b"head" + DATA.tobytes())
    span = [4, DATA.nbytes]
    (tmp_path / "a.bin").write_bytes(b"head" + DATA.tobytes())
    with fault_server(tmp_path) as server:
        for number, target in enumerate((["raw/a.bin", *span], ["s3://bucket/refs/raw/a.bin", *span],
                                         ["/refs/raw/a.bin", *span], [f"{server.url}/a.bin", *span])):
            put(bucket, f"refs/{number}.json", references(target))
            put(bucket, f"refs/{number}.references", references(target))
            np.testing.assert_array_equal(read_a(f"s3://bucket/refs/{number}.json"), DATA)
            np.testing.assert_array_equal(read_a(f"s3://bucket/refs/{number}.references"), DATA)
        # From a local file, and from one on a web server.
        (tmp_path / "local.json").write_bytes(references(["s3://bucket/refs/raw/a.bin", *span]))
        np.testing.assert_array_equal(read_a(tmp_path / "local.json"), DATA)
        np.testing.assert_array_equal(read_a(f"{server.url}/local.json"), DATA)


@pytest.mark.parametrize("target, message", [
    (["raw/none.bin"], "not there"), (["s3://bucket/none"], "not there"), (["s3://nobody/none"], "no such bucket"),
    (["s3://bucket/../x"], "no object's name"), ([f"file://{__file__}", 0, 60 * 70 * 4], "file of this machine")])
def test_references_that_lead_nowhere_are_errors_and_never_fill(bucket, target, message):
    put(bucket, "refs/bad.json", references(target))
    with h5py.File("s3://bucket/refs/bad.json") as f:
        with pytest.raises(OSError, match=message):
            f["a"][()]


def test_lindi_archives_in_a_bucket_are_read(bucket, tmp_path):
    (tmp_path / "lindi.json").write_bytes(references(["./blobs/a", 4, DATA.nbytes]))
    (tmp_path / "blob").write_bytes(b"head" + DATA.tobytes())
    with tarfile.open(tmp_path / "x.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
        archive.add(tmp_path / "lindi.json", "lindi.json")
        archive.add(tmp_path / "blob", "blobs/a")
    put(bucket, "x.lindi.tar", (tmp_path / "x.tar").read_bytes())
    np.testing.assert_array_equal(read_a("s3://bucket/x.lindi.tar"), DATA)


def test_a_reference_file_finds_the_region_of_its_targets(tmp_path, monkeypatch):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "a.bin").write_bytes(DATA.tobytes())
    (tmp_path / "x.json").write_bytes(references(["s3://far/a.bin"]))
    with fault_server(tmp_path, s3=True, region="eu-north-1") as server:
        use(monkeypatch, server.url, **KEYS)
        np.testing.assert_array_equal(read_a(tmp_path / "x.json"), DATA)
