"""Times this plugin beside its peers, and prints the table; with --svg it draws it as well.

    python test/bench/peers.py                          # about two minutes
    python test/bench/peers.py --rows 1,2 --repeats 9
    python test/bench/peers.py --svg bench.svg
    python test/bench/peers.py --view                   # with HDF5_PLUGIN_PATH alone, beside the connector

Every peer has a process of its own, which waits while another is timed. Repeats are interleaved, so that a
busy machine is as busy for all; a cell is their median, after one round that does not count. Stores are made
by zarr-python, so that all read the same bytes, and are opened anew for each repeat, which is not timed unless
the row says so; "each" rows are timed over many calls. All reads come from the page cache; what is read
is checked. HDF5_PLUGIN_PATH names the plugin.
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
import zlib
from pathlib import Path

import numpy as np

SMALL = dict(shape=[1_000_000], dtype="u1")
VOLUME = dict(shape=[256, 256, 256], dtype="u2")
# What is done, to an array of which layout, of it what, how often a repeat.
ROWS = [
    ("write 1,000 chunks of 1 kB, gzip", "write", SMALL | dict(chunks=[1000], codec="gzip"), None, 1),
    ("read them", "read", SMALL | dict(chunks=[1000], codec="gzip"), None, 1),
    ("write 10,000 chunks of 100 B in one shard", "write", SMALL | dict(chunks=[100], shards=[1_000_000]), None, 1),
    ("read them", "read", SMALL | dict(chunks=[100], shards=[1_000_000]), None, 1),
    ("write 256³ uint16, one zstd shard", "write", VOLUME | dict(chunks=[64] * 3, shards=[256] * 3, codec="zstd"), None, 1),
    ("read it", "read", VOLUME | dict(chunks=[64] * 3, shards=[256] * 3, codec="zstd"), None, 1),
    ("one plane across rows, uncompressed", "read", VOLUME | dict(chunks=[64] * 3, shards=[256] * 3),
     [[None], [None], [100, 101]], 1),
    ("first plane of zstd chunks of 128³", "read", VOLUME | dict(chunks=[128] * 3, shards=[256] * 3, codec="zstd"),
     [[0, 1], [None], [None]], 1),
    ("read 10 elements, each", "read", SMALL | dict(chunks=[10_000]), [[100, 110]], 1000),
    ("open, read 10 elements, close, each", "open", SMALL | dict(chunks=[10_000]), [[100, 110]], 20),
]
# With --view: whole reads of many small chunks, and of a volume in a shard.
WHOLE = [(f"{name}, {codec or 'uncompressed'}", "read", layout | dict(codec=codec), None, 1)
         for name, layout in [("1,000 chunks of 1 kB", SMALL | dict(chunks=[1000])),
                              ("1,000 shards of 1 kB", SMALL | dict(chunks=[1000], shards=[1000])),
                              ("10,000 chunks of 100 B", SMALL | dict(chunks=[100])),
                              ("10,000 chunks of 100 B in one shard", SMALL | dict(chunks=[100], shards=[1_000_000])),
                              ("256³ uint16, one shard of 64³", VOLUME | dict(chunks=[64] * 3, shards=[256] * 3)),
                              ("256³ uint16, one shard of 32³", VOLUME | dict(chunks=[32] * 3, shards=[256] * 3))]
         for codec in (None, "gzip", "zstd")]
VIEW = "h5zarr (view)"
PEERS = ["h5zarr", "zarr-python", "zarrs", "tensorstore", "h5py (HDF5 file)"]
COLOURS = {"h5zarr": "#c1440e", "zarr-python": "#7a8b99", "zarrs": "#9aa9b5", "tensorstore": "#b9c4cd",
           "h5py (HDF5 file)": "#d9dfe4"}


def values(layout):
    """Smooth numbers with some noise: they compress as measurements do."""
    count = int(np.prod(layout["shape"]))
    noise = np.random.default_rng(1).integers(0, 4, count)
    return (np.sin(np.arange(count) / 5000) * 100 + 120 + noise).astype(layout["dtype"]).reshape(layout["shape"])


class Hdf5:
    """h5py: on a store where the connector is set, else on an HDF5 file."""

    def create(self, path, layout):
        import h5py
        filters = {"gzip": dict(compression="gzip", compression_opts=5)}.get(layout.get("codec"), {})
        if layout.get("codec") == "zstd":
            import hdf5plugin
            filters = dict(hdf5plugin.Zstd(clevel=3))
        with h5py.File(path, "w") as f:
            f.create_dataset("d", tuple(layout["shape"]), layout["dtype"], chunks=tuple(layout["chunks"]), **filters)

    def open(self, path, mode):
        import h5py
        self.file = h5py.File(path, mode)
        return self.file["d"]

    def read(self, array, selection):
        return array[selection]

    def write(self, array, data):
        array[...] = data
        self.file.flush()

    def close(self):
        self.file.close()


class ZarrPython:
    pipeline = None

    def create(self, path, layout):
        import zarr
        from zarr.codecs import GzipCodec, ZstdCodec
        codec = {"gzip": GzipCodec(level=5), "zstd": ZstdCodec(level=3), None: None}[layout.get("codec")]
        zarr.create_array(store=path, name="d", shape=layout["shape"], dtype=layout["dtype"], chunks=layout["chunks"],
                          shards=layout.get("shards"), compressors=codec, filters=None, fill_value=0)

    def open(self, path, mode):
        import zarr
        if self.pipeline:
            zarr.config.set({"codec_pipeline.path": self.pipeline})
        return zarr.open_array(store=path + "/d", mode=mode)

    def read(self, array, selection):
        return array[selection]

    def write(self, array, data):
        array[...] = data

    def close(self):
        pass


class Zarrs(ZarrPython):
    pipeline = "zarrs.ZarrsCodecPipeline"


class TensorStore(ZarrPython):
    def open(self, path, mode):
        import tensorstore
        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": path + "/d"}}
        return tensorstore.open(spec, context=tensorstore.Context({"file_io_sync": False})).result()

    def read(self, array, selection):
        return array[selection].read().result()

    def write(self, array, data):
        array.write(data).result()


WORKERS = {"h5zarr": Hdf5, "zarr-python": ZarrPython, "zarrs": Zarrs, "tensorstore": TensorStore,
           VIEW: Hdf5, "h5py (HDF5 file)": Hdf5}


def once(peer, ask, data):
    """Seconds a call, and a checksum of what was read."""
    selection = tuple(slice(*part) for part in ask["selection"]) if ask["selection"] else Ellipsis
    result, calls = None, ask["calls"]
    array = None if ask["action"] == "open" else peer.open(ask["path"], "r+" if ask["action"] == "write" else "r")
    begin = time.perf_counter()
    for _ in range(calls):
        if ask["action"] == "write":
            peer.write(array, data)
        elif ask["action"] == "read":
            result = peer.read(array, selection)
        else:
            result = peer.read(peer.open(ask["path"], "r"), selection)
            peer.close()
    seconds = (time.perf_counter() - begin) / calls
    if ask["action"] != "open":
        peer.close()
    return [seconds, None if result is None else zlib.crc32(np.ascontiguousarray(result))]


def work(name):
    """A peer's process: answers lines of JSON."""
    peer, made = WORKERS[name](), {}
    for line in sys.stdin:
        ask = json.loads(line)
        try:
            if ask["action"] == "create":
                answer = peer.create(ask["path"], ask["layout"])
            else:
                key = json.dumps([ask["layout"]["shape"], ask["layout"]["dtype"]])
                made.setdefault(key, values(ask["layout"]))
                answer = once(peer, ask, made[key])
        except Exception as error:  # one peer's failure is its own cell
            answer = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), flush=True)


class Process:
    def __init__(self, name):
        env = dict(os.environ)
        if name == "h5zarr":
            env["HDF5_VOL_CONNECTOR"] = "zarr"
        else:
            env.pop("HDF5_VOL_CONNECTOR", None)
            if name != VIEW:
                env.pop("HDF5_PLUGIN_PATH", None)
        self.process = subprocess.Popen([sys.executable, __file__, "--worker", name], env=env, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, **what):
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline() or '"its process ended"')

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure(row, processes, folder, repeats, names=PEERS):
    """Seconds by peer, of each repeat; a text where it failed. zarr-python and tensorstore make what is read."""
    _, action, layout, selection, calls = row
    paths = {name: str(Path(folder) / f"{i}{'.h5' if 'HDF5' in name else '.zarr'}") for i, name in enumerate(WORKERS)}
    data = values(layout)
    wanted = data[tuple(slice(*part) for part in selection)] if selection else data
    expected = zlib.crc32(np.ascontiguousarray(wanted))
    cells = {name: [] for name in names}

    def make(name):
        shutil.rmtree(paths[name], ignore_errors=True)
        maker = name if "HDF5" in name else "zarr-python"
        failed = processes[maker].ask(action="create", path=paths[name], layout=layout)
        if failed or action == "write":
            return failed
        filled = processes[name if "HDF5" in name else "tensorstore"].ask(
            action="write", path=paths[name], layout=layout, selection=None, calls=1)
        return filled if isinstance(filled, str) else None

    if action != "write":
        for name in names:
            cells[name] = make(name) or []
    for _ in range(repeats + 1):
        for name in names:
            if isinstance(cells[name], str):
                continue
            failed = make(name) if action == "write" else None
            answer = failed or processes[name].ask(action=action, path=paths[name], layout=layout, selection=selection,
                                           calls=calls)
            if isinstance(answer, str):
                cells[name] = answer
            elif action != "write" and answer[1] != expected:
                cells[name] = "wrong data"
            else:
                cells[name].append(answer[0])
    return {name: cell if isinstance(cell, str) else cell[1:] for name, cell in cells.items()}


def medians(row):
    return {name: cell if isinstance(cell, str) else statistics.median(cell) for name, cell in row.items()}


def compare_view(rows, repeats, folder):
    """A table of what the view takes beside the connector: medians, and the median of the repeats' ratios."""
    processes = {name: Process(name) for name in ("h5zarr", VIEW, "zarr-python", "tensorstore")}
    lines = [f"| | h5zarr | {VIEW} | ratio |", "|---|---|---|---|"]
    for row in rows:
        cells = measure(row, processes, folder, repeats, ("h5zarr", VIEW))
        named, viewed = cells["h5zarr"], cells[VIEW]
        failed = isinstance(named, str) or isinstance(viewed, str)
        ratio = "failed" if failed else f"{statistics.median(v / n for v, n in zip(viewed, named)):.2f}"
        seconds = medians(cells)
        lines.append(f"| {row[0]} | {shown(seconds['h5zarr'])} | {shown(seconds[VIEW])} | {ratio} |")
        print(lines[-1], file=sys.stderr, flush=True)
    for process in processes.values():
        process.close()
    return "\n".join(lines)


def shown(seconds):
    if isinstance(seconds, str):
        return "failed"
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def table(results):
    lines = ["| | " + " | ".join(PEERS) + " |", "|---" * (len(PEERS) + 1) + "|"]
    for name, cells in results:
        lines.append(f"| {name} | " + " | ".join(shown(cells[peer]) for peer in PEERS) + " |")
    return "\n".join(lines)


def svg(results):
    """Bars, by row, of how long each peer takes; on a logarithmic scale, since they differ by hundreds."""
    left, width, bar, gap, top = 290, 420, 11, 14, 34
    height = top + len(results) * (len(PEERS) * bar + gap)
    fastest = min(t for _, cells in results for t in cells.values() if not isinstance(t, str))
    slowest = max(t for _, cells in results for t in cells.values() if not isinstance(t, str))
    span = np.log10(slowest / fastest * 3)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 80}" height="{height}" '
           f'font-family="sans-serif" font-size="11">']
    for i, peer in enumerate(PEERS):
        x = 10 + i * 150
        out.append(f'<rect x="{x}" y="8" width="11" height="11" fill="{COLOURS[peer]}"/>'
                   f'<text x="{x + 16}" y="18" fill="#555">{peer}</text>')
    y = top
    for name, cells in results:
        out.append(f'<text x="{left - 8}" y="{y + len(PEERS) * bar / 2 + 4}" text-anchor="end" fill="#333">{name}</text>')
        for peer in PEERS:
            if not isinstance(cells[peer], str):
                length = width * np.log10(cells[peer] / fastest * 3) / span
                out.append(f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{bar - 1}" fill="{COLOURS[peer]}"/>'
                           f'<text x="{left + length + 5:.1f}" y="{y + 9}" font-size="9" fill="#777">{shown(cells[peer])}</text>')
            y += bar
        y += gap
    return "\n".join(out + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=lambda text: [int(n) - 1 for n in text.split(",")], help="by number, from 1 on")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", help="where the stores go (default: a temporary folder)")
    parser.add_argument("--svg", help="where to draw the table")
    parser.add_argument("--view", action="store_true", help="the plugin with HDF5_PLUGIN_PATH alone, beside the connector")
    parser.add_argument("--worker", choices=WORKERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return work(arguments.worker)
    if arguments.view:
        rows = [row for row in ROWS if row[1] != "write"] + WHOLE
        chosen = [rows[i] for i in arguments.rows] if arguments.rows is not None else rows
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            print(compare_view(chosen, arguments.repeats, folder))
        return None
    processes = {name: Process(name) for name in PEERS}
    results = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for row in (ROWS if arguments.rows is None else [ROWS[i] for i in arguments.rows]):
            results.append((row[0], medians(measure(row, processes, folder, arguments.repeats))))
            for name, cell in results[-1][1].items():
                note = cell if isinstance(cell, str) else shown(cell)
                print(f"{row[0]}: {name} {note}", file=sys.stderr, flush=True)
    for process in processes.values():
        process.close()
    print(table(results))
    if arguments.svg:
        Path(arguments.svg).write_text(svg(results), encoding="utf-8")


if __name__ == "__main__":
    main()
