#!/usr/bin/env python3
"""random_opens.py [OPENS] [SEED]: opens stores, damaged stores, HDF5 files, folders, texts and URLs at random with
HDF5_PLUGIN_PATH alone, several at a time, reads at random from what opens, and closes in any order. Whatever is
undamaged must read as it was written; all else may fail, with one of h5py's errors. Nothing may crash.

Runs in processes of their own, of 200 opens each: one that dies is named by its seed. Needs H5ZARR_PLUGIN_DIR."""
import faulthandler
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

PER_PROCESS = 200
EXPECTED = (OSError, KeyError, RuntimeError, ValueError, TypeError)


def make(folder):
    """One of each kind, by h5py under the connector and zarr-python; returns nothing."""
    import h5py
    import numpy as np
    import zarr

    values = np.arange(6000).reshape(60, 100)

    def fill(f):
        f.create_dataset("g/gzip", data=values, chunks=(16, 32), compression="gzip")
        f.create_dataset("big_endian", data=values.astype(">f8"), chunks=(60, 10))
        f["contiguous"], f["scalar"] = values.astype("u2"), 3.5
        f["text"] = ["a", "bcd", ""]
        f["reference"] = np.array([f["g"].ref], dtype=h5py.ref_dtype)
        f["soft"], f["circle"] = h5py.SoftLink("/g"), h5py.SoftLink("/circle")
        f["g"].attrs["units"] = "m"
        f["axis"] = np.arange(60)
        f["axis"].make_scale("axis")
        f["contiguous"].dims[0].attach_scale(f["axis"])

    for name in ("written.zarr", "native.h5"):
        with h5py.File(f"{folder}/{name}", "w") as f:
            fill(f)
    for name, settings in (("three.zarr", {"chunks": (7, 9)}), ("two.zarr", {"chunks": (60, 9), "zarr_format": 2}),
                           ("shards.zarr", {"chunks": (5, 10), "shards": (20, 50)})):
        group = zarr.create_group(f"{folder}/{name}", zarr_format=settings.pop("zarr_format", 3))
        group.create_array("a/b", shape=values.shape, dtype=values.dtype, **settings)[...] = values
        zarr.consolidate_metadata(group.store)
    array = zarr.create_array(f"{folder}/array.zarr", shape=values.shape, dtype="i4", chunks=(60, 100))
    array[...] = values
    shutil.make_archive(f"{folder}/three.zarr", "zip", f"{folder}/three.zarr")
    os.makedirs(f"{folder}/folder/within")
    with open(f"{folder}/text", "w") as text:
        text.write("neither")


def damage(rnd, path):
    """Changes, cuts or removes one file of a store."""
    files = [os.path.join(at, name) for at, _, names in os.walk(path) for name in names] if os.path.isdir(path) else [path]
    victim = rnd.choice(files)
    how = rnd.randrange(4)
    if how == 0:
        os.remove(victim)
        return
    data = bytearray(open(victim, "rb").read())
    if how == 1:
        del data[rnd.randrange(len(data) + 1):]
    for _ in range(rnd.choice((1, 1, 20)) if how > 1 and data else 0):
        data[rnd.randrange(len(data))] = rnd.randrange(256)
    with open(victim, "wb") as out:
        out.write(data)


def checksum(f):
    """Of every element and attribute that f has."""
    import h5py
    import numpy as np

    sums = []

    def look(name, obj):
        sums.append(zlib.crc32(repr((name, sorted(map(str, obj.attrs.items())))).encode()))
        if isinstance(obj, h5py.Dataset) and obj.dtype.kind in "iuf":
            sums.append(zlib.crc32(np.ascontiguousarray(obj[...])))
    f.visititems(look)
    return sums


def read_something(rnd, f):
    import h5py

    names = []
    f.visit(names.append)
    for _ in range(4):
        obj = f[rnd.choice(names)] if names else f
        list(obj.attrs.items())
        if not isinstance(obj, h5py.Dataset):
            continue
        ends = [sorted(rnd.choices(range(n + 1), k=2)) for n in obj.shape]
        index = tuple(slice(a, b, rnd.choice((1, 1, 3))) for a, b in ends)
        if rnd.random() < 0.2 and obj.dtype.kind in "iuf":
            obj.astype("f4")[index]
        else:
            obj[index]


def work(seed, opens, made):
    """One process: so many opens."""
    import h5py

    rnd = random.Random(seed)
    folder = tempfile.mkdtemp()
    whole = [f"{made}/{name}" for name in sorted(os.listdir(made)) if name.endswith((".zarr", ".h5", ".zip"))]
    sums, open_files = {}, []
    try:
        for count in range(opens):
            kind, damaged = rnd.randrange(10), False
            name = rnd.choice(whole)
            if kind < 5:
                damaged = not name.endswith(".h5")
                if damaged:  # (damaged HDF5 files are HDF5's business)
                    copy = f"{folder}/{count}{os.path.basename(name)}"
                    (shutil.copytree if os.path.isdir(name) else shutil.copy)(name, copy)
                    damage(rnd, copy)
                    name = copy
            elif kind == 9:
                name = rnd.choice([f"{made}/folder", f"{made}/text", f"{made}/missing", f"{made}/missing.zarr", "",
                                   f"{made}/three.zarr/a/b/c", "http://127.0.0.1:9/x.zarr", "s3://bucket/x.zarr"])
                damaged = True
            try:
                mode = rnd.choice(("r", "r", "r", "r", "r+" if damaged or not name.endswith(".h5") else "r"))
                f = h5py.File(name, mode)
                open_files.append(f)
                if not damaged:
                    found = checksum(f)
                    assert sums.setdefault(name, found) == found, f"{name} reads otherwise"
                read_something(rnd, f)
            except EXPECTED:
                if not damaged and mode == "r":
                    raise
            while len(open_files) > rnd.randrange(1, 6):
                open_files.pop(rnd.randrange(len(open_files))).close()
    finally:
        shutil.rmtree(folder)
    if rnd.random() < 0.5:  # else they are left to HDF5
        for f in open_files:
            f.close()


def main(opens, seed):
    plugin = os.environ["H5ZARR_PLUGIN_DIR"]
    env = {k: v for k, v in os.environ.items() if k not in ("HDF5_PLUGIN_PATH", "HDF5_VOL_CONNECTOR")}
    env |= {"HDF5_PLUGIN_PATH": plugin, "H5ZARR_RETRIES": "0", "H5ZARR_TIMEOUT_S": "1"}
    made = tempfile.mkdtemp()
    failed = []
    try:
        started = time.time()
        subprocess.run([sys.executable, __file__, "--make", made], check=True, env=env | {"HDF5_VOL_CONNECTOR": "zarr"})
        for first in range(0, opens, PER_PROCESS):
            command = [sys.executable, __file__, "--work", str(seed + first), str(min(PER_PROCESS, opens - first)), made]
            done = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace", timeout=1200)
            if done.returncode != 0:
                failed.append(seed + first)
                print(f"seed {seed + first}: ended with {done.returncode}\n{done.stdout}{done.stderr}"[-4000:])
        print(f"{opens} opens in {time.time() - started:.0f} s, {len(failed)} processes failed")
    finally:
        shutil.rmtree(made)
    return 1 if failed else 0


if __name__ == "__main__":
    faulthandler.enable()
    if sys.argv[1:2] == ["--make"]:
        make(sys.argv[2])
    elif sys.argv[1:2] == ["--work"]:
        work(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    else:
        words = [int(word) for word in sys.argv[1:]] + [10_000, 1][len(sys.argv) - 1:]
        sys.exit(main(*words[:2]))
