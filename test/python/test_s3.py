"""Stores in S3: read and written like folders, with nothing of the user's keys in what is said. moto serves
most tests; S3Proxy and versitygw, where they are to be had, check signatures."""
import json
import sys
import urllib.request

import h5py
import numpy as np
import pytest
import zarr

import s3_support
from command_support import h5zarr, needs_command
from http_support import fault_server
from s3_support import KEYS, NO_KEYS, SOMEBODY, bucket, keys_in, moto_url, put, use  # noqa: F401
from support import run, run_python, tool

rng = np.random.default_rng(5)
DATA = rng.integers(0, 1 << 30, (200, 300), dtype="i4")
SERVERS = {"moto": s3_support.moto, "s3proxy": s3_support.s3proxy, "versitygw": s3_support.versitygw}


@pytest.fixture(scope="module", params=SERVERS)
def any_server(request, tmp_path_factory):
    with SERVERS[request.param](tmp_path_factory.mktemp(request.param)) as url:
        yield url


@pytest.fixture
def any_bucket(any_server, monkeypatch):
    use(monkeypatch, any_server, **KEYS)
    return any_server


def test_a_store_is_written_and_read_like_a_folder(any_bucket):
    name = "s3://bucket/deep/x.zarr"
    with h5py.File(name, "w") as f:
        f.attrs["title"] = "far away"
        f["whole"] = DATA
        f.create_dataset("chunked", data=DATA, chunks=(50, 60), compression="gzip")
        f.create_group("a/b c+%=\u00fc")["n"] = [1, 2, 3]
        f.move("a", "moved")
    with h5py.File(name, "r+") as f:
        f["chunked"][10:70, 5] = 7
        del f["whole"]
        f["scalar"] = 1.5
    expected = DATA.copy()
    expected[10:70, 5] = 7
    with h5py.File(name, "r") as f:
        assert sorted(f) == ["chunked", "moved", "scalar"]
        np.testing.assert_array_equal(f["chunked"][()], expected)
        assert list(f["moved/b c+%=\u00fc/n"]) == [1, 2, 3] and f["scalar"][()] == 1.5
        assert f.attrs["title"] == "far away"
        with pytest.raises(Exception, match="no write intent"):
            f["more"] = 1
    with h5py.File(name + "/moved", "r") as f:
        assert list(f) == ["b c+%=\u00fc"]


def test_what_is_no_store_is_never_replaced(bucket):
    """A folder of stores and other things, which reads as a group."""
    for folder in "folder", "folder.zarr":
        put(bucket, folder + "/notes.txt", b"mine")
        with h5py.File(f"s3://bucket/{folder}/one.zarr", "w") as f:
            f["x"] = 1
    before = keys_in(bucket, "")
    for name in "s3://bucket/folder", "s3://bucket/folder.zarr", "s3://bucket":
        with pytest.raises(OSError):
            h5py.File(name, "w")
        assert keys_in(bucket, "") == before


def test_modes_are_those_of_files(bucket):
    name = "s3://bucket/modes.zarr"
    for mode in ("r", "r+"):
        with pytest.raises(FileNotFoundError, match="modes.zarr"):
            h5py.File(name, mode)
    h5py.File(name, "x").close()
    for mode in ("x", "w-"):
        with pytest.raises(FileExistsError, match="modes.zarr"):
            h5py.File(name, mode)
    with h5py.File(name, "a") as f:
        f["kept"] = 1
    with h5py.File(name, "a") as f:
        assert list(f) == ["kept"]
    h5py.File(name, "w").close()
    with h5py.File(name) as f:
        assert list(f) == []
    h5py.File("s3://bucket/new.zarr", "a").close()
    assert keys_in(bucket, "new.zarr") == ["new.zarr/zarr.json"]


def test_only_stores_are_replaced_and_other_names_are_refused(bucket):
    put(bucket, "other.zarr/photo.jpg", b"x")
    with pytest.raises(OSError, match="neither empty nor a Zarr store"):
        h5py.File("s3://bucket/other.zarr", "w")
    assert keys_in(bucket, "other.zarr") == ["other.zarr/photo.jpg"]
    with pytest.raises(OSError, match="end in .zarr"):
        h5py.File("s3://bucket/x.h5", "w")
    for name in ("s3://", "s3:///x.zarr", "s3://bucket/a//x.zarr", "s3://bucket/../x.zarr"):
        with pytest.raises(OSError, match="s3://"):
            h5py.File(name)


def test_a_bucket_that_there_is_not_is_an_error(any_bucket):
    for mode in ("r", "a"):
        with pytest.raises(FileNotFoundError, match="no such bucket"):
            h5py.File("s3://no-bucket/x.zarr", mode)


def test_peers_read_what_is_written_and_the_other_way_round(bucket):
    tensorstore = pytest.importorskip("tensorstore")

    def spec(path):
        return {"driver": "zarr3", "kvstore": {"driver": "s3", "bucket": "bucket", "path": path, "endpoint": bucket,
                                               "aws_region": "us-east-1"}}

    with h5py.File("s3://bucket/ours.zarr", "w") as f:
        f.create_dataset("d", data=DATA, chunks=(64, 64), compression="gzip")
    assert (tensorstore.open(spec("ours.zarr/d/"), open=True).result().read().result() == DATA).all()
    theirs = tensorstore.open(spec("theirs.zarr/"), create=True, dtype="int32", shape=DATA.shape,
                              chunk_layout=tensorstore.ChunkLayout(chunk_shape=[64, 64])).result()
    theirs.write(DATA).result()
    with h5py.File("s3://bucket/theirs.zarr") as f:
        np.testing.assert_array_equal(f["theirs"][()], DATA)


def test_large_objects_are_written_in_parts(any_bucket):
    big = np.arange(12 << 20, dtype="<u4").reshape(3, -1)  # 48 MiB
    with h5py.File("s3://bucket/big.zarr", "w") as f:
        f.create_dataset("chunk", data=big, chunks=big.shape)
        f.create_dataset("shard", data=big, chunks=big.shape, compression=480,
                         compression_opts=(1, 2, 1, 1 << 20, 0))
    with h5py.File("s3://bucket/big.zarr") as f:
        for name in ("chunk", "shard"):
            np.testing.assert_array_equal(f[name][()], big)


def test_more_objects_than_a_page_of_a_listing_are_moved_and_removed(bucket):
    many = np.arange(1200, dtype="u2")
    with h5py.File("s3://bucket/many.zarr", "w") as f:
        f.create_dataset("d", data=many, chunks=(1,), fillvalue=5000)
        f.create_group("kept")
    assert len(keys_in(bucket, "many.zarr/d/")) == 1201
    with h5py.File("s3://bucket/many.zarr", "r+") as f:
        f.move("d", "e")
        np.testing.assert_array_equal(f["e"][()], many)
    assert len(keys_in(bucket, "many.zarr/d/")) == 0
    with h5py.File("s3://bucket/many.zarr", "r+") as f:
        del f["e"]
    assert sorted(keys_in(bucket, "many.zarr")) == ["many.zarr/kept/zarr.json", "many.zarr/zarr.json"]


def test_consolidated_metadata_are_used_for_reading_and_kept_true_by_writing(bucket, tmp_path):
    local = tmp_path / "c.zarr"
    group = zarr.create_group(str(local))
    for i in range(5):
        group.create_array(f"g/a{i}", shape=(3,), dtype="i4")[...] = i
    zarr.consolidate_metadata(str(local))
    for path in local.rglob("*"):
        if path.is_file():
            put(bucket, f"c.zarr/{path.relative_to(local)}", path.read_bytes())
    script = "import h5py; f = h5py.File('s3://bucket/c.zarr'); f.visit(str); print(len(f['g']))"
    settings = KEYS | NO_KEYS | {"AWS_ENDPOINT_URL": bucket, "H5ZARR_TRACE": "2"}
    done = run([sys.executable, "-c", script], **settings)
    assert done.stdout == "5\n" and "list" not in done.stderr and done.stderr.count("read '") <= 2, done.stderr
    with h5py.File("s3://bucket/c.zarr/g", "r+") as f:
        f["more"] = 1
    with h5py.File("s3://bucket/c.zarr") as f:
        assert len(f["g"]) == 6 and f["g/a3"][1] == 3
    with urllib.request.urlopen(urllib.request.Request(f"{bucket}/bucket/c.zarr/zarr.json", headers=SOMEBODY)) as answer:
        assert "g/more" in json.load(answer)["consolidated_metadata"]["metadata"]


def test_tools_read_and_write_buckets(bucket):
    with h5py.File("s3://bucket/tools.zarr", "w") as f:
        f["g/d"] = np.arange(4, dtype="<i4")
    settings = KEYS | NO_KEYS | {"AWS_ENDPOINT_URL": bucket}
    listed = run([tool("h5ls"), "-r", "s3://bucket/tools.zarr"], **settings)
    assert listed.returncode == 0 and "/g/d                     Dataset {4}" in listed.stdout
    dumped = run([tool("h5dump"), "-d", "/g/d", "s3://bucket/tools.zarr"], **settings)
    assert dumped.returncode == 0 and "(0): 0, 1, 2, 3" in dumped.stdout
    packed = run([tool("h5repack"), "s3://bucket/tools.zarr", "s3://bucket/packed.zarr"], **settings)
    assert packed.returncode == 0, packed.stderr
    with h5py.File("s3://bucket/packed.zarr") as f:
        assert list(f["g/d"]) == [0, 1, 2, 3]


@pytest.mark.parametrize("server", ["s3proxy", "versitygw"])
def test_wrong_keys_and_none_are_refused_by_the_server_and_named_by_nobody(server, tmp_path, monkeypatch):
    with SERVERS[server](tmp_path) as url:
        use(monkeypatch, url, **(KEYS | {"AWS_SECRET_ACCESS_KEY": "wrong-and-hush"}))
        with pytest.raises(PermissionError, match="403") as refused:
            h5py.File("s3://bucket/x.zarr")
        assert "hush" not in str(refused.value) and KEYS["AWS_ACCESS_KEY_ID"] not in str(refused.value)
        use(monkeypatch, url)
        for mode in "r", "w":
            with pytest.raises(PermissionError, match="403.*AWS_ACCESS_KEY_ID, none of profile 'default'"):
                h5py.File("s3://bucket/x.zarr", mode)
        use(monkeypatch, url, AWS_NO_SIGN_REQUEST="true")
        with pytest.raises(PermissionError, match="403.*AWS_NO_SIGN_REQUEST"):
            h5py.File("s3://bucket/x.zarr")


@pytest.fixture
def served(tmp_path):
    """A folder whose "bucket" the fault server serves."""
    (tmp_path / "bucket").mkdir()
    zarr.create_array(str(tmp_path / "bucket/a.zarr"), data=DATA, chunks=(50, 60))
    return tmp_path


def assert_read(name="s3://bucket/a.zarr"):
    with h5py.File(name) as f:
        np.testing.assert_array_equal(f["a"][()], DATA)


def test_without_keys_nothing_is_signed_and_nobody_else_is_asked(served, monkeypatch):
    with fault_server(served, s3=True) as server:
        use(monkeypatch, server.url)
        assert_read()
        use(monkeypatch, server.url, AWS_NO_SIGN_REQUEST="true", **KEYS)
        assert_read()
        asked = server.requests()
    assert len(asked) > 20 and not any("authorization" in one["headers"] for one in asked)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_bucket_whose_user_may_not_list_it_says_403_of_documents_that_are_not_there(served, monkeypatch, zarr_format):
    zarr.create_array(str(served / "bucket/b.zarr"), data=DATA, chunks=(50, 60), zarr_format=zarr_format)
    with fault_server(served, s3=True, missing=403) as server:
        use(monkeypatch, server.url)
        with h5py.File("s3://bucket/b.zarr") as f:
            np.testing.assert_array_equal(f["b"][()], DATA)
        with pytest.raises(PermissionError, match="403"):
            h5py.File("s3://bucket/nothing.zarr")


def test_chunks_are_written_many_at_once(served, monkeypatch):
    with fault_server(served, s3=True, latency_ms=100) as server:
        use(monkeypatch, server.url, **KEYS)
        with h5py.File("s3://bucket/new.zarr", "w") as f:
            f.create_dataset("d", data=DATA, chunks=(20, 30))
        puts = [one for one in server.requests() if "/d/c/" in one["path"]]
        assert len(puts) == 100 and 16 <= len({one["connection"] for one in puts}) <= 34
        server.become(s3=True, busy_every=3)
        with h5py.File("s3://bucket/new.zarr", "r+") as f:
            f["d"][...] = DATA + 1
        server.become(s3=True)
        with h5py.File("s3://bucket/new.zarr") as f:
            np.testing.assert_array_equal(f["d"][()], DATA + 1)


def test_a_chunk_that_cannot_be_written_is_an_error_of_the_write(served, monkeypatch):
    with fault_server(served, s3=True) as server:
        use(monkeypatch, server.url, **KEYS)
        monkeypatch.setenv("H5ZARR_RETRIES", "1")
        code = ("import h5py, numpy as np, os, urllib.request\n"
                "f = h5py.File('s3://bucket/new.zarr', 'w')\n"
                "d = f.create_dataset('d', (100, 100), 'i4', chunks=(10, 100))\n"
                "f.flush()\n"
                "habits = urllib.request.Request(os.environ['AWS_ENDPOINT_URL'] + '/_habits', method='PUT',\n"
                "                                data=b'{\"s3\": true, \"busy_first\": 9}')\n"
                "urllib.request.urlopen(habits).close()\n"
                "try:\n    d[...] = 1\nexcept OSError as e:\n    print(e, flush=True)\n    os._exit(0)\n")
        said = run_python(code)
        assert "new.zarr/d" in said and "503" in said and "attempts" in said


def test_keys_tokens_and_who_pays_are_said_with_every_request(served, monkeypatch):
    with fault_server(served, s3=True) as server:
        use(monkeypatch, server.url, AWS_SESSION_TOKEN="hush-token", AWS_REQUEST_PAYER="requester", **KEYS)
        assert_read()
        for one in server.requests():
            headers = one["headers"]
            assert headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDTEST/")
            assert headers["x-amz-security-token"] == "hush-token"
            assert headers["x-amz-request-payer"] == "requester"
            assert "x-amz-request-payer" in headers["authorization"]


def test_profiles_say_keys_and_endpoint(served, tmp_path, monkeypatch):
    with fault_server(served, s3=True) as server:
        use(monkeypatch, "")
        (tmp_path / "config").write_text(f"[profile lab]\nregion = eu-west-3\nendpoint_url = {server.url}\n")
        (tmp_path / "keys").write_text("[lab]\naws_access_key_id = AKLAB\naws_secret_access_key = hush\n")
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "keys"))
        monkeypatch.setenv("AWS_PROFILE", "lab")
        assert_read()
        assert all("Credential=AKLAB/" in one["headers"]["authorization"] and "/eu-west-3/s3/" in
                   one["headers"]["authorization"] for one in server.requests())
        monkeypatch.setenv("AWS_PROFILE", "nobody")
        with pytest.raises(OSError, match="AWS_PROFILE names the profile 'nobody'"):
            h5py.File("s3://bucket/a.zarr")


@pytest.mark.parametrize("malformed", [False, True])
def test_the_bucket_says_its_region(served, monkeypatch, malformed):
    with fault_server(served, s3=True, region="eu-north-1", malformed=malformed) as server:
        use(monkeypatch, server.url, **KEYS)
        assert_read()
        asked = server.requests()
    assert [one["status"] for one in asked[:2]] == [400 if malformed else 301, 206]
    assert sum(one["status"] in (301, 400) for one in asked) == 1


def test_settings_of_the_connector_go_first(served, monkeypatch):
    with fault_server(served, s3=True) as server:
        use(monkeypatch, "http://127.0.0.1:1", **KEYS)
        code = "import h5py; print(h5py.File('s3://bucket/a.zarr')['a'].shape)"
        said = run_python(code, HDF5_VOL_CONNECTOR=f"zarr s3_endpoint={server.url};s3_region=moon-1;s3_style=path")
        assert said == "(200, 300)\n"
        assert all("/moon-1/s3/" in one["headers"]["authorization"] for one in server.requests())


def test_settings_of_the_environment_hold_without_the_connector_named(served, monkeypatch):
    """HDF5's probe gives no settings: these are H5ZARR_<KEY>."""
    with fault_server(served, s3=True) as server:
        use(monkeypatch, "http://127.0.0.1:1", **KEYS)
        code = "import h5py; print(h5py.File('s3://bucket/a.zarr')['a'][5, 5])"
        said = run_python(code, connector=None, H5ZARR_S3_ENDPOINT=server.url, H5ZARR_S3_REGION="moon-1",
                          H5ZARR_S3_STYLE="path")
        assert said == f"{DATA[5, 5]}\n"
        asked = server.requests()
    assert asked and all("/moon-1/s3/" in one["headers"]["authorization"] for one in asked)


def test_no_secret_is_in_messages_and_traces(served, monkeypatch):
    with fault_server(served, s3=True, busy_every=3, cut_every=5) as server:
        settings = NO_KEYS | KEYS | {"AWS_ENDPOINT_URL": server.url, "AWS_SESSION_TOKEN": "hush-token",
                                     "H5ZARR_TRACE": "3"}
        code = ("import h5py\nprint(h5py.File('s3://bucket/a.zarr')['a'][()].sum())\n"
                "for name in ('b.zarr', 'a.zarr'):\n"
                "    try: h5py.File(f's3://bucket/{name}', 'w')\n"
                "    except OSError as e: print(e)\n")
        done = run([sys.executable, "-c", code], **settings)
        assert done.returncode == 0 and "again in" in done.stderr
        said = done.stdout + done.stderr
        assert "hush" not in said and "AKID" not in said and "Signature" not in said


def test_hdf5_files_and_archives_in_a_bucket_are_read(bucket, tmp_path):
    noise = np.random.default_rng(2).integers(0, 1 << 15, (40, 200, 200), dtype="i2")
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f.create_dataset("a", data=noise, chunks=(1, 200, 200), compression="gzip")
        f["flat"] = noise[::-1]
        f["out"] = h5py.ExternalLink("y.h5", "/a")
    store = zarr.storage.ZipStore(tmp_path / "x.zarr.zip", mode="w")
    zarr.create_array(store, name="z", data=noise, chunks=(10, 200, 200))
    store.close()
    for name in ("x.h5", "x.zarr.zip"):
        put(bucket, f"deep/{name}", (tmp_path / name).read_bytes())
    put(bucket, "deep/y.h5", (tmp_path / "x.h5").read_bytes())
    with h5py.File("s3://bucket/deep/x.h5", "r") as f:
        np.testing.assert_array_equal(f["a"][()], noise)
        np.testing.assert_array_equal(f["flat"][:, 7], noise[::-1, 7])
        assert f["out"].file.filename == "s3://bucket/deep/y.h5" and f["out"].shape == noise.shape
    with h5py.File("s3://bucket/deep/x.zarr.zip", "r") as f:
        np.testing.assert_array_equal(f["z"][5:15], noise[5:15])
    with pytest.raises(OSError, match="can only be read"):
        h5py.File("s3://bucket/deep/x.h5", "r+")
    with pytest.raises(OSError):
        h5py.File("s3://bucket/deep/nothing.h5", "r")


@needs_command
def test_the_command_exports_to_s3_and_takes_back_what_failed(bucket, tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f.create_dataset("a", data=DATA, chunks=(50, 60), compression="gzip")
    h5zarr("export", tmp_path / "x.h5", "s3://bucket/exported/x.zarr")
    assert h5zarr("diff", tmp_path / "x.h5", "s3://bucket/exported/x.zarr").stdout == ""
    before = keys_in(bucket, "exported/")
    h5zarr("export", tmp_path / "x.h5", "s3://bucket/exported/x.zarr", expected=4)  # it is there already
    assert keys_in(bucket, "exported/") == before
    run_python("""
import h5py, sys
with h5py.File(sys.argv[1], "r+") as f:  # the last object, which cannot be read
    a = f.create_dataset("z", data=range(1000), chunks=(1000,), compression="gzip", fletcher32=True)
    at = a.id.get_chunk_info(0).byte_offset
with open(sys.argv[1], "r+b") as raw:
    raw.seek(at + 5)
    raw.write(b"damage")
""", tmp_path / "x.h5", plugin=False, connector=None)
    h5zarr("export", tmp_path / "x.h5", "s3://bucket/failed/x.zarr", "--codec", "zstd", expected=4)
    assert keys_in(bucket, "failed/") == []
    done = h5zarr("import", "s3://bucket/exported/x.zarr", "s3://bucket/x.h5", expected=64)
    assert "only be made on this machine" in done.stderr
