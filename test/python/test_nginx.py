"""Stores and HDF5 files behind nginx, set up as people set it up: the same data as locally, or a clear error."""
import sys

import h5py
import numpy as np
import pytest
import zarr

from http_support import fault_server, nginx
from support import run, run_python

DATA = np.random.default_rng(11).integers(0, 1 << 30, (200, 300), dtype="i4")
HOLE = np.where(np.arange(200)[:, None] < 100, DATA, -1)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    group = zarr.create_group(str(folder / "v3.zarr"))
    group.create_array("chunked", shape=DATA.shape, chunks=(50, 60), dtype="i4")[...] = DATA
    group.create_array("sharded", shape=DATA.shape, shards=(100, 300), chunks=(20, 30), dtype="i4")[...] = DATA
    group.create_array("hole", shape=DATA.shape, chunks=(100, 100), dtype="i4", fill_value=-1)[:100] = DATA[:100]
    zarr.consolidate_metadata(str(folder / "v3.zarr"))
    code = """if True:
        import h5py, numpy as np, sys
        with h5py.File(sys.argv[1], "w") as f:
            f["first"] = np.zeros(1 << 21, "u1")  # more than opening it reads
            for name in "chunked", "sharded":
                f.create_dataset(name, data=np.load(sys.argv[2]), chunks=(50, 60), compression="gzip")
            f.create_dataset("hole", DATA.shape, "i4", chunks=(100, 100), fillvalue=-1)[:100] = DATA[:100]
        """.replace("DATA", "np.load(sys.argv[2])")
    np.save(folder / "data.npy", DATA)
    run_python(code, str(folder / "plain.h5"), str(folder / "data.npy"), HDF5_VOL_CONNECTOR="")
    return folder


def assert_same(url, names=("v3.zarr", "plain.h5")):
    for name in names:
        with h5py.File(f"{url}/{name}", "r") as f:
            np.testing.assert_array_equal(f["chunked"][()], DATA)
            np.testing.assert_array_equal(f["sharded"][15:120, 100:110], DATA[15:120, 100:110])
            np.testing.assert_array_equal(f["hole"][()], HOLE)


def answers(folder):
    """Status and path of each answer."""
    return [(line.split()[0], line.split()[2]) for line in (folder / "access.log").read_text().splitlines()]


@pytest.mark.parametrize("habits", [
    "", "max_ranges 0;", "etag off;", "etag off; add_header Last-Modified '';", "keepalive_timeout 0;",
    "keepalive_requests 3;", "gzip on; gzip_types *; gzip_min_length 1;", "limit_rate 400k;", "charset utf-8;",
    "default_type application/octet-stream; add_header Cache-Control no-store always;"])
def test_the_same_data_come_from_nginx(root, tmp_path, habits):
    with nginx(root, tmp_path, habits) as url:
        assert_same(url)
        assert sum("/chunked/c/" in path for _, path in answers(tmp_path)) == 20


def test_a_password_is_asked_for(root, tmp_path):
    (tmp_path / "users").write_text("ann:{PLAIN}hush-hush\n")
    code = "import h5py, sys; print(h5py.File(sys.argv[1])['chunked'][0, 0])"
    with nginx(root, tmp_path, f'auth_basic "h"; auth_basic_user_file {tmp_path}/users;') as url:
        there = url.replace("//", "//ann:hush-hush@")
        assert run_python(code, f"{there}/v3.zarr") == f"{DATA[0, 0]}\n"
        refused = run([sys.executable, "-c", code, f"{there.replace('hush-hush', 'hush-wrong')}/v3.zarr"])
        assert "PermissionError" in refused.stderr and "401" in refused.stderr
        assert "hush" not in refused.stderr.split("PermissionError")[-1]


def test_a_server_that_is_busy_is_asked_again(root, tmp_path):
    with nginx(root, tmp_path, "limit_req zone=few burst=4 nodelay;",
               before="limit_req_zone $binary_remote_addr zone=few:1m rate=100r/s;") as url:
        assert_same(url)
    assert any(status == "503" for status, _ in answers(tmp_path)), answers(tmp_path)


def test_bodies_that_end_early_behind_a_proxy_are_read_to_their_end(root, tmp_path):
    with fault_server(root) as server, nginx(root, tmp_path, f"proxy_pass {server.url};") as url:
        server.become(cut_every=5)
        assert_same(url)


# Links with the key "first" are given out, and good, until there is a file EXPIRED.
LINKS = """
    location /api/ {
        set $key first;
        if (-f EXPIRED) { set $key second; }
        rewrite ^/api/(.*)$ /signed/$1?key=$key redirect;
    }
    location /signed/ {
        set $used $arg_key;
        if (-f EXPIRED) { set $used "late $arg_key"; }
        if ($used = "late first") { return 403; }
        rewrite ^/signed/(.*)$ /$1 break;
    }
    """


@pytest.mark.parametrize("name", ["v3.zarr", "plain.h5"])
def test_links_that_expire_are_asked_for_anew(root, tmp_path, name):
    expired = tmp_path / "expired"
    with nginx(root, tmp_path, beside=LINKS.replace("EXPIRED", str(expired))) as url:
        with h5py.File(f"{url}/api/{name}", "r") as f:
            np.testing.assert_array_equal(f["sharded"][:20], DATA[:20])
            expired.touch()
            np.testing.assert_array_equal(f["sharded"][()], DATA)
            np.testing.assert_array_equal(f["hole"][()], HOLE)
    seen = answers(tmp_path)
    assert any(status == "403" and path.endswith("key=first") for status, path in seen)
    assert any(status in ("200", "206") and path.endswith("key=second") for status, path in seen)
