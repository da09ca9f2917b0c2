"""Stores behind HTTP servers: the same data as locally, in few requests, whatever the server does; and never
fill for what could not be read."""
import json
import os
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr

from http_support import fault_server
from support import run, run_python, tool

rng = np.random.default_rng(7)
DATA = rng.integers(0, 1 << 30, (200, 300), dtype="i4")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with stores: consolidated v3 and v2, one without consolidated metadata, one array."""
    folder = tmp_path_factory.mktemp("served")
    for name, zarr_format in (("v3.zarr", 3), ("v2.zarr", 2), ("plain.zarr", 3)):
        group = zarr.create_group(str(folder / name), zarr_format=zarr_format)
        group.attrs["title"] = "far away"
        chunked = group.create_array("chunked", shape=DATA.shape, chunks=(50, 60), dtype="i4", fill_value=-1)
        chunked[...] = DATA
        raw = group.create_array("deep/raw", shape=DATA.shape, chunks=(100, 300), dtype="i4",
                                 fill_value=-1, compressors=None)
        raw[...] = DATA
        hole = group.create_array("hole", shape=DATA.shape, chunks=(100, 100), dtype="i4", fill_value=-1)
        hole[:100] = DATA[:100]
        if zarr_format == 3:
            sharded = group.create_array("sharded", shape=DATA.shape, shards=(100, 300), chunks=(20, 30),
                                         dtype="i4", fill_value=-1)
            sharded[...] = DATA
        odd = group.create_array("sp ace%41/\u00fc", shape=(3,), dtype="i2", fill_value=0)
        odd[...] = [7, 8, 9]
        if name != "plain.zarr":
            zarr.consolidate_metadata(str(folder / name))
    single = zarr.create_array(str(folder / "single.zarr"), shape=(4,), dtype="f8")
    single[...] = [1, 2, 3, 4]
    return folder


HOLE = np.where(np.arange(200)[:, None] < 100, DATA, -1)


def assert_same(url, name="v3.zarr"):
    with h5py.File(f"{url}/{name}", "r") as f:
        np.testing.assert_array_equal(f["chunked"][()], DATA)
        np.testing.assert_array_equal(f["deep/raw"][3:170:5, 7:290], DATA[3:170:5, 7:290])
        np.testing.assert_array_equal(f["hole"][()], HOLE)
        if "sharded" in f:
            np.testing.assert_array_equal(f["sharded"][15:120, 100:110], DATA[15:120, 100:110])
        assert f.attrs["title"] == "far away"


def test_a_document_in_place_of_its_store_is_refused_with_the_folder_to_open(root):
    with fault_server(root) as server:
        for name in ("v3.zarr/zarr.json", "v2.zarr/.zmetadata", "v3.zarr/zarr.json?token=secret"):
            with pytest.raises(OSError, match=f"open is its folder, '{server.url}/v[23].zarr'") as error:
                h5py.File(f"{server.url}/{name}")
            assert "secret" not in str(error.value)


def test_a_store_that_is_one_array_has_the_name_that_its_url_means(tmp_path):
    zarr.create_array(str(tmp_path / "a b%.zarr"), data=np.arange(3))
    with fault_server(tmp_path) as server, h5py.File(f"{server.url}/a%20b%25.zarr?token=secret") as f:
        assert list(f) == ["a b%"]
        assert f["a b%"][...].tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", ["v3.zarr", "v2.zarr"])
def test_a_consolidated_store_is_listed_and_read(root, name):
    with fault_server(root) as server:
        assert_same(server.url, name)
        with h5py.File(f"{server.url}/{name}/", "r") as f:
            local = {}
            with h5py.File(root / name, "r") as g:
                g.visititems(lambda path, item: local.__setitem__(path, getattr(item, "shape", None)))
            remote = {}
            f.visititems(lambda path, item: remote.__setitem__(path, getattr(item, "shape", None)))
            assert remote == local
            assert list(f["sp ace%41/\u00fc"]) == [7, 8, 9]


def test_random_faults_give_the_right_data_or_a_clear_error():
    script = Path(__file__).resolve().parents[1] / "suites/remote_faults.py"
    done = run([sys.executable, "-W", "ignore", script, "25", "1"], timeout=300)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name, most", [("v3.zarr", 1), ("v2.zarr", 2), ("plain.zarr", 3)])
def test_opening_takes_few_requests(root, name, most):
    with fault_server(root) as server:
        with h5py.File(f"{server.url}/{name}", "r") as f:
            assert f.attrs["title"] == "far away"
        assert len(server.requests()) <= most


def test_a_read_asks_once_for_each_chunk_and_for_no_more_bytes(root):
    with fault_server(root) as server:
        with h5py.File(f"{server.url}/v3.zarr", "r") as f:
            dataset = f["chunked"]
            server.requests()
            dataset[()]
        asked = server.requests()
        assert len(asked) == 20 and len({one["path"] for one in asked}) == 20
        payload = sum(os.path.getsize(root / "v3.zarr/chunked/c" / str(i) / str(j))
                      for i in range(4) for j in range(5))
        assert sum(one["bytes"] for one in asked) <= 1.1 * payload
        assert len({one["connection"] for one in asked}) <= 32


def test_parts_of_a_shard_are_joined(root):
    with fault_server(root) as server:
        with h5py.File(f"{server.url}/v3.zarr", "r") as f:
            dataset = f["sharded"]
            server.requests()
            np.testing.assert_array_equal(dataset[:100], DATA[:100])
            asked = server.requests()
            assert len(asked) == 2  # its index, then all of its inner chunks
            assert sum(one["bytes"] for one in asked) <= 1.1 * os.path.getsize(root / "v3.zarr/sharded/c/0/0")


def test_rows_of_an_uncompressed_chunk_cost_those_rows(tmp_path):
    big = np.arange(4 << 20, dtype="f4").reshape(1024, -1)
    zarr.create_array(str(tmp_path / "big.zarr"), data=big, chunks=big.shape, compressors=None)
    with fault_server(tmp_path) as server:
        with h5py.File(f"{server.url}/big.zarr", "r") as f:
            dataset = f["big"]
            server.requests()
            np.testing.assert_array_equal(dataset[100:110], big[100:110])
            asked = server.requests()
            assert sum(one["bytes"] for one in asked) == 10 * 4096 * 4
            np.testing.assert_array_equal(dataset[()], big)
            asked = server.requests()
            assert 4 <= len(asked) <= 8 and max(one["bytes"] for one in asked) <= 4 << 20
            assert sum(one["bytes"] for one in asked) == big.nbytes


def test_many_requests_go_at_once(root):
    with fault_server(root, latency_ms=100) as server:
        with h5py.File(f"{server.url}/v3.zarr", "r") as f:
            dataset = f["chunked"]
            begin = time.perf_counter()
            dataset[()]
            assert time.perf_counter() - begin < 1.0  # one after the other: 2 s


def test_a_body_that_breaks_off_is_asked_for_from_there_on(tmp_path):
    data = rng.integers(0, 1 << 15, (4, 1000, 1000), dtype="i2")
    zarr.create_array(str(tmp_path / "a.zarr"), name="a", data=data, chunks=(1, 1000, 1000), compressors=None)
    with fault_server(tmp_path, cut_first=1) as server:
        with h5py.File(f"{server.url}/a.zarr", "r") as f:
            np.testing.assert_array_equal(f["a"][()], data)
        asked = [one for one in server.requests() if "/c/" in one["path"]]
    assert sum(one["bytes"] for one in asked) == data.nbytes
    assert len(asked) == 8 and sum((one["range"] or "").startswith("bytes=1000000-") for one in asked) == 4


def test_a_busy_server_is_asked_for_less_at_once(tmp_path):
    zarr.create_array(str(tmp_path / "a.zarr"), name="a", data=np.arange(200), chunks=(1,))
    with fault_server(tmp_path) as server:
        with h5py.File(f"{server.url}/a.zarr", "r") as f:
            dataset = f["a"]
            at_once = []
            for habits in ({}, {"busy_every": 2}):
                server.become(latency_ms=100, **habits)
                assert list(dataset[()]) == list(range(200))
                at_once.append([one["at_once"] for one in server.requests()])
    # (Nearly: the server counts what it is about to be done with.)
    assert max(at_once[0]) > 24
    assert max(at_once[1][100:200]) <= 20


def test_concurrency_is_a_limit(root):
    code = """if True:
        import h5py, sys
        with h5py.File(sys.argv[1] + "/v3.zarr", "r") as f:
            f["chunked"][()]
        """
    with fault_server(root, latency_ms=20) as server:
        run_python(code, server.url, connector="zarr concurrency=3")
        assert len({one["connection"] for one in server.requests()}) <= 3


FAULTS = {
    "busy now and then": dict(busy_every=3),
    "busy at first": dict(busy_first=2),
    "cut now and then": dict(cut_every=3),
    "cut at first": dict(cut_first=2),
    "cut, without tags": dict(cut_every=4, tags="none"),
    "cut, weak tags": dict(cut_every=4, tags="weak"),
    "no ranges": dict(ranges="no"),
    "no ranges, cut": dict(ranges="no", cut_every=5),
    "no suffixes": dict(ranges="no-suffix"),
    "no totals": dict(ranges="no-total"),
    "chunked": dict(chunked=True),
    "chunked, no ranges": dict(chunked=True, ranges="no"),
    "chunked and cut": dict(chunked=True, cut_every=4),
    "redirects": dict(redirect="plain"),
    "expiring redirects": dict(redirect="expiring"),
    "expiring redirects, cut": dict(redirect="expiring", cut_every=7),
}


@pytest.mark.parametrize("habits", FAULTS.values(), ids=FAULTS.keys())
@pytest.mark.parametrize("name", ["v3.zarr", "v2.zarr"])
def test_faults_that_pass_leave_no_trace(root, habits, name):
    if habits.get("chunked") and habits.get("ranges") == "no" and name == "v3.zarr":
        pytest.skip("a shard's index at the end of an object of unknown length: see the next test")
    with fault_server(root, **habits) as server:
        assert_same(server.url, name)


@pytest.mark.parametrize("name", ["v3.zarr", "v2.zarr", "single.zarr"])
def test_objects_that_come_encoded_whatever_was_asked_for_are_decoded(root, name):
    """As they do where they were stored so: `aws s3 cp --content-encoding gzip`, gzip_static."""
    with fault_server(root, encoding="gzip", cut_first=2) as server:
        with h5py.File(f"{server.url}/{name}", "r") as f:
            if name == "single.zarr":
                assert f["single"][...].tolist() == [1, 2, 3, 4]
                return
            np.testing.assert_array_equal(f["chunked"][...], DATA)
            assert f.attrs["title"] == "far away"
            if "sharded" in f:  # its end is not to be had
                with pytest.raises(OSError, match="Content-Encoding: gzip"):
                    f["sharded"][3, 5]
            np.testing.assert_array_equal(f["deep/raw"][...], DATA)
            np.testing.assert_array_equal(f["deep/raw"][150:, 7], DATA[150:, 7])


def test_a_mark_of_how_an_object_was_uploaded_is_no_encoding(root):
    with fault_server(root, more_headers=[["Content-Encoding", "aws-chunked"]]) as server:
        assert_same(server.url)


def test_an_encoding_that_nobody_knows_is_an_error(root):
    with fault_server(root, more_headers=[["Content-Encoding", "squeezed"]]) as server:
        with pytest.raises(OSError, match="Content-Encoding: squeezed"):
            h5py.File(f"{server.url}/v3.zarr", "r")


def test_a_suffix_of_an_answer_without_length_is_refused(root):
    with fault_server(root, chunked=True, ranges="no") as server:
        with h5py.File(f"{server.url}/v3.zarr", "r") as f:
            np.testing.assert_array_equal(f["chunked"][()], DATA)
            with pytest.raises(OSError, match="knows no ranges"):
                f["sharded"][0]


@pytest.mark.parametrize("habits, message", [
    (dict(ranges="wrong"), "the object has only"),
    (dict(encoding="gzip"), "Content-Encoding"),
    (dict(missing=500), "500"),
    (dict(missing=403), "403"),
])
def test_faults_that_stay_are_errors_and_never_fill(root, habits, message):
    code = """if True:
        import h5py, sys
        with h5py.File(sys.argv[1] + "/plain.zarr", "r") as f:
            f["chunked"][()], f["hole"][()], f["sharded"][3, 5]
        """
    with fault_server(root, **habits) as server:
        done = run([sys.executable, "-c", code, server.url], connector="zarr retries=1")
        assert done.returncode != 0 and message in done.stderr, done.stderr


def test_a_server_may_answer_403_where_nothing_is_if_told(root):
    code = """if True:
        import h5py, sys
        with h5py.File(sys.argv[1] + "/plain.zarr", "r") as f:
            print(f["hole"][150, 150])
        """
    with fault_server(root, missing=403) as server:
        assert run_python(code, server.url, connector="zarr missing=403") == "-1\n"


@pytest.mark.parametrize("missing", [403, "page"])
@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_stores_open_where_documents_that_are_not_there_are_refused_or_pages(tmp_path, zarr_format, consolidated,
                                                                             missing):
    group = zarr.open_group(tmp_path / "x.zarr", mode="w", zarr_format=zarr_format)
    array = group.create_array("a", shape=(20,), chunks=(10,), dtype="i4", fill_value=-1)
    array[:10] = range(10)
    if consolidated:
        zarr.consolidate_metadata(tmp_path / "x.zarr")
    with fault_server(tmp_path, missing=missing) as server:
        with h5py.File(f"{server.url}/x.zarr", "r") as f:
            assert f["a"][:10].tolist() == list(range(10))
            with pytest.raises(OSError):  # never fill
                f["a"][...]
        with h5py.File(f"{server.url}/x.zarr/a", "r") as f:
            assert f["a"][:10].tolist() == list(range(10))
        with pytest.raises(PermissionError if missing == 403 else OSError, match="HTTP status 403|no Zarr store"):
            h5py.File(f"{server.url}/y.zarr", "r")


def test_faults_at_random_give_the_right_data_or_an_error(root):
    runs = int(os.environ.get("H5ZARR_FAULT_RUNS", "10"))
    right = 0
    with fault_server(root) as server:
        for seed in range(runs):
            choose = np.random.default_rng(seed).choice
            habits = dict(odds=float(choose([0.05, 0.2, 0.5])), seed=seed,
                          ranges=str(choose(["yes", "yes", "no", "no-suffix", "no-total"])),
                          tags=str(choose(["strong", "strong", "weak", "none"])))
            if choose([False, True]):
                habits["redirect"] = str(choose(["plain", "expiring"]))
            server.become(**habits)
            try:
                assert_same(server.url, str(choose(["v3.zarr", "v2.zarr"])))
                right += 1
            except (OSError, KeyError) as error:
                assert "127.0.0.1" in str(error) and "hush" not in str(error), (habits, error)
    assert right >= runs // 2


def test_standstill_is_noticed(root):
    code = """if True:
        import h5py, sys
        with h5py.File(sys.argv[1] + "/v3.zarr", "r") as f:
            print(int(f["chunked"][()].sum(dtype="i8")))
        """
    with fault_server(root, stall_every=9) as server:
        begin = time.perf_counter()
        assert int(run_python(code, server.url, connector="zarr timeout_s=1")) == DATA.sum(dtype="i8")
        assert time.perf_counter() - begin < 20


def test_an_object_that_changes_meanwhile_is_no_mixture(root):
    with fault_server(root, tags="changing") as server:
        with h5py.File(f"{server.url}/v3.zarr", "r") as f:
            np.testing.assert_array_equal(f["chunked"][()], DATA)  # each chunk is one answer
            with pytest.raises(OSError, match="replaced meanwhile"):
                f["sharded"][0]


def test_what_is_not_there_is_file_not_found(root):
    with fault_server(root) as server:
        with pytest.raises(FileNotFoundError, match="no Zarr store"):
            h5py.File(f"{server.url}/nothing.zarr", "r")
        assert not h5py.is_hdf5(f"{server.url}/nothing.zarr")
        with h5py.File(f"{server.url}/v3.zarr", "r") as f:
            server.requests()
            assert "missing" not in f and "chunked" in f
            assert server.requests() == []


def test_nobody_there_is_an_error_soon():
    begin = time.perf_counter()
    with pytest.raises(OSError, match="127.0.0.1:9/x.zarr"):
        h5py.File("http://127.0.0.1:9/x.zarr", "r")
    assert time.perf_counter() - begin < 5


@pytest.mark.parametrize("mode", ["r+", "a", "w", "x"])
def test_writing_is_refused(root, mode):
    with fault_server(root) as server:
        with pytest.raises(OSError, match="can only be read"):
            h5py.File(f"{server.url}/v3.zarr", mode)
        with h5py.File(f"{server.url}/v3.zarr", "r") as f, pytest.raises((OSError, ValueError, KeyError)):
            f.create_group("new")


def test_without_consolidated_metadata_paths_can_be_opened_but_not_listed(root):
    with fault_server(root) as server:
        assert_same(server.url, "plain.zarr")
        with h5py.File(f"{server.url}/plain.zarr", "r") as f:
            with pytest.raises(Exception, match="consolidate_metadata"):
                list(f)


def test_a_single_array_is_a_dataset(root):
    with fault_server(root) as server:
        with h5py.File(f"{server.url}/single.zarr", "r") as f:
            assert list(f["single"]) == [1, 2, 3, 4]


def test_passwords_come_from_netrc_and_are_never_shown(root, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login ann password hush-hush\n")
    netrc.chmod(0o600)
    code = """if True:
        import h5py, sys
        with h5py.File(sys.argv[1] + "/v3.zarr", "r") as f:
            print(f["chunked"][0, 0])
        """
    with fault_server(root, user="ann", password="hush-hush") as server:
        assert run_python(code, server.url, NETRC=str(netrc)) == f"{DATA[0, 0]}\n"
        refused = run([sys.executable, "-c", code, server.url])
        assert "PermissionError" in refused.stderr and "401" in refused.stderr
        there = server.url.replace("//", "//ann:hush-hush@")
        assert run_python(code, there) == f"{DATA[0, 0]}\n"
        wrong = run([sys.executable, "-c", code, server.url.replace("//", "//ann:hush-wrong@")])
        assert wrong.returncode != 0 and "hush" not in wrong.stderr.split("h5py.File")[-1]


def test_a_server_that_sends_its_users_to_log_in_and_back_with_a_cookie_is_read(root, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login ann password hush-hush\n")
    netrc.chmod(0o600)
    code = """if True:
        import h5py, sys
        with h5py.File(sys.argv[1] + "/v3.zarr", "r") as f, h5py.File(sys.argv[1] + "/v3.zarr", "r") as g:
            print((f["chunked"][...] == g["sharded"][...]).all())
        """
    with fault_server(root, log_in=["ann", "hush-hush"]) as server:
        assert run_python(code, server.url, NETRC=str(netrc)) == "True\n"
        asked = server.requests()
        # Once logged in (as often as requests went at once), nobody is sent there again.
        assert 1 <= sum(one["path"].startswith("/_log_in") for one in asked) < 5
        assert asked[-1]["headers"]["cookie"] == "session=good; x=1"
        refused = run([sys.executable, "-c", code, server.url])
        assert "PermissionError" in refused.stderr and "401" in refused.stderr


def test_cookies_go_to_no_other_server(root, tmp_path):
    with fault_server(root) as other, fault_server(root, more_headers=[["Set-Cookie", "a=1; Domain=localhost"],
                                                                       ["Set-Cookie", "b=2"]]) as server:
        refs = {name: [f"{server.url}/v3.zarr/{name}"] for name in ("zarr.json", "chunked/zarr.json")}
        refs["chunked/c/0/0"] = [f"{server.url}/v3.zarr/chunked/c/0/0"]
        refs["chunked/c/0/1"] = [other.url.replace("127.0.0.1", "localhost") + "/v3.zarr/chunked/c/0/1"]
        (tmp_path / "x.json").write_text(json.dumps({"version": 1, "refs": refs}))
        with h5py.File(tmp_path / "x.json", "r") as f:
            f["chunked"][0]
        assert [one["path"] for one in other.requests()] == ["/v3.zarr/chunked/c/0/1"]
        with h5py.File(tmp_path / "x.json", "r") as f:
            f["chunked"][0]
        assert all("cookie" not in one["headers"] for one in other.requests())
        assert any(one["headers"].get("cookie") == "b=2" for one in server.requests())


def test_headers_of_a_file_go_to_the_server_and_to_no_signed_link(root, tmp_path):
    headers = tmp_path / "headers"
    headers.write_text("# for the archive\nX-Token: hush-hush\n")
    code = """if True:
        import h5py, sys
        with h5py.File(sys.argv[1] + "/v3.zarr", "r") as f:
            print(f["sharded"][0, 0])
        """
    with fault_server(root, token="hush-hush", redirect="plain") as server:
        assert run_python(code, server.url, H5ZARR_HEADERS_FILE=str(headers)) == f"{DATA[0, 0]}\n"
        for asked in server.requests():
            assert ("x-token" in asked["headers"]) != asked["path"].startswith("/signed/")
        headers.write_text("X-Token hush-hush\n")
        bad = run([sys.executable, "-c", code, server.url], H5ZARR_HEADERS_FILE=str(headers))
        assert "line 1 is not 'Name: value'" in bad.stderr and "hush" not in bad.stderr


def test_links_are_asked_for_once_for_each_object(root):
    with fault_server(root, redirect="plain") as server:
        with h5py.File(f"{server.url}/v3.zarr", "r") as f:
            for row in range(0, 100, 20):
                f["sharded"][row]
        asked = [one["path"] for one in server.requests()]
        assert len([path for path in asked if path.endswith("sharded/c/0/0")]) == 1


def test_queries_stay_behind_every_key_and_out_of_messages(root):
    with fault_server(root) as server:
        with h5py.File(f"{server.url}/v3.zarr?sig=hush", "r") as f:
            f["chunked"][0, 0]
            asked = [one["path"] for one in server.requests()]
            assert asked[0] == "/v3.zarr/zarr.json?sig=hush" and all(p.endswith("?sig=hush") for p in asked)
        with pytest.raises(FileNotFoundError) as error:
            h5py.File(f"{server.url}/nothing.zarr?sig=hush", "r")
        assert "hush" not in str(error.value)


def test_a_forked_child_reads_on(root):
    code = """if True:
        import h5py, os, sys
        url = sys.argv[1] + "/v3.zarr"
        with h5py.File(url, "r") as f:
            first = f["chunked"][0, 0]
            child = os.fork()
            if child == 0:
                with h5py.File(url, "r") as g:
                    os._exit(0 if g["chunked"][199, 299] == int(sys.argv[2]) else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            print(first, f["chunked"][199, 299])
        """
    with fault_server(root) as server:
        assert run_python(code, server.url, str(DATA[-1, -1])) == f"{DATA[0, 0]} {DATA[-1, -1]}\n"


def test_tools_read_over_http(root):
    with fault_server(root) as server:
        done = run([tool("h5dump"), "-d", "/chunked", "-s", "1,2", "-c", "1,2", f"{server.url}/v3.zarr"])
        assert done.returncode == 0 and f"(1,2): {DATA[1, 2]}, {DATA[1, 3]}" in done.stdout, done.stderr
        done = run([tool("h5ls"), "-r", f"{server.url}/v3.zarr"])
        assert "/deep/raw                Dataset {200, 300}" in done.stdout, done.stdout + done.stderr


def test_loading_the_plugin_does_not_load_libcurl(root):
    code = """if True:
        import h5py, sys
        with h5py.File(sys.argv[1], "r") as f:
            f["chunked"][0]
        print("libcurl" in open("/proc/self/maps").read())
        """
    assert run_python(code, str(root / "v3.zarr")) == "False\n"
