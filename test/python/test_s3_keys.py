"""Keys for S3 that stand in no file: of roles, by other keys or by a token, and of a machine's own server. A server
on loopback stands for those who give them."""
import contextlib
import http.server
import json
import sys
import threading
import time
import urllib.parse

import numpy as np
import pytest
import zarr

from http_support import fault_server
from s3_support import NO_KEYS
from support import run

READ = "import h5py; print(h5py.File('s3://bucket/a.zarr')['a'][()].sum())"
ROLE = "arn:aws:iam::123456789012:role/reader"


class Giver(http.server.BaseHTTPRequestHandler):
    """Security token service at "/", a machine's server below /latest."""

    def log_message(self, *_):
        pass

    def reply(self, status, text):
        self.server.asked.append({"method": self.command, "path": self.path, "body": self.body(),
                                  "headers": {k.lower(): v for k, v in self.headers.items()}})
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def body(self):
        self.taken = getattr(self, "taken", None) or self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return self.taken.decode()

    def do_POST(self):
        self.taken = None
        form = urllib.parse.parse_qs(self.body())
        number = len(self.server.asked)
        if form["RoleArn"][0] == "arn:refused":
            self.reply(403, "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>")
            return
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + self.server.lifetime))
        self.reply(200, f"<R><Credentials><AccessKeyId>ROLE{number}</AccessKeyId><SecretAccessKey>hush</SecretAccessKey>"
                        f"<SessionToken>token{number}</SessionToken><Expiration>{until}</Expiration></Credentials></R>")

    def do_PUT(self):
        self.taken = None
        self.reply(200 if self.path == "/latest/api/token" else 404, "instance-token")

    def do_GET(self):
        self.taken = None
        base = "/latest/meta-data/iam/security-credentials/"
        if self.headers.get("X-aws-ec2-metadata-token") != "instance-token":
            self.reply(401, "")
        elif self.path == base:
            self.reply(200, "machine role")
        elif self.path == base + "machine%20role":
            self.reply(200, json.dumps({"Code": "Success", "AccessKeyId": "MACHINE", "SecretAccessKey": "hush",
                                        "Token": "machine-token", "Expiration": "2099-01-01T00:00:00Z"}))
        else:
            self.reply(404, "")


@contextlib.contextmanager
def giving(lifetime=3600):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Giver)
    server.asked, server.lifetime = [], lifetime
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()


@pytest.fixture
def served(tmp_path):
    (tmp_path / "bucket").mkdir()
    zarr.create_array(str(tmp_path / "bucket/a.zarr"), data=np.arange(1000), chunks=(100,))
    with fault_server(tmp_path, s3=True) as server:
        yield server


def read(served, giver=None, files=None, tmp_path=None, code=READ, **env):
    names = NO_KEYS | {name: "" for name in (
        "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_ROLE_ARN",
        "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_EC2_METADATA_DISABLED", "AWS_EC2_METADATA_SERVICE_ENDPOINT",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI")}
    names |= {"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL_S3": served.url, "http_proxy": ""}
    if giver is not None:
        names["AWS_ENDPOINT_URL_STS"] = giver.url
    if files is not None:
        (tmp_path / "config").write_text(files)
        names["AWS_CONFIG_FILE"] = str(tmp_path / "config")
    done = run([sys.executable, "-c", code], **(names | {"connector": "zarr trace=3"} | env))
    said = done.stdout + done.stderr
    assert not any(secret in said for secret in ("hush", "token0", "web+identity", "instance-token", "machine-token"))
    return done


def signers(server):
    """Who signed requests, and with which tokens."""
    return {(one["headers"].get("authorization", "/").split("Credential=")[-1].split("/")[0],
             one["headers"].get("x-amz-security-token")) for one in server.requests()}


def test_a_role_is_taken_on_by_the_keys_of_another_profile(served, tmp_path):
    files = f"""
[profile work]
role_arn = {ROLE}
source_profile = base
external_id = a b&c
role_session_name = me
[profile base]
aws_access_key_id = BASE
aws_secret_access_key = hush
"""
    with giving() as giver:
        done = read(served, giver, files, tmp_path, AWS_PROFILE="work")
        assert done.stdout.strip() == "499500", done.stderr
        (asked,) = giver.asked
        form = {name: value[0] for name, value in urllib.parse.parse_qs(asked["body"]).items()}
        assert form == {"Action": "AssumeRole", "Version": "2011-06-15", "RoleArn": ROLE, "RoleSessionName": "me",
                        "ExternalId": "a b&c"}
        assert "Credential=BASE/" in asked["headers"]["authorization"]
        assert "/eu-west-1/sts/aws4_request" in asked["headers"]["authorization"]
        assert signers(served) == {("ROLE0", "token0")}


def test_roles_are_taken_on_by_roles_and_not_for_ever(served, tmp_path):
    chain = "".join(f"[profile p{i}]\nrole_arn = {ROLE}{i}\nsource_profile = p{i + 1}\n" for i in range(3))
    with giving() as giver:
        done = read(served, giver, chain + "[profile p3]\naws_access_key_id = BASE\naws_secret_access_key = hush\n",
                    tmp_path, AWS_PROFILE="p0")
        assert done.stdout.strip() == "499500", done.stderr
        assert [one["headers"]["authorization"].split("Credential=")[1].split("/")[0] for one in giver.asked] == [
            "BASE", "ROLE0", "ROLE1"]
        done = read(served, giver, chain + "[profile p3]\nrole_arn = x\nsource_profile = p0\n", tmp_path,
                    AWS_PROFILE="p0")
        assert done.returncode != 0 and "roles without end" in done.stderr


def test_a_role_is_taken_on_by_a_token(served, tmp_path):
    (tmp_path / "web").write_text("a.web+identity/token\n")
    with giving() as giver:
        done = read(served, giver, AWS_ROLE_ARN=ROLE, AWS_WEB_IDENTITY_TOKEN_FILE=str(tmp_path / "web"))
        assert done.stdout.strip() == "499500", done.stderr
        (asked,) = giver.asked
        form = urllib.parse.parse_qs(asked["body"])
        assert form["WebIdentityToken"] == ["a.web+identity/token"] and form["Action"] == ["AssumeRoleWithWebIdentity"]
        assert "authorization" not in asked["headers"]
        assert signers(served) == {("ROLE0", "token0")}
        files = f"[default]\nrole_arn = {ROLE}\nweb_identity_token_file = {tmp_path / 'web'}\n"
        assert read(served, giver, files, tmp_path).stdout.strip() == "499500"


def test_keys_that_expire_are_renewed(served, tmp_path):
    files = f"[default]\nrole_arn = {ROLE}\ncredential_source = Environment\n"
    code = """
import h5py, os
os.environ.pop("nothing", None)
f = h5py.File("s3://bucket/a.zarr")
print(f["a"][:100].sum(), f["a"][500:600].sum())
"""
    (tmp_path / "web").write_text("x")
    files = f"[default]\nrole_arn = {ROLE}\nweb_identity_token_file = {tmp_path / 'web'}\n"
    with giving(lifetime=100) as giver:  # less than the time before which they are renewed
        done = read(served, giver, files, tmp_path, code=code)
        assert done.returncode == 0, done.stderr
        assert len(giver.asked) > 2 and len(signers(served)) > 2


@pytest.mark.parametrize("files, message", [
    ("[default]\nrole_arn = arn:refused\nsource_profile = default\naws_access_key_id = A\n"
     "aws_secret_access_key = b\n", r"arn:refused.*403 Forbidden \(AccessDenied\)"),
    (f"[default]\nrole_arn = {ROLE}\n", "no keys to take the role on with"),
    (f"[default]\nrole_arn = {ROLE}\nweb_identity_token_file = /nowhere\n", "no token for role"),
    (f"[default]\nrole_arn = {ROLE}\nsource_profile = nobody\n", "'nobody'"),
    ("[default]\nsso_session = work\n[sso-session work]\nsso_start_url = https://hush.example/start\n",
     "'default' gets its keys by sso_session, .*aws configure export-credentials --profile default"),
    ("[default]\nsso_start_url = https://hush.example/start\nsso_account_id = 1234\n",
     "'default' gets its keys by sso_start_url, .*aws configure export-credentials --profile default"),
    (f"[default]\nrole_arn = {ROLE}\nsource_profile = work\n[profile work]\nsso_session = work\n",
     "'work' gets its keys by sso_session, .*aws configure export-credentials --profile work"),
])
def test_where_no_role_can_be_taken_on_the_error_says_why(served, tmp_path, files, message):
    import re
    with giving() as giver:
        done = read(served, giver, files, tmp_path)
        assert done.returncode != 0 and re.search(message, done.stderr), done.stderr
        assert signers(served) == set()


def test_a_machines_own_server_is_asked_where_somebody_says_so(served):
    with giving() as giver:
        done = read(served, AWS_EC2_METADATA_SERVICE_ENDPOINT=giver.url + "/",
                    http_proxy=served.url)
        assert done.stdout.strip() == "499500", done.stderr
        assert [one["method"] for one in giver.asked] == ["PUT", "GET", "GET"]
        assert signers(served) == {("MACHINE", "machine-token")}
        giver.asked.clear()
        done = read(served, AWS_EC2_METADATA_SERVICE_ENDPOINT=giver.url, AWS_EC2_METADATA_DISABLED="true")
        assert done.stdout.strip() == "499500" and giver.asked == []
        assert {who for who, _ in signers(served)} == {""}


def test_a_machine_without_such_a_server_is_an_error_after_a_second(served):
    begin = time.perf_counter()
    done = read(served, AWS_EC2_METADATA_SERVICE_ENDPOINT="http://127.0.0.1:9")
    assert done.returncode != 0 and "AWS_EC2_METADATA_DISABLED" in done.stderr, done.stderr
    assert time.perf_counter() - begin < 20
