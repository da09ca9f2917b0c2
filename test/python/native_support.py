"""Reads of native HDF5 files with and without the connector, compared."""
import json
import sys

import numpy as np
import pytest

from support import run, run_python

SHAPE = (60, 50, 40)

# Reads what it is told to of a file, and prints for each selection the result's digest or the error.
READ = """
import json, sys, zlib
import h5py, numpy as np
try:
    import hdf5plugin
except ImportError:
    pass
def digest(value):
    value = np.ascontiguousarray(value)
    return [str(value.dtype), list(value.shape), zlib.crc32(value.view("u1").reshape(-1))]
jobs = json.load(open(sys.argv[2]))
with h5py.File(sys.argv[1], "r") as f:
    opened = {}
    for name, selection, dtype in jobs:
        dataset = opened.setdefault(name, f[name])
        key = tuple(slice(*s) if isinstance(s, list) else
                    np.array(s["list"]) if isinstance(s, dict) else s for s in selection)
        try:
            print(json.dumps(digest((dataset.astype(dtype) if dtype else dataset)[key])))
        except OSError as error:
            print(json.dumps(["OSError", str(error)]))
"""


def read(path, jobs, connector="zarr", **env):
    list_path = str(path) + ".jobs"
    with open(list_path, "w") as file:
        json.dump(jobs, file)
    plugin = env.pop("plugin", True)
    out = run_python(READ, str(path), list_path, connector=connector, plugin=plugin, **env)
    return [json.loads(line) for line in out.splitlines()]


def same_as_hdf5(path, jobs, **env):
    """The answers, which are those of an h5py without the connector (it may have filter 480)."""
    expected = read(path, jobs, connector=None)
    found = read(path, jobs, **env)
    assert len(expected) == len(jobs)
    for job, want, got in zip(jobs, expected, found):
        assert got == want, job
    return expected


def random_selections(rng, shape, count):
    """Slices, steps, single indices and lists, most of them large."""
    for _ in range(count):
        selection, listed = [], False
        for extent in shape:
            kind = rng.integers(0, 10)
            if kind == 0:
                selection.append(int(rng.integers(0, extent)))
            elif kind == 1 and not listed:
                size = int(rng.integers(1, extent))
                chosen = np.sort(rng.choice(extent, size, replace=False))
                selection.append({"list": [int(i) for i in chosen]})
                listed = True
            else:
                start = int(rng.integers(0, max(extent // 4, 1)))
                stop = int(rng.integers(start + extent // 2, extent + 1))
                selection.append([start, stop, int(rng.integers(1, 4)) if kind < 4 else 1])
        yield selection


def values(dtype, shape=SHAPE):
    rng = np.random.default_rng(5)
    return (rng.integers(0, 50, shape) + np.arange(shape[-1])).astype(dtype)


def calls(path, connector, code):
    """The calls of fcntl that duplicate a descriptor: the engine's, in a program that reads."""
    log = str(path) + ".strace"
    done = run(["strace", "-f", "-e", "trace=fcntl", "-o", log, sys.executable, "-c", code, str(path)],
               connector=connector)
    if done.returncode != 0 and "ptrace" in done.stderr:
        pytest.skip("strace is not allowed here")
    assert done.returncode == 0, done.stderr
    with open(log) as file:
        return sum("F_DUPFD" in line for line in file)
