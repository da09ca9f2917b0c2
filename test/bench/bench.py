"""A regression benchmark of the plugin: what one build costs, as JSON, to be compared with another's.

    python test/bench/bench.py > before.json
    python test/bench/bench.py --only read,write --chunks 100,10000
    python test/bench/bench.py --compare before.json after.json

Each number is the median of several repeats in one process: wall and CPU (user + system, all threads)
milliseconds. The environment names the plugin, as for any HDF5 program; `./run bench` sets it and runs this.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ELEMS = 1_000_000
SHARD = 480


def data(elems=ELEMS):
    """Smooth numbers with some noise: compresses as measurements do."""
    rng = np.random.default_rng(1)
    return (np.sin(np.arange(elems) / 5000) * 1000 + rng.normal(0, 1, elems)).astype("f4")


def layout(chunks, codec, sharded):
    """Creation arguments for an array of ELEMS in so many chunks."""
    size = max(ELEMS // chunks, 1)
    if sharded:
        word = {"none": 0, "gzip": 2 | 3 << 8, "zstd": 3 | 3 << 8}[codec]
        return dict(chunks=(size * (ELEMS // size),), compression=SHARD, compression_opts=(1, 1, size, word))
    return dict(chunks=(size,)) | ({} if codec == "none" else dict(compression="gzip", compression_opts=3))


class Clock:
    def __enter__(self):
        self.cpu, self.wall = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_):
        self.wall = (time.perf_counter() - self.wall) * 1e3
        self.cpu = (time.process_time() - self.cpu) * 1e3


def measure(repeats, body, prepare=lambda: None):
    """Median wall and CPU milliseconds of body(prepare()), after one warm-up."""
    clocks = []
    for _ in range(repeats + 1):
        prepared = prepare()
        with Clock() as clock:
            body(prepared)
        clocks.append(clock)
    return {"wall_ms": round(statistics.median(c.wall for c in clocks[1:]), 4),
            "cpu_ms": round(statistics.median(c.cpu for c in clocks[1:]), 4)}


class Bench:
    def __init__(self, folder, arguments):
        import h5py

        self.h5py, self.folder, self.a = h5py, Path(folder), arguments
        self.rows = []

    def fresh(self):
        path = self.folder / "x.zarr"
        shutil.rmtree(path, ignore_errors=True)
        return path

    def add(self, name, result, **what):
        self.rows.append({"name": name, **what, **result})
        print(json.dumps(self.rows[-1]), file=sys.stderr, flush=True)

    def layouts(self):
        for chunks in self.a.chunks:
            for codec in ("none", "gzip"):
                for sharded in (False, True):
                    if sharded or chunks <= 10_000:  # a file a chunk: no more than that
                        yield chunks, codec, sharded

    def store(self, chunks, codec, sharded):
        path, values = self.fresh(), data()
        with self.h5py.File(path, "w") as f:
            f.create_dataset("d", data=values, **layout(chunks, codec, sharded))
        return path

    def write(self):
        values = data()
        for chunks, codec, sharded in self.layouts():
            def prepare():
                f = self.h5py.File(self.fresh(), "w")
                return f, f.create_dataset("d", values.shape, "f4", **layout(chunks, codec, sharded))

            def body(opened):
                opened[1][...] = values
                opened[0].close()

            self.add("write whole", measure(self.a.repeats, body, prepare), chunks=chunks, codec=codec, sharded=sharded)

    def read(self):
        for chunks, codec, sharded in self.layouts():
            path = self.store(chunks, codec, sharded)
            what = dict(chunks=chunks, codec=codec, sharded=sharded)
            self.add("read whole", self.times(path, lambda d: d[...]), **what)

    def times(self, path, body):
        """A read of a file that was just opened: nothing is cached by us."""
        opened = []

        def prepare():
            while opened:
                opened.pop().close()
            opened.append(self.h5py.File(path))
            return opened[0]["d"]

        try:
            return measure(self.a.repeats, body, prepare)
        finally:
            while opened:
                opened.pop().close()

    def select(self):
        for codec, sharded in (("none", False), ("gzip", True)):
            path = self.store(10_000, codec, sharded)
            for elems in (1, 100, 10_000, 1_000_000):
                what = dict(elems=elems, codec=codec, sharded=sharded)
                self.add("read run", self.times(path, lambda d: d[ELEMS - elems:]), **what)
                self.add("read strided", self.times(path, lambda d: d[::ELEMS // elems]), **what)
            with self.h5py.File(path) as f:
                d = f["d"]
                result = measure(self.a.repeats, lambda _: [d[5000] for _ in range(1000)])
                self.add("1000 cached elements", result, codec=codec, sharded=sharded)

    def datasets(self):
        for count in (1, 10, 100, 1000):
            path = self.fresh()
            with self.h5py.File(path, "w") as f:
                for i in range(count):
                    f[f"d{i}"] = np.arange(100, dtype="f4") + i

            def body(_):
                with self.h5py.File(path) as f:
                    for name in f:
                        f[name][...]

            self.add("open and read all", measure(self.a.repeats, body), datasets=count)

    def append(self):
        frame = np.arange(512 * 512, dtype="u2").reshape(512, 512)

        def prepare():
            f = self.h5py.File(self.fresh(), "w")
            return f, f.create_dataset("d", (64, 512, 512), "u2", chunks=(16, 512, 512), compression=SHARD,
                                       compression_opts=(1, 3, 1, 256, 256, 3 | 1 << 8))

        def body(opened):
            for i in range(64):
                opened[1][i] = frame
            opened[0].close()

        self.add("64 frames, shards of 16", measure(self.a.repeats, body, prepare))


WORKLOADS = ("write", "read", "select", "datasets", "append")


def variants(workload, threads):
    """The settings a workload is run with, each in a process of its own: they are read once."""
    if workload == "append":
        return [{"write": "through"}, {"write": "behind"}]
    return [{"threads": str(count)} for count in threads]


def compare(before, after):
    """Prints the rows both have, with the ratio of their CPU times: the steadier of the two."""
    key = lambda row: json.dumps({k: v for k, v in row.items() if not k.endswith("_ms")})
    old = {key(row): row for row in json.loads(Path(before).read_text())["rows"]}
    for row in json.loads(Path(after).read_text())["rows"]:
        if key(row) in old:
            was = old[key(row)]
            ratio = row["cpu_ms"] / max(was["cpu_ms"], 1e-3)
            print(f"{ratio:6.2f}  {was['cpu_ms']:10.3f} -> {row['cpu_ms']:10.3f} ms CPU  {key(row)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = lambda text: [int(n) for n in text.split(",")]
    parser.add_argument("--only", default=",".join(WORKLOADS))
    parser.add_argument("--chunks", type=numbers, default=[100, 1000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--threads", type=numbers, default=[1, os.cpu_count()])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", help="where the stores go (default: a temporary folder)")
    parser.add_argument("--worker", choices=WORKLOADS, help=argparse.SUPPRESS)
    parser.add_argument("--compare", nargs=2, metavar=("BEFORE", "AFTER"))
    arguments = parser.parse_args()
    if arguments.compare:
        return compare(*arguments.compare)
    if arguments.worker:
        bench = Bench(arguments.folder, arguments)
        getattr(bench, arguments.worker)()
        return print(json.dumps(bench.rows))
    rows = []
    for workload in arguments.only.split(","):
        if workload not in WORKLOADS:
            parser.error(f"no workload {workload}: {', '.join(WORKLOADS)}")
        for settings in variants(workload, arguments.threads):
            rows += [row | settings for row in in_a_process(workload, settings, arguments)]
    print(json.dumps({"cpus": os.cpu_count(), "rows": rows}, indent=1))


def in_a_process(workload, settings, arguments):
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        command = [sys.executable, __file__, "--worker", workload, "--folder", folder, "--repeats",
                   str(arguments.repeats), "--chunks", ",".join(map(str, arguments.chunks))]
        env = os.environ | {f"H5ZARR_{key.upper()}": value for key, value in settings.items()}
        return json.loads(subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True).stdout)


if __name__ == "__main__":
    main()
