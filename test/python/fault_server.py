"""An HTTP server of files with bad habits, for tests: `python fault_server.py ROOT HABITS` (JSON) prints its
port and serves on loopback until it is ended. GET /_log answers what was asked so far and forgets it;
PUT /_habits changes the habits. A process of its own, since h5py keeps Python's lock while it waits.

Habits:
  latency_ms           before every answer
  busy_every: N        each Nth request is answered by 503; busy_first: N: the first N of each path
  cut_every: N         each Nth body ends half way; cut_first: N: the first N of each path
  odds: 0.1            so many requests, at random (by `seed`), are dropped, answered by 500, 503, or half
  ranges               yes, no (the whole object), no-suffix (416), wrong (one byte further), no-total
  tags                 strong, weak, none (and no Last-Modified), changing (with every answer)
  redirect             "plain"; "expiring": to links that are good for `link_uses` requests each, then 403
  user, password       basic authentication; token: the header X-Token must have it
  log_in               [user, password]: who has no cookie is sent to a page that asks for them, and back with it
  missing              the status where nothing is (404); "page": 200 with a web page
  s3                   HEAD is answered, not refused; folders of the root are buckets: objects are listed, put and deleted
  no_conditions        conditional PUTs are answered by 501
  lost_first: N        the first N PUTs of a path are done, and answered by 500
  region: NAME         a bucket of S3 that is there: other signatures are answered by 301 (400 if `malformed`)
  bytes_per_s          a slow body; stall_every: N: each Nth body stops half way and stays open
  encoding             gzip, asked for or not
  chunked              bodies without Content-Length
  hosts                as a proxy: ports of this machine that stand for "host:port"
  tls: [CERT, KEY]     https, by the files of a certificate and its key (from the beginning on)
  authorization        what this header must say; redirect_to: the server of the links of redirects
  more_headers         of all answers with bytes: [[name, value], …]
"""
import base64
import gzip
import http.server
import json
import os
import random
import select
import socket
import ssl
import sys
import threading
import time
import urllib.parse

SIGNED = "/signed/"


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, root, habits):
        super().__init__(("127.0.0.1", 0), Handler)
        self.root = os.path.realpath(root)
        self.habits = habits
        self.lock = threading.Lock()
        self.put_lock = threading.Lock()
        self.log = []
        self.requests = 0
        self.seen = {}     # how often a path was asked for
        self.links = {}    # how often a link was used
        self.connections = 0
        self.at_once = 0   # requests that are not answered yet
        self.random = random.Random(habits.get("seed", 0))
        if "tls" in habits:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*habits["tls"])
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # (clients that end leave some behind)
            super().handle_error(request, client_address)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        with self.server.lock:
            self.server.connections += 1
            self.connection_number = self.server.connections

    def log_message(self, *_):
        pass

    def habit(self, name, default=None):
        return self.server.habits.get(name, default)

    def reply(self, status, body=b"", headers=(), cut=None):
        chunked = self.habit("chunked") and status in (200, 206)
        note = {"path": self.path, "range": self.headers.get("Range"), "status": status,
                "bytes": len(body) if cut is None else len(body) // 2,
                "connection": self.connection_number, "at_once": getattr(self, "at_once", 1),
                "headers": {k.lower(): v for k, v in self.headers.items()}}
        with self.server.lock:
            if self.path != "/_habits":
                self.server.log.append(note)
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header(*(("Transfer-Encoding", "chunked") if chunked else ("Content-Length", str(len(body)))))
        self.end_headers()
        if self.command == "HEAD":
            return
        if chunked:
            pieces = [body[i:i + 1000] for i in range(0, len(body), 1000)] + [b""]
            body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
        if cut is not None:
            body = body[:len(body) // 2]
        try:
            speed = self.habit("bytes_per_s")
            if speed:
                step = max(1, speed // 20)
                for i in range(0, len(body), step):
                    self.wfile.write(body[i:i + step])
                    time.sleep(0.05)
            else:
                self.wfile.write(body)
            self.wfile.flush()
        except OSError:
            cut = "end"
        if cut == "stall":
            time.sleep(20)
        if cut is not None:
            self.close_connection = True

    def answered_early(self):
        """Counts the request; whether it was answered by 503."""
        time.sleep(self.habit("latency_ms", 0) / 1000)
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        with self.server.lock:
            self.server.requests += 1
            self.number = self.server.requests
            self.times = self.server.seen[path] = self.server.seen.get(path, 0) + 1
        if self.number % self.habit("busy_every", 1 << 60) == 0 or self.times <= self.habit("busy_first", 0):
            self.reply(503, b"busy", [("Retry-After", "0")])
            return True
        return False

    def file_at(self, path):
        """The name of the file that is meant, or None where it is none below the root."""
        name = os.path.normpath(os.path.join(self.server.root, path.lstrip("/")))
        return name if name.startswith(self.server.root) else None

    def put_object(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.answered_early():
            return
        path = self.file_at(urllib.parse.unquote(self.path))
        if not self.habit("s3") or path is None:
            self.reply(405)
            return
        with self.server.put_lock:
            fails = self.fails_condition(path)
            if not fails:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(f"{path}.{threading.get_ident()}", "wb") as file:
                    file.write(body)
                os.replace(file.name, path)
        if fails:
            self.reply(501 if self.habit("no_conditions") else 412)
            return
        if self.times <= self.habit("lost_first", 0):
            self.reply(500)
            return
        self.reply(200, b"", [("ETag", '"%x"' % os.stat(path).st_mtime_ns)])

    def fails_condition(self, path):
        now = '"%x"' % os.stat(path).st_mtime_ns if os.path.exists(path) else None
        new, match = self.headers.get("If-None-Match"), self.headers.get("If-Match")
        if self.habit("no_conditions") and (new or match):
            return True
        return (new == "*" and now is not None) or (match is not None and match != now)

    def do_DELETE(self):
        path = self.file_at(urllib.parse.unquote(self.path))
        if path is not None and os.path.isfile(path):
            os.unlink(path)
        self.reply(204)

    def list_objects(self, bucket, query):
        prefix, keys = query.get("prefix", [""])[0], []
        top = self.file_at(bucket)
        for folder, _, names in os.walk(top):
            keys += [os.path.relpath(os.path.join(folder, name), top) for name in names]
        keys = sorted(key for key in keys if key.startswith(prefix))
        folders = set()
        if "delimiter" in query:
            folders = {prefix + key[len(prefix):].split("/")[0] + "/" for key in keys if "/" in key[len(prefix):]}
            keys = [key for key in keys if "/" not in key[len(prefix):]]
        body = "".join(f"<Contents><Key>{key}</Key><Size>1</Size></Contents>" for key in keys)
        body += "".join(f"<CommonPrefixes><Prefix>{one}</Prefix></CommonPrefixes>" for one in sorted(folders))
        self.reply(200, f"<ListBucketResult>{body}</ListBucketResult>".encode())

    def do_PUT(self):
        if self.path != "/_habits":
            self.put_object()
            return
        length = int(self.headers["Content-Length"])
        with self.server.lock:
            self.server.habits = json.loads(self.rfile.read(length))
            self.server.random.seed(self.server.habits.get("seed", 0))
            self.server.seen.clear()
            self.server.requests = 0
            self.server.log = []
        self.reply(204)

    def do_CONNECT(self):
        """As a proxy: the bytes of both sides, until one ends."""
        host, port = self.path.rsplit(":", 1)
        if self.path in self.habit("hosts", {}):
            host, port = "127.0.0.1", self.habit("hosts")[self.path]
        with self.server.lock:
            self.server.log.append({"path": self.path, "status": 200, "connect": True})
        with socket.create_connection((host, int(port))) as there:
            self.send_response(200)
            self.end_headers()
            ends = {self.connection: there, there: self.connection}
            while True:
                for ready in select.select(list(ends), [], [])[0]:
                    piece = ready.recv(1 << 16)
                    if not piece:
                        self.close_connection = True
                        return
                    ends[ready].sendall(piece)

    def do_HEAD(self):
        if self.habit("s3"):
            self.do_GET()
        else:
            self.reply(405)

    def do_GET(self):
        with self.server.lock:
            self.server.at_once += 1
            self.at_once = self.server.at_once
        try:
            self.get()
        finally:
            with self.server.lock:
                self.server.at_once -= 1

    def get(self):
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        if path == "/_log":
            with self.server.lock:
                body = json.dumps(self.server.log).encode()
                self.server.log = []
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        if self.answered_early():
            return
        number, times = self.number, self.times
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        if self.habit("s3") and "list-type" in query:
            self.list_objects(path, query)
            return
        if self.sent_to_log_in(path) or self.refused() or self.redirected(path):
            return
        if path.startswith(SIGNED):
            path = self.signed(path)
            if path is None:
                return
        cut = None
        if number % self.habit("cut_every", 1 << 60) == 0 or times <= self.habit("cut_first", 0):
            cut = "end"
        if number % self.habit("stall_every", 1 << 60) == 0:
            cut = "stall"
        if "odds" in self.server.habits:
            with self.server.lock:
                lot = self.server.random.random() / self.habit("odds")
            if lot < 0.25:
                self.close_connection = True
                return
            if lot < 0.75:
                self.reply(500 if lot < 0.5 else 503)
                return
            cut = "end" if lot < 1 else cut
        self.serve(path, cut)

    def sent_to_log_in(self, path):
        """As NASA's Earthdata and other places with a single sign-on do it."""
        if not self.habit("log_in"):
            return False
        back = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).get("to", [""])[0]
        if path == "/_log_in":
            word = "Basic " + base64.b64encode(":".join(self.habit("log_in")).encode()).decode()
            if self.headers.get("Authorization") == word:
                self.reply(302, b"", [("Location", f"/_enter?code=1&to={urllib.parse.quote(back)}")])
            else:
                self.reply(401, b"", [("WWW-Authenticate", "Basic")])
        elif path == "/_enter":
            cookies = [("Set-Cookie", "session=good; Path=/; HttpOnly"), ("Set-Cookie", "x=1")]
            self.reply(307, b"", [*cookies, ("Location", back)])
        elif "session=good" in self.headers.get("Cookie", ""):
            return False
        else:
            self.reply(302, b"", [("Location", f"/_log_in?to={urllib.parse.quote(self.path)}")])
        return True

    def refused(self):
        if self.path.startswith(SIGNED):
            if self.headers.get("Authorization") or self.headers.get("X-Token"):
                self.reply(400, b"<Error><Code>InvalidArgument</Code></Error>")
                return True
            return False
        if self.habit("user"):
            word = f"{self.habit('user')}:{self.habit('password')}".encode()
            if self.headers.get("Authorization") != "Basic " + base64.b64encode(word).decode():
                self.reply(401, b"", [("WWW-Authenticate", "Basic")])
                return True
        region = self.habit("region")
        if region and f"/{region}/s3/" not in self.headers.get("Authorization", ""):
            self.reply(400 if self.habit("malformed") else 301,
                       f"<Error><Code>AuthorizationHeaderMalformed</Code><Region>{region}</Region></Error>".encode(),
                       [] if self.habit("malformed") else [("x-amz-bucket-region", region)])
            return True
        if self.habit("authorization") and self.headers.get("Authorization") != self.habit("authorization"):
            self.reply(401)
            return True
        if self.habit("token") and self.headers.get("X-Token") != self.habit("token"):
            self.reply(403)
            return True
        return False

    def redirected(self, path):
        kind = self.habit("redirect")
        if not kind or path.startswith(SIGNED):
            return False
        with self.server.lock:
            link = f"{len(self.server.links)}"
            self.server.links[link] = 0
        target = f"{self.habit('redirect_to', '')}{SIGNED}{link}{urllib.parse.quote(path)}?X-Amz-Signature=hush{link}"
        self.reply(302, b"elsewhere", [("Location", target)])
        return True

    def signed(self, path):
        link, path = path[len(SIGNED):].split("/", 1)
        with self.server.lock:
            self.server.links[link] = self.server.links.get(link, 0) + 1
            uses = self.server.links[link]
        if self.habit("redirect") == "expiring" and uses > self.habit("link_uses", 2):
            self.reply(403, b"<Error><Code>AccessDenied</Code></Error>")
            return None
        return "/" + path

    def serve(self, path, cut):
        name = self.file_at(path)
        if name is None or not os.path.isfile(name):
            if self.habit("missing") == "page":
                self.reply(200, b"\n<!DOCTYPE html><html>Not found</html>", [("Content-Type", "text/html")])
            else:
                self.reply(self.habit("missing", 404), b"nothing here")
            return
        with open(name, "rb") as file:  # (one state of it, whatever replaces it meanwhile)
            self.serve_file(file, cut)

    def serve_file(self, file, cut):
        total, changed = os.fstat(file.fileno()).st_size, os.fstat(file.fileno()).st_mtime_ns

        def read(begin=0, end=total):
            file.seek(begin)
            return file.read(end - begin)

        tags = self.habit("tags", "strong")
        tag = '"%x"' % changed
        if tags == "weak":
            tag = "W/" + tag
        if tags == "changing":
            tag = '"%d"' % time.monotonic_ns()
        headers = ([] if tags == "none" else [("ETag", tag)]) + self.habit("more_headers", [])
        if tags != "none" and self.headers.get("If-None-Match") == tag:
            self.reply(304, b"", headers)
            return
        wanted = self.headers.get("If-Match")
        if wanted and (tags not in ("strong", "changing") or wanted != tag):
            self.reply(412)
            return
        if self.habit("encoding"):
            self.reply(200, gzip.compress(read()), headers + [("Content-Encoding", "gzip")], cut)
            return
        asked = self.headers.get("Range")
        ranges = self.habit("ranges", "yes")
        if not asked or ranges == "no":
            self.reply(200, read(), headers, cut)
            return
        first, last = asked.removeprefix("bytes=").split("-")
        unsatisfied = [("Content-Range", f"bytes */{total}")]
        if first == "":
            if ranges == "no-suffix":
                self.reply(416, b"", unsatisfied)
                return
            begin, end = max(0, total - int(last)), total
        else:
            begin, end = int(first), min(total, int(last) + 1) if last else total
        if begin >= end:
            self.reply(416, b"", unsatisfied)
            return
        if ranges == "wrong":
            begin, end = begin + 1, end + 1
        shown = "*" if ranges == "no-total" else str(max(total, end))
        self.reply(206, read(begin, end), headers + [("Content-Range", f"bytes {begin}-{end - 1}/{shown}")],
                   cut)


if __name__ == "__main__":
    server = Server(sys.argv[1], json.loads(sys.argv[2]))
    print(server.server_port, flush=True)
    server.serve_forever()
