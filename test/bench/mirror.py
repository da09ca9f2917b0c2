"""What a mirror costs beside the commit it follows: one version more of a file of versioned-hdf5, in which a share of the
chunks changed. As JSON, to be compared with another build's.

    python test/bench/mirror.py > before.json
    python test/bench/mirror.py --chunks 1000 --changed 10
    python test/bench/mirror.py --compare before.json after.json

In every round the same commit is made to copies of one file: by HDF5 alone, under the connector, and under the connector
with `mirror=`; then `h5zarr mirror` brings the first one up to date. Rows are medians, wall and CPU (user + system, all
threads) milliseconds: of a commit from opening the file until it is closed, of the command as a whole. `of_the_commit`
has the medians of the rounds' ratios: what mirroring takes, of what the commit takes by HDF5 alone. HDF5_PLUGIN_PATH names
the plugin, as for any HDF5 program, and the command lies beside it, or H5ZARR_COMMAND says where; `./run bench` sets
that and runs this.
"""
import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import compare

COMMIT = """
import json, sys, time
import h5py, numpy as np
from versioned_hdf5 import VersionedHDF5File
path, version, columns, chunks, changed = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
rng = np.random.default_rng(7)
new_data = rng.random((chunks // columns * 10, columns * 100)) if version == "r0" else None
places = [(k // columns * 10, k % columns * 100) for k in rng.choice(chunks, changed, replace=False)]
wall, cpu = time.perf_counter(), time.process_time()
with h5py.File(path, "a") as f:
    with VersionedHDF5File(f).stage_version(version) as new:
        if new_data is not None:
            new.create_dataset("a", data=new_data, chunks=(10, 100))
        else:
            for row, column in places:
                new["a"][row, column] = -1
print(json.dumps([(time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3]))
"""


def command():
    beside = Path(os.environ.get("HDF5_PLUGIN_PATH", "")).parent / "h5zarr"
    return os.environ.get("H5ZARR_COMMAND", str(beside))


class Rounds:
    def __init__(self, folder, arguments):
        self.folder, self.a = folder, arguments
        self.columns = min(arguments.chunks, 100)
        self.base, self.base_mirror = folder / "base.h5", folder / "base.icechunk"
        self.commit(self.base, "r0")
        self.mirror(self.base, self.base_mirror)

    def commit(self, path, version, connector=None):
        """Wall and CPU milliseconds of one commit, in a process of its own."""
        env = {key: value for key, value in os.environ.items() if key != "HDF5_VOL_CONNECTOR"}
        if connector is not None:
            env["HDF5_VOL_CONNECTOR"] = connector
        words = [path, version, self.columns, self.a.chunks, self.a.changed]
        done = subprocess.run([sys.executable, "-c", COMMIT, *map(str, words)], env=env, stdout=subprocess.PIPE,
                              check=True)
        return json.loads(done.stdout)

    def mirror(self, source, target):
        """The same of one run of the command."""
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([command(), "mirror", str(source), str(target), "--quiet"], check=True)
        wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return [wall * 1e3, cpu * 1e3]

    def copies(self, name):
        source, target = self.folder / f"{name}.h5", self.folder / f"{name}.icechunk"
        shutil.copyfile(self.base, source)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(self.base_mirror, target)
        return source, target

    def one(self):
        alone, target = self.copies("alone")
        under, _ = self.copies("under")
        beside, by_key = self.copies("beside")
        os.sync()  # what is written back later would slow whoever comes next
        times = {"commit": self.commit(alone, "r1"),
                 "h5zarr mirror": self.mirror(alone, target),
                 "commit under the connector": self.commit(under, "r1", "zarr"),
                 "commit with mirror=": self.commit(beside, "r1", f"zarr mirror={by_key}")}
        for folder in (target, by_key):
            assert (folder / "refs/tag.r1/ref.json").exists(), f"{folder}: not mirrored"
        return times


def shares(times):
    """What mirroring takes of the commit's wall time, by command and by key."""
    commit = times["commit"][0]
    return {"h5zarr mirror": times["h5zarr mirror"][0] / commit,
            "mirror=": (times["commit with mirror="][0] - times["commit under the connector"][0]) / commit}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--changed", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", help="where the files go (default: a temporary folder)")
    parser.add_argument("--compare", nargs=2, metavar=("BEFORE", "AFTER"))
    arguments = parser.parse_args()
    if arguments.compare:
        return compare(*arguments.compare)
    if arguments.chunks % min(arguments.chunks, 100) != 0:
        parser.error("--chunks is up to 100, or a multiple of that")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        rounds = Rounds(Path(folder), arguments)
        times = [rounds.one() for _ in range(arguments.repeats + 1)][1:]
    what = dict(chunks=arguments.chunks, changed=arguments.changed)
    median = lambda values: round(statistics.median(values), 4)
    rows = [{"name": name, **what, "wall_ms": median(t[name][0] for t in times), "cpu_ms": median(t[name][1] for t in times)}
            for name in times[0]]
    ratios = [shares(t) for t in times]
    of_the_commit = {name: median(r[name] for r in ratios) for name in ratios[0]}
    print(json.dumps({"cpus": os.cpu_count(), "of_the_commit": of_the_commit, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
