"""HTTP servers for tests: the one of fault_server.py, and nginx."""
import contextlib
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest


class Server:
    def __init__(self, port, tls):
        self.port = port
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
        # Its certificate may say anything: only the test itself talks to it so.
        self.context = ssl._create_unverified_context() if tls else None

    def ask(self, request):
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}),
                                             urllib.request.HTTPSHandler(context=self.context))
        with direct.open(request) as answer:
            return answer.read()

    def requests(self):
        """What was asked since the last call (or the last change of habits)."""
        return json.loads(self.ask(f"{self.url}/_log"))

    def become(self, **habits):
        self.ask(urllib.request.Request(f"{self.url}/_habits", data=json.dumps(habits).encode(), method="PUT"))


@contextlib.contextmanager
def fault_server(root, **habits):
    script = Path(__file__).with_name("fault_server.py")
    process = subprocess.Popen([sys.executable, script, str(root), json.dumps(habits)],
                               stdout=subprocess.PIPE, text=True)
    try:
        yield Server(int(process.stdout.readline()), "tls" in habits)
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def nginx(root, folder, extra="", tls=None, words="", beside="", before=""):
    """nginx over `root`, with `extra` lines in its location, others `beside` that, and lines `before` the server;
    yields its URL. `tls`: files of a certificate and key; `words`: how else it listens."""
    program = os.environ.get("H5ZARR_NGINX") or shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("nginx is not installed, and H5ZARR_NGINX names none (./run env does)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = Path(folder)
    owner = f"user {Path(root).owner()};" if Path("/proc/self").stat().st_uid == 0 else ""
    secure = f"ssl {words}; ssl_certificate {tls[0]}; ssl_certificate_key {tls[1]}" if tls else ""
    configuration = folder / "nginx.conf"
    configuration.write_text(f"""
daemon off; master_process on; worker_processes 1; pid {folder}/nginx.pid; {owner}
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  log_format short '$status $body_bytes_sent $request_uri $http_range $server_protocol $connection'; access_log {folder}/access.log short;
  {before}
  server {{
    listen 127.0.0.1:{port} {secure}; root {root};
    location / {{ {extra} }}
    {beside}
  }}
}}
""")
    process = subprocess.Popen([program, "-e", str(folder / "error.log"), "-c", str(configuration)],
                               stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        yield f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()
