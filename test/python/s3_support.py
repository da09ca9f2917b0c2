"""S3 servers for tests: moto, which H5ZARR_MOTO_PYTHON can run; S3Proxy, where H5ZARR_S3PROXY is its jar;
versitygw, where H5ZARR_VERSITYGW is its program (./run test --full sets it)."""
import contextlib
import os
import shutil
import socket
import subprocess
import time
import urllib.request
import xml.etree.ElementTree
from pathlib import Path

import pytest

KEYS = {"AWS_ACCESS_KEY_ID": "AKIDTEST", "AWS_SECRET_ACCESS_KEY": "hush+hush/hush", "AWS_REGION": "us-east-1"}
# Nothing of the user's own.
NO_KEYS = {"AWS_CONFIG_FILE": "/nowhere", "AWS_SHARED_CREDENTIALS_FILE": "/nowhere"}


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def served(command, port, log, env=None):
    with open(log, "wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, **(env or {})})
        try:
            for _ in range(600):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                assert process.poll() is None, Path(log).read_text()
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def moto(folder):
    """moto with a bucket "bucket"; yields its URL. It takes any signature."""
    python = os.environ.get("H5ZARR_MOTO_PYTHON")
    if not python:
        pytest.skip("H5ZARR_MOTO_PYTHON names no Python that has moto (./run env does)")
    port = free_port()
    with served([python, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], port,
                Path(folder) / "moto.log") as url:
        urllib.request.urlopen(urllib.request.Request(f"{url}/bucket", method="PUT")).close()
        yield url


@contextlib.contextmanager
def s3proxy(folder):
    """S3Proxy over a folder with a bucket "bucket"; yields its URL. It checks signatures, made with KEYS."""
    jar, java = os.environ.get("H5ZARR_S3PROXY"), shutil.which("java")
    if not jar or not java:
        pytest.skip("H5ZARR_S3PROXY names no jar of S3Proxy, or there is no java (./run test uses it where it is)")
    port, folder = free_port(), Path(folder)
    (folder / "buckets" / "bucket").mkdir(parents=True)
    (folder / "buckets" / "bucket").chmod(0o700)  # what others may read, it gives to anybody
    properties = folder / "s3proxy.conf"
    properties.write_text(f"""
s3proxy.authorization=aws-v2-or-v4
s3proxy.endpoint=http://127.0.0.1:{port}
s3proxy.identity={KEYS["AWS_ACCESS_KEY_ID"]}
s3proxy.credential={KEYS["AWS_SECRET_ACCESS_KEY"]}
jclouds.provider=filesystem-nio2
jclouds.filesystem.basedir={folder}/buckets
jclouds.identity=local
jclouds.credential=local
""")
    with served([java, "-jar", jar, "--properties", str(properties)], port, folder / "s3proxy.log") as url:
        yield url


@contextlib.contextmanager
def versitygw(folder):
    """versitygw over a folder with a bucket "bucket"; yields its URL. It checks signatures, made with KEYS."""
    program = os.environ.get("H5ZARR_VERSITYGW")
    if not program:
        pytest.skip("H5ZARR_VERSITYGW names no program of versitygw (./run test --full does)")
    port, folder = free_port(), Path(folder)
    (folder / "buckets" / "bucket").mkdir(parents=True)
    with served([program, "--port", f"127.0.0.1:{port}", "--region", "us-east-1", "posix", str(folder / "buckets")],
                port, folder / "versitygw.log",
                {"ROOT_ACCESS_KEY": KEYS["AWS_ACCESS_KEY_ID"],
                 "ROOT_SECRET_KEY": KEYS["AWS_SECRET_ACCESS_KEY"]}) as url:
        yield url


def use(monkeypatch, url, **settings):
    """What a program is told of a server; nothing of the user's own."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    for name, value in (NO_KEYS | {"AWS_ENDPOINT_URL": url} | settings).items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="module")
def moto_url(tmp_path_factory):
    with moto(tmp_path_factory.mktemp("moto")) as url:
        yield url


@pytest.fixture
def bucket(moto_url, monkeypatch):
    use(monkeypatch, moto_url, **KEYS)
    return moto_url


def keys_in(url, prefix):
    """What is in moto's bucket."""
    found, token = [], ""
    while True:
        with urllib.request.urlopen(f"{url}/bucket?list-type=2&prefix={prefix}{token}") as answer:
            page = xml.etree.ElementTree.fromstring(answer.read())
        space = page.tag.partition("}")[0] + "}"
        found += [key.text for key in page.iter(space + "Key")]
        more = page.find(space + "NextContinuationToken")
        if more is None:
            return found
        token = "&continuation-token=" + urllib.request.quote(more.text, safe="")


# moto wants no more than that there is a signature.
SOMEBODY = {"Authorization": "AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/s3/aws4_request, "
                             "SignedHeaders=host, Signature=0"}


def put(url, key, content):
    urllib.request.urlopen(urllib.request.Request(f"{url}/bucket/{key}", data=content, method="PUT",
                                                  headers=SOMEBODY | {"Content-Type": "application/octet-stream"}),
                           timeout=20).close()
