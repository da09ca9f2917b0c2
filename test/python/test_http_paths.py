"""The ways to a web server: encrypted, and through proxies. In processes of their own: libcurl reads its variables
when a request begins, and so do we."""
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zarr

from http_support import fault_server, nginx
from support import run

CODE = "import h5py, sys; print(h5py.File(sys.argv[1])['a'][()].sum())"
NO_PROXY = {name: "" for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy",
                                  "NO_PROXY")}
NOTHING = {"SSL_CERT_FILE": "", "CURL_CA_BUNDLE": ""} | NO_PROXY


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    zarr.create_array(str(folder / "a.zarr"), data=np.arange(1000), chunks=(100,))
    return folder


@pytest.fixture(scope="module")
def secure(root, tmp_path_factory):
    """The URL of a server whose certificate nobody knows, and the file of that certificate."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem",
                    "-out", folder / "cert.pem"], check=True, capture_output=True)
    with nginx(root, folder, tls=(folder / "cert.pem", folder / "key.pem"), words="http2") as url:
        yield url, str(folder / "cert.pem")


def read(url, **env):
    done = run([sys.executable, "-c", CODE, url], **(NOTHING | {"H5ZARR_RETRIES": "0"} | env))
    return done.stdout.strip() or done.stderr


def test_a_server_whom_nobody_vouches_for_is_refused(secure):
    said = read(f"{secure[0]}/a.zarr")
    assert "OSError" in said and "certificate" in said.lower()


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "CURL_CA_BUNDLE", "H5ZARR_CA_FILE"])
def test_certificates_of_the_users_own_authorities_are_used(secure, variable):
    assert read(f"{secure[0]}/a.zarr", **{variable: secure[1]}) == "499500"


def test_the_setting_goes_before_the_variables(secure):
    assert read(f"{secure[0]}/a.zarr", SSL_CERT_FILE="/nowhere", CURL_CA_BUNDLE="/nowhere",
                HDF5_VOL_CONNECTOR=f"zarr ca_file={secure[1]}") == "499500"


@pytest.mark.parametrize("version", ["1.1", "2"])
def test_the_setting_says_which_http(secure, version):
    """By version 2 all requests share a connection; it is not what servers are asked for by themselves."""
    log = Path(secure[1]).with_name("access.log")
    log.write_text("")
    env = {"H5ZARR_HTTP_VERSION": version} if version != "1.1" else {}
    assert read(f"{secure[0]}/a.zarr", H5ZARR_CA_FILE=secure[1], **env) == "499500"
    words = [line.split()[-2:] for line in log.read_text().splitlines()]
    assert {protocol for protocol, _ in words} == {"HTTP/1.1" if version == "1.1" else "HTTP/2.0"}
    if version == "2":
        assert len(words) > 10 and len({connection for _, connection in words}) == 1


def test_without_tls_a_server_is_asked_by_http_1_1(root):
    with fault_server(root) as server:
        assert read(f"{server.url}/a.zarr", H5ZARR_HTTP_VERSION="2") == "499500"


def test_http_goes_through_a_proxy(root):
    with fault_server(root) as proxy:
        assert read("http://far.invalid/a.zarr", http_proxy=proxy.url) == "499500"
        assert all(one["path"].startswith("http://far.invalid/") for one in proxy.requests())
        assert "resolve" in read("http://far.invalid/a.zarr", http_proxy=proxy.url, no_proxy="far.invalid")
        assert proxy.requests() == []


@pytest.mark.parametrize("variable", ["https_proxy", "HTTPS_PROXY"])
def test_https_goes_through_a_proxy_that_sees_nothing(root, secure, variable):
    url, certificate = secure
    with fault_server(root) as proxy:
        assert read(f"{url}/a.zarr", CURL_CA_BUNDLE=certificate, **{variable: proxy.url}) == "499500"
        asked = proxy.requests()
        assert asked and all(one.get("connect") for one in asked)
        assert read(f"{url}/a.zarr", CURL_CA_BUNDLE=certificate, NO_PROXY="127.0.0.1",
                    **{variable: proxy.url}) == "499500"
        assert proxy.requests() == []
