"""Versions of Icechunk repositories, opened read-only: those that icechunk wrote and keeps (test/golden/icechunk,
make.py there says how), and new ones as the tests go."""
import json
import os
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr

from support import assert_equal, run, tool, tree

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "icechunk"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())
SNAPSHOTS = {name: {version: found["snapshot"] for version, found in
                    json.loads((GOLDEN / f"expected{name}.json").read_text()).items() if "snapshot" in found}
             for name in ("", "-v2")}


@pytest.fixture(params=["", "-v2"], ids=["format 1", "format 2"])
def format_suffix(request):
    return request.param


@pytest.fixture
def golden(tmp_path, format_suffix):
    return str(shutil.copytree(GOLDEN / f"repo{format_suffix}.icechunk", tmp_path / "repo.icechunk"))


def test_both_golden_repositories_hold_the_same():
    for version, found in json.loads((GOLDEN / "expected-v2.json").read_text()).items():
        assert found["arrays"] == EXPECTED[version]["arrays"] and found["groups"] == EXPECTED[version]["groups"]


@pytest.fixture
def new(tmp_path):
    """A new repository of icechunk's, and its path."""
    icechunk = pytest.importorskip("icechunk", reason="no icechunk in this environment")
    path = str(tmp_path / "new.icechunk")
    return icechunk.Repository.create(icechunk.local_filesystem_storage(path)), path


def names(path):
    """All arrays and groups of a file that opens."""
    found = {"arrays": {}, "groups": []}

    def note(name, node):
        if isinstance(node, h5py.Group):
            found["groups"].append(name)
        elif name != "virtual":
            found["arrays"][name] = node[()].tolist()

    with h5py.File(path, "r") as f:
        f.visititems(note)
    return found


@pytest.mark.parametrize("version", EXPECTED)
def test_every_version_reads_as_icechunk_reads_it(golden, version):
    before = tree(golden)
    expected = EXPECTED[version]
    found = names(f"{golden}@{version}")
    assert found["arrays"] == expected["arrays"]
    assert sorted(found["groups"]) == sorted(expected["groups"])
    assert tree(golden) == before


def test_a_version_has_several_names(golden, format_suffix):
    snapshot = SNAPSHOTS[format_suffix]["v2"]
    for name in ("@v2", "@tag:v2", f"@snapshot:{snapshot}"):
        assert names(golden + name)["arrays"] == EXPECTED["v2"]["arrays"], name
    for name in ("", "/", "@main", "@branch:main"):
        assert names(golden + name)["arrays"] == EXPECTED["v4"]["arrays"], name


def test_any_name_that_icechunk_gives_is_found(new):
    repository, path = new
    session = repository.writable_session("main")
    zarr.group(session.store)
    snapshot = session.commit("one")
    names = [f"{chr(sign)}x" for sign in range(0x20, 0x7f) if chr(sign) != "/"] + ["\xe9t\xe9", "\u6570", "50%25"]
    for name in names:
        repository.create_tag("t" + name, snapshot)
        repository.create_branch("b" + name, snapshot)
    for name in names:
        for version in (f"tag:t{name}", f"branch:b{name}", f"t{name}", f"b{name}"):
            with h5py.File(f"{path}@{version}", "r") as f:
                assert list(f) == []


def test_a_group_of_a_version_opens_as_a_file(golden):
    for path in (f"{golden}@v2/group", f"{golden}@v2/group/"):
        with h5py.File(path) as f:
            assert sorted(f) == ["inline", "native"]
            assert f["native"].shape == (9, 12)
    with h5py.File(f"{golden}/group") as f:
        assert sorted(f) == ["deeper", "native"]


def test_a_repository_is_known_by_what_is_in_it(golden):
    other = golden.removesuffix("repo.icechunk") + "no-suffix"
    os.rename(golden, other)
    assert names(other + "@v1")["arrays"] == EXPECTED["v1"]["arrays"]


def test_several_versions_are_open_at_once(golden):
    with h5py.File(golden + "@v1") as first, h5py.File(golden + "@v2") as second, h5py.File(golden) as last:
        assert (first["group/native"][0, 0], second["group/native"][0, 0]) == (0, -1)
        assert first["many"][7] == 77 and last["many"][7] == -5


def test_a_name_is_taken_literally_first(golden):
    with h5py.File(golden + "@v1", "r") as f:
        assert "many" in f
    literal = golden + "@v1"
    shutil.copytree(GOLDEN / "repo.icechunk", literal)
    with h5py.File(literal, "r") as f:  # the repository of that name, at its main branch
        assert f["many"][7] == -5
    shutil.rmtree(literal)
    file = os.path.dirname(golden) + "/a@x.h5"
    with h5py.File(file, "w") as f:
        f["a"] = 1
    with h5py.File(file, "r") as f:
        assert f["a"][()] == 1


@pytest.mark.parametrize("name", ["@nothing", "@tag:main", "@branch:v1", "@gone", "@v1/nothing",
                                  "@snapshot:00000000000000000000"])
def test_what_is_not_there_is_not_found(golden, name):
    with pytest.raises(FileNotFoundError, match="Icechunk|snapshot|node"):
        h5py.File(golden + name, "r")


def test_a_snapshot_that_is_no_identifier_is_an_error(golden):
    with pytest.raises(OSError, match="no identifier"):
        h5py.File(golden + "@snapshot:abc", "r")


@pytest.mark.parametrize("mode", ["r+", "a", "w", "x"])
def test_no_mode_that_writes_opens_a_version(golden, mode):
    before = tree(golden)
    with pytest.raises(PermissionError, match="can only be read"):
        h5py.File(golden + "@v1", mode)
    assert tree(golden) == before
    assert os.listdir(os.path.dirname(golden)) == ["repo.icechunk"]


def test_nothing_changes_in_a_version(golden):
    with h5py.File(golden + "@v1") as f:
        with pytest.raises((OSError, ValueError, KeyError)):
            f["many"][0] = 1
        with pytest.raises((OSError, ValueError)):
            f.create_group("new")


def test_a_virtual_chunk_is_an_error_never_fill(golden):
    with h5py.File(golden + "@v4") as f:
        assert f["virtual"].shape == (4,)
        with pytest.raises(OSError, match="file:///data/x.bin"):
            f["virtual"][...]


def test_parts_read_like_the_whole(golden):
    for version in ("v1", "v3"):
        with h5py.File(f"{golden}@{version}") as f:
            for name, data in EXPECTED[version]["arrays"].items():
                whole = np.array(data)
                for axis, extent in enumerate(whole.shape):
                    part = (slice(None),) * axis + (slice(1, extent - 1, 2),)
                    assert_equal(np.asarray(f[name][part]), whole[part].astype(f[name].dtype))


def test_new_commits_and_holes_read(new):
    repo, path = new
    session = repo.writable_session("main")
    root = zarr.open_group(session.store, mode="w")
    data = np.random.default_rng(5).integers(0, 9, (50, 60)).astype("u2")
    root.create_array("a", shape=data.shape, chunks=(16, 16), dtype="u2", fill_value=3)
    root["a"][:20, :20] = data[:20, :20]
    session.commit("one")
    data[20:] = 3
    data[:, 20:] = 3
    with h5py.File(path) as f:
        assert_equal(f["a"][...], data)
    session = repo.writable_session("main")
    zarr.open_group(session.store)["a"][0, 0] = 1000
    session.commit("two")
    with h5py.File(path) as f:  # a new open sees the new tip
        assert f["a"][0, 0] == 1000


def test_a_dataset_of_xarray_opens_through_h5netcdf(new):
    xarray = pytest.importorskip("xarray", reason="no xarray in this environment")
    repo, path = new
    data = xarray.Dataset({"t": (("y", "x"), np.arange(12.0).reshape(3, 4))}, {"x": [1, 2, 3, 4]})
    session = repo.writable_session("main")
    data.to_zarr(session.store, consolidated=False)
    session.commit("dataset")
    with xarray.open_dataset(path, engine="h5netcdf") as found:
        xarray.testing.assert_equal(found, data)


def test_a_new_repository_has_nothing_to_open(new):
    with pytest.raises(OSError):
        h5py.File(new[1], "r")


def test_h5dump_shows_a_version(golden):
    shown = run([tool("h5dump"), "-d", "/many", "-s", "6", "-c", "2", golden + "@v3"])
    assert shown.returncode == 0 and "(6): -5, -5" in shown.stdout
    shown = run([tool("h5ls"), "-r", golden + "@v1"])
    assert "/group/inline            Dataset {9}" in shown.stdout


@pytest.mark.parametrize("folder", ["snapshots", "manifests", "chunks"])
def test_a_missing_object_is_an_error_never_fill(golden, folder):
    for name in os.listdir(f"{golden}/{folder}"):
        os.remove(f"{golden}/{folder}/{name}")
    with pytest.raises(OSError):
        with h5py.File(golden + "@v1") as f:
            f["group/native"][...]


def test_damaged_metadata_is_refused_and_never_crashes(golden):
    """One bit of a file changes, or its end is missing: it is refused, or what was said by it is well-formed."""
    rng = np.random.default_rng(7)
    errors = 0
    files = [path for path in sorted(Path(golden).rglob("*")) if path.parent.name in ("snapshots", "manifests")]
    if (Path(golden) / "repo").exists():
        files += [Path(golden) / "repo"] * 8
    for path in files:
        good = path.read_bytes()
        for _ in range(4):
            bad = bytearray(good)
            if rng.random() < 0.3:
                del bad[rng.integers(len(bad)):]
            else:
                bad[rng.integers(len(bad))] ^= 1 << int(rng.integers(8))
            path.write_bytes(bad)
            try:
                names(golden + "@v3")
            except (OSError, KeyError, RuntimeError, ValueError):
                errors += 1
            path.write_bytes(good)
    assert errors > 5
    assert names(golden + "@v3")["arrays"] == EXPECTED["v3"]["arrays"]
