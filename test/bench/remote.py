"""Times whole reads over HTTP beside a client that only fetches (fetch_only.c), and prints the table.

    python test/bench/remote.py                          # about two minutes
    python test/bench/remote.py --rows zarr,hdf5 --repeats 9
    python test/bench/remote.py --latency-ms 100 --chunks 100

The server is nginx, with 30 ms before each answer (needs its echo module, as of libnginx-mod-http-echo). There are 500
chunks of 250 kB, gzip, of 400 kB when decoded. The client asks for each of them by itself, over as many connections as
the plugin may have (32), and decodes nothing. In each repeat of a row the client and the plugin take turns, each in a
process of its own with no connection yet; opening is not timed, and what is read is checked. The ratio is the median of
the repeats' ratios (and the least) of wall time. CPU seconds are those of the client, of the plugin when it reads the same
file from the disk (it has to decode), and of the plugin over HTTP, where the machine is busy the better measure: the last
should be no more than the sum of the others. Requests and bytes are those that the server counts, beside the number of
chunks and their bytes. HDF5_PLUGIN_PATH names the plugin, cc and libcurl's headers make the client.
"""
import argparse
import contextlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np

CHUNK_ELEMS = 100_000
ROWS = {"zarr": "Zarr store, an object a chunk", "shards": "Zarr store, 50 chunks a shard", "hdf5": "HDF5 file",
        "kerchunk": "kerchunk JSON", "lindi": "LINDI JSON", "hdf5-two": "HDF5 file, chunks of two datasets in turn",
        "kerchunk-two": "kerchunk JSON of such a file"}
MODULES = ["/usr/lib/nginx/modules", "/usr/lib64/nginx/modules"]
# What is measured of the plugin: prints seconds, CPU seconds, and a checksum.
READ = """
import h5py, numpy as np, sys, time, zlib
with h5py.File(sys.argv[1]) as f:
    d = f["d"]
    out = np.zeros(d.shape, d.dtype)
    print("open", flush=True)
    sys.stdin.readline()
    wall, cpu = time.perf_counter(), time.process_time()
    d.read_direct(out)
    print(time.perf_counter() - wall, time.process_time() - cpu, zlib.crc32(out))
"""


def chunks_of(count):
    """Numbers of 20 bits at random: five eighths of their bytes are left of them."""
    rng = np.random.default_rng(5)
    for _ in range(count):
        yield rng.integers(0, 1 << 20, CHUNK_ELEMS, dtype="<i4").tobytes()


def deflate(data, gzip):
    packer = zlib.compressobj(1, zlib.DEFLATED, 31 if gzip else 15)
    return packer.compress(data) + packer.flush()


def make_zarr(root, name, count, shard_chunks=None):
    import zarr
    array = zarr.create_array(store=str(root / name), name="d", shape=(count, CHUNK_ELEMS), dtype="<i4",
                              chunks=(1, CHUNK_ELEMS), shards=shard_chunks and (shard_chunks, CHUNK_ELEMS), filters=None,
                              compressors=zarr.codecs.GzipCodec(level=1), fill_value=0)
    zarr.consolidate_metadata(str(root / name))
    return array


def make_hdf5(path, count, datasets):
    """An HDF5 file, the chunks of its datasets in turn; places of those of the first one."""
    import h5py
    with h5py.File(path, "w") as f:
        made = [f.create_dataset(name, (count, CHUNK_ELEMS), "<i4", chunks=(1, CHUNK_ELEMS), compression=1)
                for name in datasets]
        for i, data in enumerate(chunks_of(count)):
            packed = deflate(data, gzip=False)
            for dataset in made:
                dataset.id.write_direct_chunk((i, 0), packed)
        f.flush()
        infos = [made[0].id.get_chunk_info_by_coord((i, 0)) for i in range(count)]
    return [(info.byte_offset, info.size) for info in infos]


def make_references(path, target, places, lindi):
    array = {"zarr_format": 2, "shape": [len(places), CHUNK_ELEMS], "chunks": [1, CHUNK_ELEMS], "dtype": "<i4",
             "compressor": None, "filters": [{"id": "zlib", "level": 1}], "fill_value": 0, "order": "C"}
    group = {"zarr_format": 2}
    refs = {".zgroup": group, "d/.zarray": array}  # kerchunk has these as texts
    if not lindi:
        refs = {key: json.dumps(value) for key, value in refs.items()}
    refs |= {f"d/{i}.0": ["{{u1}}" if lindi else target, *place] for i, place in enumerate(places)}
    document = {"version": 1, "templates": {"u1": target} if lindi else {}, "refs": refs}
    if lindi:
        document["generationMetadata"] = {"generatedBy": "remote.py"}
    path.write_text(json.dumps(document))


class Served:
    """What is read: of each row its URL, and of each of its chunks where it lies (path, offset, bytes)."""

    def __init__(self, root, url, count, rows):
        self.root, self.url, self.count = root, url, count
        self.urls, self.local, self.places = {}, {}, {}
        files = {}
        if {"hdf5", "kerchunk", "lindi"} & set(rows):
            files["one.h5"] = make_hdf5(root / "one.h5", count, ["d"])
        if {"hdf5-two", "kerchunk-two"} & set(rows):
            files["two.h5"] = make_hdf5(root / "two.h5", count, ["d", "other"])
        for row in rows:
            name = {"zarr": "objects.zarr", "shards": "shards.zarr", "hdf5": "one.h5", "hdf5-two": "two.h5",
                    "kerchunk": "one.json", "lindi": "one.lindi.json", "kerchunk-two": "two.json"}[row]
            self.urls[row] = f"{url}/{name}"
            file = "two.h5" if row.endswith("-two") else "one.h5"
            self.local[row] = root / (file if name.endswith(".json") else name)
            if name.endswith(".json"):
                make_references(root / name, f"{url}/{file}", files[file], "lindi" in name)
            if name.endswith(".zarr"):
                self.places[row] = self.write_zarr(name, 50 if row == "shards" else None)
            else:
                self.places[row] = [(file, *place) for place in files[file]]
        self.checksum = 0
        for data in chunks_of(count):
            self.checksum = zlib.crc32(data, self.checksum)

    def write_zarr(self, name, shard_chunks):
        array = make_zarr(self.root, name, self.count, shard_chunks)
        keys = [f"{name}/d/c/{i // (shard_chunks or 1)}/0" for i in range(self.count)]
        if shard_chunks:
            rows = b"".join(chunks_of(self.count))
            array[...] = np.frombuffer(rows, "<i4").reshape(self.count, CHUNK_ELEMS)
            return [place for first in range(0, self.count, shard_chunks)
                    for place in self.places_in(keys[first], min(shard_chunks, self.count - first), shard_chunks)]
        for key, data in zip(keys, chunks_of(self.count)):
            (self.root / key).parent.mkdir(parents=True)
            (self.root / key).write_bytes(deflate(data, gzip=True))
        return [(key, None, os.path.getsize(self.root / key)) for key in keys]

    def places_in(self, key, count, entries):
        """Where the chunks of a shard lie: its index, of a pair of words an entry and a checksum, is at its end."""
        words = np.frombuffer((self.root / key).read_bytes()[-16 * entries - 4:-4], "<u8").reshape(-1, 2)
        return [(key, int(offset), int(length)) for offset, length in words[:count]]

    def fetch_list(self, row):
        return "".join(f"{self.url}/{path} - {size}\n" if offset is None else
                       f"{self.url}/{path} {offset} {offset + size - 1}\n" for path, offset, size in self.places[row])

    def payload_bytes(self, row):
        return sum(size for *_, size in self.places[row])


@contextlib.contextmanager
def server(root, folder, latency_ms):
    """nginx over `root`; yields its URL."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    module = next((f"{at}/ngx_http_echo_module.so" for at in MODULES if Path(at, "ngx_http_echo_module.so").exists()), None)
    if program is None or module is None:
        sys.exit("remote.py needs nginx and its echo module")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    temporary = "".join(f"{kind}_temp_path {folder}/{kind}; " for kind in
                        ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    configuration = folder / "nginx.conf"
    configuration.write_text(f"""
load_module {module}; daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
  {temporary} sendfile on; keepalive_requests 1000000;
  log_format short '$status $body_bytes_sent $request_uri'; access_log {folder}/access.log short;
  server {{
    listen 127.0.0.1:{port} backlog=512;
    location / {{ echo_sleep {latency_ms / 1000}; echo_exec @files; }}
    location @files {{ root {root}; }}
  }}
}}
""")
    process = subprocess.Popen([program, "-e", str(folder / "error.log"), "-c", str(configuration)])
    try:
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


class Bench:
    def __init__(self, served, client, log, connections):
        self.served, self.client, self.log, self.connections = served, client, log, connections

    def fetch(self, row):
        done = subprocess.run([self.client, str(self.connections)], input=self.served.fetch_list(row), text=True,
                              capture_output=True, check=True)
        wall, cpu, fetched = done.stdout.split()
        assert int(fetched) == self.served.payload_bytes(row)
        return float(wall), float(cpu)

    def asked(self):
        """Requests and bytes since the last call."""
        lines = [line.split() for line in self.log.read_text().splitlines()]
        self.log.write_text("")
        return len(lines), sum(int(words[1]) for words in lines)

    def read(self, name):
        env = os.environ | {"HDF5_VOL_CONNECTOR": f"zarr concurrency={self.connections}"}
        process = subprocess.Popen([sys.executable, "-c", READ, str(name)], env=env, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdout.readline() == "open\n", "the plugin did not open it"
        self.asked()
        said, _ = process.communicate("read\n")
        wall, cpu, checksum = said.split()
        assert int(checksum) == self.served.checksum, f"{name}: wrong data"
        return float(wall), float(cpu), *self.asked()

    def row(self, row, repeats):
        rounds = []
        for _ in range(repeats + 1):
            rounds.append((self.fetch(row), self.read(self.served.local[row]), self.read(self.served.urls[row])))
            said = ", ".join(f"{wall:.3f} s (CPU {cpu:.3f})" for wall, cpu, *_ in rounds[-1])
            print(f"{row}: {said}", file=sys.stderr, flush=True)
        rounds = rounds[1:]
        ratios = [read[0] / fetched[0] for fetched, _, read in rounds]
        wall, cpu = ([statistics.median(one[way][which] for one in rounds) for way in range(3)] for which in range(2))
        requests, sent_bytes = rounds[-1][2][2:]
        return [ROWS[row], f"{wall[0]:.2f} s", f"{wall[2]:.2f} s", f"{statistics.median(ratios):.2f} ({min(ratios):.2f})",
                " / ".join(f"{seconds:.2f}" for seconds in cpu), f"{requests} / {self.served.count}",
                f"{sent_bytes / self.served.payload_bytes(row):.3f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=lambda text: text.split(","), default=list(ROWS), help=", ".join(ROWS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--chunks", type=int, default=500)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--latency-ms", type=float, default=30)
    parser.add_argument("--folder", help="where files go (default: a temporary folder)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        folder = Path(folder)
        root = folder / "root"
        root.mkdir()
        client = folder / "fetch_only"
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", client, Path(__file__).with_name("fetch_only.c"), "-lcurl"],
                       check=True)
        with server(root, folder, arguments.latency_ms) as url:
            served = Served(root, url, arguments.chunks, arguments.rows)
            bench = Bench(served, client, folder / "access.log", arguments.connections)
            cells = [bench.row(row, arguments.repeats) for row in arguments.rows]
    print("| | only fetched | read | ratio (least) | CPU s: fetched / read here / read | requests / chunks | bytes / theirs |\n" + "|---" * 7 + "|")
    for row in cells:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
