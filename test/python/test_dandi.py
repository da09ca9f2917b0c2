"""Files of the DANDI archive: asked for at its API by the user's key, which sends to a signed link in its bucket. A
proxy on loopback stands for the way there, and an authority of our own for those that vouch for the two servers, so
that all is as it is far away, and nothing is asked of anybody but loopback."""
import contextlib
import hashlib
import json
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest

from http_support import fault_server
from support import run

API, BUCKET = "api.dandiarchive.org", "dandiarchive.s3.amazonaws.com"
ASSET = "/api/assets/1b2c/download"
KEY = "0123456789hush"
DATA = np.random.default_rng(3).integers(0, 1 << 15, (200, 100, 100), dtype="i2")
HASH = """
import h5py, hashlib, sys
with h5py.File(sys.argv[1], "r") as f:
    print(hashlib.sha1(f["a"][()].tobytes()).hexdigest())
"""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make certificates with")
    folder = tmp_path_factory.mktemp("tls")
    (folder / "names").write_text(f"subjectAltName=DNS:{API},DNS:{BUCKET},DNS:elsewhere.org")

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=our own authority",
            "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=another authority",
            "-keyout", "other.key", "-out", "other.pem")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test", "-keyout", "key.pem", "-out", "request.pem")
    openssl("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "names", "-out", "cert.pem")
    return folder


class Dandi:
    """The API, the bucket, another server, and the proxy that leads to them."""

    def __init__(self, stack, root, certificates, **habits):
        tls = [str(certificates / "cert.pem"), str(certificates / "key.pem")]
        self.ca = certificates / "ca.pem"
        self.api = stack.enter_context(fault_server(root, tls=tls))
        self.bucket = stack.enter_context(fault_server(root, tls=tls))
        self.elsewhere = stack.enter_context(fault_server(root, tls=tls))
        self.habits = {self.api: dict(authorization=f"token {KEY}", redirect="plain",
                                      redirect_to=f"https://{BUCKET}") | habits,
                       self.bucket: habits, self.elsewhere: {}}
        hosts = {f"{API}:443": self.api.port, f"{BUCKET}:443": self.bucket.port,
                 "elsewhere.org:443": self.elsewhere.port}
        self.proxy = stack.enter_context(fault_server(root, hosts=hosts))
        for server, wanted in self.habits.items():
            server.become(**wanted)

    def read(self, url, code=HASH, **env):
        names = {"https_proxy": self.proxy.url, "SSL_CERT_FILE": str(self.ca), "CURL_CA_BUNDLE": "", "NO_PROXY": "",
                 "no_proxy": "", "HTTPS_PROXY": "", "DANDI_API_KEY": KEY, "DANDI_STAGING_API_KEY": "",
                 "DANDI_SANDBOX_API_KEY": ""}
        return run([sys.executable, "-c", code, url], **(names | {"connector": "zarr trace=3;retries=1"} | env))


@pytest.fixture
def dandi(tmp_path, certificates):
    root = tmp_path / "served"
    (root / ASSET[1:]).parent.mkdir(parents=True)
    with h5py.File(root / ASSET[1:], "w") as f:
        f.create_dataset("a", data=DATA, chunks=(1, 100, 100), compression="gzip")
    with contextlib.ExitStack() as stack:
        made = Dandi(stack, root, certificates)
        made.root = root
        yield made


EXPECTED = hashlib.sha1(DATA.tobytes()).hexdigest()


def test_an_asset_is_read_by_the_users_key_which_goes_to_the_api_alone(dandi):
    done = dandi.read(f"https://{API}{ASSET}/")
    assert done.stdout.strip() == EXPECTED, done.stderr
    api, bucket = dandi.api.requests(), dandi.bucket.requests()
    # One question; all bytes come by the link that it gave.
    assert [one["headers"].get("authorization") for one in api] == [f"token {KEY}"]
    assert len(bucket) > 1 and not any("authorization" in one["headers"] for one in bucket)
    assert {one["path"] for one in dandi.proxy.requests()} == {f"{API}:443", f"{BUCKET}:443"}
    assert "hush" not in done.stderr and "Signature" not in done.stderr


def test_links_that_expire_are_asked_for_anew(dandi):
    dandi.bucket.become(redirect="expiring", link_uses=2)
    done = dandi.read(f"https://{API}{ASSET}/", connector="zarr concurrency=1;accelerate=off")
    assert done.stdout.strip() == EXPECTED, done.stderr
    assert len(dandi.api.requests()) > 1


@pytest.mark.parametrize("key", ["", "wrong"])
def test_without_the_right_key_the_error_names_the_asset_and_no_key(dandi, key):
    done = dandi.read(f"https://{API}{ASSET}/", DANDI_API_KEY=key)
    assert done.returncode != 0 and f"https://{API}{ASSET}/" in done.stderr and "401" in done.stderr, done.stderr
    assert "wrong" not in done.stderr


def test_nobody_else_gets_the_key(dandi):
    for url in (f"https://elsewhere.org{ASSET}", f"https://{BUCKET}{ASSET}"):
        assert dandi.read(url).stdout.strip() == EXPECTED
    for server in (dandi.elsewhere, dandi.bucket):
        assert not any("authorization" in one["headers"] for one in server.requests())


def test_a_server_for_whom_nobody_vouches_gets_no_key(dandi, certificates):
    done = dandi.read(f"https://{API}{ASSET}/", SSL_CERT_FILE=str(certificates / "other.pem"))
    assert done.returncode != 0 and EXPECTED not in done.stdout
    assert dandi.api.requests() == []


def test_lindi_files_anywhere_lead_to_embargoed_assets(dandi):
    with h5py.File(dandi.root / ASSET[1:]) as f:
        d = f["a"]
        refs = {f"a/{int(chunk.chunk_offset[0])}.0.0": ["{{u1}}", int(chunk.byte_offset), int(chunk.size)]
                for chunk in map(d.id.get_chunk_info, range(d.id.get_num_chunks()))}
        refs["a/.zarray"] = {"zarr_format": 2, "shape": d.shape, "chunks": d.chunks, "dtype": "<i2", "order": "C",
                             "fill_value": 0, "compressor": None, "filters": [{"id": "zlib", "level": 4}]}
    refs[".zgroup"] = {"zarr_format": 2}
    document = {"version": 1, "templates": {"u1": f"https://{API}{ASSET}/"}, "refs": refs}
    (dandi.root / "x.lindi.json").write_text(json.dumps(document))
    for name in (dandi.root / "x.lindi.json", "https://elsewhere.org/x.lindi.json"):
        done = dandi.read(str(name))
        assert done.stdout.strip() == EXPECTED, done.stderr
    assert not any("authorization" in one["headers"] for one in dandi.elsewhere.requests())
