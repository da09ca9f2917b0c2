"""HDF5 files behind HTTP servers: the same as locally, in few requests, whatever the server does; no fill for what
could not be read, and no file of this machine read because a remote one names it."""
import json
import os
import shutil
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from http_support import fault_server
from support import assert_equal, run, run_python, tool

rng = np.random.default_rng(11)
NOISE = rng.integers(0, 1 << 15, (64, 250, 250), dtype="i2")  # 8 MB that no filter makes much smaller
EVERYTHING = Path(__file__).with_name("everything.py")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    with h5py.File(folder / "a.h5", "w") as f:
        f["first"] = np.arange(10)
        f.attrs["title"] = "far away"
        f.create_dataset("chunked", data=NOISE, chunks=(1, 250, 250), compression="gzip", shuffle=True)
        f["flat"] = NOISE[::-1]
        f["texts"] = ["x" * (i % 7) for i in range(200)]
        f["deep/er/scalar"] = 2.5
        f.create_dataset("hole", (100, 100), "i4", chunks=(10, 100), fillvalue=-1)[:20] = 7
        f["deep/link"] = f["chunked"].ref
    return folder


def assert_same(url):
    with h5py.File(url, "r") as f:
        assert f.attrs["title"] == "far away" and f.filename == url
        assert_equal(f["chunked"][()], NOISE)
        assert_equal(f["chunked"][3:60:7, 9, 5:200], NOISE[3:60:7, 9, 5:200])
        assert_equal(f["flat"][()], NOISE[::-1])
        assert_equal(f["flat"][:, 17, 3], NOISE[::-1, 17, 3])
        assert list(f["texts"].asstr()[()]) == ["x" * (i % 7) for i in range(200)]
        assert f["deep/er/scalar"][()] == 2.5
        assert_equal(f["hole"][()], np.where(np.arange(100)[:, None] < 20, np.full((100, 100), 7, "i4"), -1))
        assert f[f["deep/link"][()]].name == "/chunked"


def bytes_of(requests):
    return sum(request["bytes"] for request in requests)


def test_a_remote_file_reads_like_a_local_one(root):
    with fault_server(root) as server:
        assert_same(f"{server.url}/a.h5")


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    folder = tmp_path_factory.mktemp("everything")
    words = ["1.14"] if h5py.version.hdf5_version_tuple < (2,) else []
    done = run([sys.executable, EVERYTHING, "write", folder / "all.h5", *words], cwd=folder, connector=None)
    assert done.returncode == 0, done.stderr
    with h5py.File(folder / "all.h5", "r+") as f:  # without what would be read from other files
        del f["external"], f["virtual/nowhere"]
    return folder


def test_all_of_hdf5s_model_reads_like_a_local_file(everything, tmp_path):
    with fault_server(everything) as server:
        said = [run([sys.executable, EVERYTHING, "describe", name], connector="zarr", cwd=tmp_path)
                for name in (everything / "all.h5", f"{server.url}/all.h5")]
    for one in said:
        assert one.returncode == 0, one.stderr
    local, remote = (json.loads(one.stdout) for one in said)
    differ = {name for name in local if local[name] != remote.get(name)}
    if h5py.version.hdf5_version_tuple < (2,):  # some words of these filters are as they were in memory
        differ -= {"/filters/scaleoffset", "/filters/scaleoffset_float", "/filters/nbit_compound"}
    assert differ == set()
    assert set(local) == set(remote)


@pytest.mark.parametrize("userblock", [512, 4096, 1 << 19])
@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_user_blocks_and_formats(tmp_path, userblock, libver):
    with h5py.File(tmp_path / "u.h5", "w", userblock_size=userblock, libver=libver) as f:
        f.create_dataset("x", data=NOISE[:30], chunks=(1, 125, 250), compression="gzip", maxshape=(None, 250, 250))
        f["flat"] = NOISE[:9]
    with fault_server(tmp_path) as server, h5py.File(f"{server.url}/u.h5", "r") as f:
        assert f.userblock_size == userblock
        assert_equal(f["x"][()], NOISE[:30])
        assert_equal(f["flat"][()], NOISE[:9])


def test_opening_and_reading_takes_few_requests_and_bytes(root):
    with fault_server(root) as server, h5py.File(f"{server.url}/a.h5", "r") as f:
        assert_equal(f["first"][()], np.arange(10))
        assert len(server.requests()) <= 3
        stored = f["chunked"].id.get_storage_size()
        server.requests()
        assert_equal(f["chunked"][()], NOISE)
        asked = server.requests()
        assert bytes_of(asked) <= 1.1 * stored and len(asked) <= 20
        assert_equal(f["flat"][()], NOISE[::-1])
        asked = server.requests()
        assert bytes_of(asked) <= 1.1 * NOISE.nbytes and len(asked) <= 4
        assert_equal(f["flat"][20:30, 7, 4], NOISE[::-1][20:30, 7, 4])
        assert bytes_of(server.requests()) < 10 * 8192
        assert_equal(f["chunked"][()], NOISE)
        f["first"][()], f.attrs["title"]
        assert bytes_of(server.requests()) <= 1.1 * stored


def test_what_is_near_in_the_file_costs_nothing_more(tmp_path):
    with h5py.File(tmp_path / "many.h5", "w") as f:
        for i in range(500):
            f.create_group(f"g{i}").attrs["i"] = i
    with fault_server(tmp_path) as server, h5py.File(f"{server.url}/many.h5", "r") as f:
        assert [f[f"g{i}"].attrs["i"] for i in range(500)] == list(range(500))
        assert len(server.requests()) <= 1 + -(-os.path.getsize(tmp_path / "many.h5") >> 20)


@pytest.fixture(scope="module")
def in_turn(tmp_path_factory):
    """A file in which the chunks of two datasets follow each other in turn, of 125 kB each, and reference files of
    one of the datasets. Returns the folder, what is in the dataset, and how many bytes its chunks have."""
    folder = tmp_path_factory.mktemp("in_turn")
    with h5py.File(folder / "two.h5", "w", rdcc_nbytes=0) as f:
        made = [f.create_dataset(name, NOISE.shape, "<i2", chunks=(1, 250, 250), compression=1) for name in "ab"]
        for i, frame in enumerate(NOISE):
            for dataset in made:
                dataset[i] = frame
        f.flush()
        infos = [made[0].id.get_chunk_info(i) for i in range(len(NOISE))]
    places = [(info.byte_offset, info.size) for info in infos]
    assert all(place[0] + place[1] < after[0] for place, after in zip(places, places[1:]))
    return folder, places


def references_of(places, url, lindi):
    metadata = {".zgroup": {"zarr_format": 2}, "a/.zarray": {
        "zarr_format": 2, "shape": NOISE.shape, "chunks": (1, 250, 250), "dtype": "<i2", "compressor": None,
        "filters": [{"id": "zlib", "level": 1}], "fill_value": 0, "order": "C"}}
    if not lindi:
        metadata = {key: json.dumps(value) for key, value in metadata.items()}
    refs = {f"a/{i}.0.0": ["{{u1}}" if lindi else url, *place] for i, place in enumerate(places)}
    more = {"templates": {"u1": url}, "generationMetadata": {"generatedBy": "a test"}} if lindi else {}
    return json.dumps({"version": 1, "refs": metadata | refs} | more)


@pytest.mark.parametrize("name", ["two.h5", "two.json", "two.lindi.json"])
def test_chunks_between_those_of_another_dataset_cost_their_own_bytes(in_turn, name):
    folder, places = in_turn
    with fault_server(folder) as server:
        if name != "two.h5":
            (folder / name).write_text(references_of(places, f"{server.url}/two.h5", "lindi" in name))
        with h5py.File(f"{server.url}/{name}", "r") as f:
            dataset = f["a"]
            assert_equal(dataset[0], NOISE[0])
            assert len(server.requests()) <= 4
            assert_equal(dataset[()], NOISE)
            asked = server.requests()
        assert len(asked) <= len(places) + 4
        assert bytes_of(asked) <= 1.1 * sum(size for _, size in places)


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_opening_takes_at_most_three_requests_before_the_first_dataset(tmp_path, libver):
    """Of a file whose last metadata lie behind 30 MB, in groups of groups."""
    with h5py.File(tmp_path / "x.h5", "w", libver=libver) as f:
        for i in range(4):
            f.create_dataset(f"raw{i}", data=NOISE, chunks=(1, 250, 250))
        for i in range(30):
            f[f"acquisition/group{i}/data"] = np.arange(10)
            f[f"acquisition/group{i}"].attrs["description"] = "x" * 100
    with fault_server(tmp_path) as server, h5py.File(f"{server.url}/x.h5", "r") as f:
        assert len(f) == 5
        assert f["acquisition/group29/data"].shape == (10,)
        assert len(server.requests()) <= 3


def test_chunks_are_asked_for_at_the_same_time(root):
    with fault_server(root, latency_ms=200) as server, h5py.File(f"{server.url}/a.h5", "r") as f:
        dataset = f["chunked"]
        begin = time.perf_counter()
        assert_equal(dataset[:, 100, 100], NOISE[:, 100, 100])  # 64 bytes of 64 chunks
        assert time.perf_counter() - begin < 64 * 0.2 / 4


@pytest.mark.parametrize("connector", ["zarr", "zarr accelerate=off", "zarr cache_bytes=1", "zarr concurrency=1"])
def test_settings_change_no_values(root, connector):
    code = """if True:
        import h5py, sys, zlib
        for url in sys.argv[1:]:
            with h5py.File(url, "r") as f:
                for name in ("chunked", "flat"):
                    print(zlib.crc32(f[name][()]), zlib.crc32(f[name][::5, 9]))
        """
    with fault_server(root) as server:
        said = run_python(code, str(root / "a.h5"), f"{server.url}/a.h5", connector=connector).splitlines()
    assert said[:2] == said[2:]


@pytest.mark.parametrize("habits", [
    {"busy_first": 1}, {"busy_every": 3}, {"cut_first": 1}, {"cut_every": 4}, {"ranges": "no"},
    {"ranges": "no-total"}, {"ranges": "no-suffix"}, {"tags": "weak"}, {"tags": "none"},
    {"redirect": "plain"}, {"redirect": "expiring", "link_uses": 3}, {"chunked": True},
    {"odds": 0.2, "seed": 3}], ids=str)
def test_faults_that_pass_leave_no_trace(root, habits):
    with fault_server(root, **habits) as server:
        assert_same(f"{server.url}/a.h5")


@pytest.mark.parametrize("habits, message", [
    ({"busy_every": 1}, "503"), ({"cut_every": 1, "tags": "changing"}, "replaced|ended|changes"),
    ({"ranges": "wrong"}, "answered with bytes"), ({"encoding": "gzip"}, "Content-Encoding")], ids=str)
def test_faults_that_stay_are_errors(root, habits, message):
    code = "import h5py, sys; h5py.File(sys.argv[1], 'r')"
    with fault_server(root, **habits) as server:
        done = run([sys.executable, "-c", code, f"{server.url}/a.h5"], connector="zarr retries=1")
    assert done.returncode == 1 and "OSError" in done.stderr
    import re
    assert re.search(message, done.stderr), done.stderr


@pytest.mark.parametrize("name", ["chunked", "flat"])
def test_a_file_that_is_replaced_meanwhile_is_an_error_and_no_mixture(root, tmp_path, name):
    shutil.copy(root / "a.h5", tmp_path / "b.h5")
    with fault_server(tmp_path) as server, h5py.File(f"{server.url}/b.h5", "r") as f:
        dataset = f[name]
        with h5py.File(tmp_path / "new.h5", "w") as other:
            other["flat"] = NOISE[:40]
        os.replace(tmp_path / "new.h5", tmp_path / "b.h5")
        with pytest.raises(OSError, match="replaced meanwhile"):
            dataset[()]
    with fault_server(tmp_path) as server, h5py.File(f"{server.url}/b.h5", "r") as f:
        assert_equal(f["flat"][()], NOISE[:40])


def test_a_large_file_of_a_server_without_ranges_is_refused(tmp_path):
    with h5py.File(tmp_path / "large.h5", "w") as f:
        f.create_dataset("x", (70 << 20,), "i1", fillvalue=1)[...] = 2
    with fault_server(tmp_path, ranges="no") as server:
        with pytest.raises(OSError, match="knows no ranges"):
            h5py.File(f"{server.url}/large.h5", "r")


def test_what_is_no_hdf5_file_is_said(root, tmp_path):
    (tmp_path / "page.html").write_text("<html>hello</html>")
    (tmp_path / "empty.h5").write_bytes(b"")
    (tmp_path / "cut.h5").write_bytes((root / "a.h5").read_bytes()[:3_000_000])
    with fault_server(tmp_path) as server:
        with pytest.raises(FileNotFoundError):
            h5py.File(f"{server.url}/nothing.h5", "r")
        for name in ("page.html", "empty.h5", "cut.h5"):
            with pytest.raises(OSError):
                h5py.File(f"{server.url}/{name}", "r")
        assert not h5py.is_hdf5(f"{server.url}/page.html")


@pytest.mark.parametrize("mode", ["r+", "a", "w", "x"])
def test_writing_is_refused(root, mode):
    with fault_server(root) as server:
        with pytest.raises(OSError, match="can only be read"):
            h5py.File(f"{server.url}/a.h5", mode)
        with h5py.File(f"{server.url}/a.h5", "r") as f:
            with pytest.raises((OSError, ValueError, KeyError, RuntimeError)):
                f.create_group("new")
            with pytest.raises((OSError, ValueError, KeyError, RuntimeError)):
                f["first"][0] = 1


def test_a_dataset_outlives_its_file_and_one_file_opens_twice(root):
    with fault_server(root) as server:
        url = f"{server.url}/a.h5"
        dataset = h5py.File(url, "r")["chunked"]
        assert_equal(dataset[5:9], NOISE[5:9])
        with h5py.File(url, "r") as f, h5py.File(url, "r") as again:
            server.requests()
            assert f["first"][3] == again["first"][3] == 3
            assert server.requests() == []
            assert dataset.file == f
        assert_equal(dataset[40:], NOISE[40:])


def test_the_access_list_of_a_remote_file_opens_other_files(root, tmp_path):
    with h5py.File(tmp_path / "local.h5", "w") as f:
        f["x"] = 5
    with fault_server(root) as server, h5py.File(f"{server.url}/a.h5", "r") as f:
        assert f.driver == "sec2"
        fapl = f.id.get_access_plist()
        for name in (tmp_path / "local.h5", f"{server.url}/a.h5"):
            other = h5py.h5f.open(str(name).encode(), h5py.h5f.ACC_RDONLY, fapl)
            assert len(h5py.File(other)) > 0
            other.close()


def test_what_is_asked_for_is_seen_in_a_trace(root):
    code = "import h5py, sys; h5py.File(sys.argv[1])['flat'][:, 3, 3]"
    with fault_server(root) as server:
        done = run([sys.executable, "-c", code, f"{server.url}/a.h5"], connector="zarr trace=2")
        assert f"'{server.url}/a.h5': " in done.stderr and " ranges, " in done.stderr


def test_a_forked_child_reads_on(root):
    code = """if True:
        import h5py, os, sys
        with h5py.File(sys.argv[1], "r") as f:
            first = f["chunked"][0, 0, 0]
            child = os.fork()
            if child == 0:
                os._exit(0 if f["chunked"][60:].sum(dtype="i8") == int(sys.argv[2]) else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert f["chunked"][60:].sum(dtype="i8") == int(sys.argv[2])
        """
    with fault_server(root) as server:
        run_python(code, f"{server.url}/a.h5", str(NOISE[60:].sum(dtype="i8")))


def test_hdf5s_tools_say_the_same(root):
    with fault_server(root) as server:
        url = f"{server.url}/a.h5"
        for command in (["h5dump", "-d", "/first", "-d", "/texts"], ["h5ls", "-r"], ["h5dump", "-H"],
                        ["h5dump", "-d", "/chunked", "-s", "3,0,0", "-c", "9,1,4"], ["h5stat"]):
            local, remote = (run([tool(command[0]), *command[1:], name]) for name in (root / "a.h5", url))
            assert remote.returncode == local.returncode == 0, remote.stderr
            assert remote.stdout.replace(url, str(root / "a.h5")) == local.stdout
        done = run([tool("h5diff"), root / "a.h5", url])
        assert (done.returncode, done.stdout) == (0, "")


def test_without_the_variable_hdf5_1_14_opens_it_and_2_says_what_to_set(root):
    code = "import h5py, sys; print(h5py.File(sys.argv[1], 'r')['chunked'][5].sum(dtype='i8'))"
    with fault_server(root) as server:
        done = run([sys.executable, "-c", code, f"{server.url}/a.h5"], connector=None)
    if h5py.version.hdf5_version_tuple < (2,):
        assert done.stdout == f"{NOISE[5].sum(dtype='i8')}\n"
    else:
        assert "HDF5_VOL_CONNECTOR=zarr" in done.stderr and done.returncode == 1


# --- what a remote file names ---------------------------------------------------------------------------------------

def test_external_links_lead_beside_the_file_and_to_urls(root, tmp_path):
    shutil.copy(root / "a.h5", tmp_path / "a b.h5")
    (tmp_path / "sub").mkdir()
    with fault_server(tmp_path) as server:
        with h5py.File(tmp_path / "sub/links.h5", "w") as f:
            f["up"] = h5py.ExternalLink("../a b.h5", "/chunked")
            f["url"] = h5py.ExternalLink(f"{server.url}/a%20b.h5", "/flat")
            f["nothing"] = h5py.ExternalLink("nothing.h5", "/x")
            f["as written"] = h5py.ExternalLink("/data/on/that/machine/target.h5", "/first")
        shutil.copy(root / "a.h5", tmp_path / "sub/target.h5")
        with h5py.File(f"{server.url}/sub/links.h5", "r") as f:
            assert_equal(f["up"][()], NOISE)
            assert f["up"].file.filename == f"{server.url}/a%20b.h5"
            assert_equal(f["url"][2], NOISE[-3])
            assert f["as written"][4] == 4
            with pytest.raises(KeyError):
                f["nothing"]
        with h5py.File(tmp_path / "sub/links.h5", "r") as f:
            assert_equal(f["url"][()], NOISE[::-1])


def test_external_links_of_a_remote_file_open_no_local_file(root, tmp_path, monkeypatch):
    secret = tmp_path / "elsewhere/secret.h5"
    secret.parent.mkdir()
    shutil.copy(root / "a.h5", secret)
    (tmp_path / "served").mkdir()
    with h5py.File(tmp_path / "served/links.h5", "w") as f:
        for i, target in enumerate((str(secret), f"file://{secret}", "secret.h5", "../elsewhere/secret.h5")):
            f[f"{i}"] = h5py.ExternalLink(target, "/first")
    monkeypatch.chdir(secret.parent)
    monkeypatch.setenv("HDF5_EXT_PREFIX", str(secret.parent))
    with fault_server(tmp_path / "served") as server, h5py.File(f"{server.url}/links.h5", "r") as f:
        for name in f:
            with pytest.raises(KeyError):
                f[name]


def virtual(path, source, shape=(4, 250, 250)):
    layout = h5py.VirtualLayout(shape, "i2")
    layout[...] = h5py.VirtualSource(source, "chunked", NOISE.shape)[:4]
    with h5py.File(path, "w") as f:
        f.create_virtual_dataset("v", layout, fillvalue=-5)


def test_sources_of_virtual_datasets_lie_beside_the_file(root, tmp_path):
    shutil.copy(root / "a.h5", tmp_path / "a.h5")
    virtual(tmp_path / "v.h5", "a.h5")
    virtual(tmp_path / "old.h5", "/on/another/machine/a.h5")
    with fault_server(tmp_path) as server:
        for name in ("v.h5", "old.h5"):
            with h5py.File(f"{server.url}/{name}", "r") as f:
                assert_equal(f["v"][()], NOISE[:4])
                assert_equal(f["v"][1, 2, 3:5], NOISE[1, 2, 3:5])


def test_sources_of_remote_virtual_datasets_are_no_local_files_and_no_fill(root, tmp_path, monkeypatch):
    (tmp_path / "served").mkdir()
    shutil.copy(root / "a.h5", tmp_path / "a.h5")
    targets = (str(tmp_path / "a.h5"), f"file://{tmp_path}/a.h5", "a.h5")
    for i, target in enumerate(targets):
        virtual(tmp_path / f"served/v{i}.h5", target)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HDF5_VDS_PREFIX", str(tmp_path))
    with fault_server(tmp_path / "served") as server:
        for i in range(len(targets)):
            with h5py.File(f"{server.url}/v{i}.h5", "r") as f, pytest.raises(OSError):
                f["v"][()]


def test_external_storage_of_a_remote_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw.bin").write_bytes(np.arange(100, dtype="i4").tobytes())
    with h5py.File(tmp_path / "e.h5", "w") as f:
        f.create_dataset("x", (100,), "i4", external=[("raw.bin", 0, 400)])
    with fault_server(tmp_path) as server, h5py.File(f"{server.url}/e.h5", "r") as f:
        with pytest.raises(OSError, match="files of this machine"):
            f["x"][()]


@pytest.mark.parametrize("status, kind", [(401, PermissionError), (403, PermissionError), (404, FileNotFoundError),
                                          (410, FileNotFoundError), (400, OSError)])
def test_errors_name_what_was_asked_for_and_no_object_of_a_store(root, status, kind):
    with fault_server(root, missing=status) as server:
        for name in "none.h5", "deep/none.nwb?token=hush", "none":
            with pytest.raises(kind) as refused:
                h5py.File(f"{server.url}/{name}", "r")
            said = str(refused.value)
            assert f"{server.url}/{name.partition('?')[0]}" in said and "hush" not in said, said
            assert "zarr.json" not in said and (str(status) in said or kind is FileNotFoundError), said
