#!/usr/bin/env python3
"""random_opens.py [OPENS] [SEED]: opens stores, damaged stores, HDF5 files, folders, texts and URLs at random with
HDF5_PLUGIN_PATH alone, several at a time, reads at random from what opens, and closes in any order. Whatever is
undamaged must read as it was written; all else may fail, with one of h5py's errors. Nothing may crash.

URLs are those of two servers of this machine, as http:// and as s3://: one that is as it should be, and one that drops,
cuts and refuses a tenth of what it is asked for.

Runs in processes of their own, of 200 opens each: one that dies is named by its seed. Needs H5ZARR_PLUGIN_DIR."""
import collections
import faulthandler
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from http_support import fault_server

PER_PROCESS = 200
FAULTS = 0.1  # of the requests to the second server
MUST_OPEN = ("whole", "damaged", "served", "damaged, served")  # some of each, at the least
MUST_COME = ("badly served", "served HDF5 file", "neither")
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
    for name, settings in (("three.zarr", {"chunks": (13, 19)}), ("two.zarr", {"chunks": (60, 9), "zarr_format": 2}),
                           ("shards.zarr", {"chunks": (5, 10), "shards": (20, 50)})):
        group = zarr.create_group(f"{folder}/{name}", zarr_format=settings.pop("zarr_format", 3))
        group.create_array("a/b", shape=values.shape, dtype=values.dtype, **settings)[...] = values
        zarr.consolidate_metadata(group.store)
    array = zarr.create_array(f"{folder}/array.zarr", shape=values.shape, dtype="i4", chunks=(60, 100))
    array[...] = values
    shutil.make_archive(f"{folder}/three.zarr", "zip", f"{folder}/three.zarr")
    make_references(Path(folder), "two.zarr")
    os.makedirs(f"{folder}/folder/within")
    with open(f"{folder}/text", "w") as text:
        text.write("neither")


def make_references(folder, name):
    """A reference file beside a store of version 2, whose chunks it refers to."""
    refs = {}
    for path in (folder / name).rglob("*"):
        if path.is_file() and path.name != ".zmetadata":
            key = str(path.relative_to(folder / name))
            refs[key] = path.read_text() if path.name.startswith(".z") else [f"{name}/{key}"]
    (folder / "references.json").write_text(json.dumps({"version": 1, "refs": refs}))


def damage(rnd, path):
    """Changes, cuts or removes one file of a store, all of whose files may be links to those of another."""
    files = [os.path.join(at, name) for at, _, names in os.walk(path) for name in names] if os.path.isdir(path) else [path]
    victim = rnd.choice(files)
    how = rnd.randrange(4)
    with open(victim, "rb") as file:
        data = bytearray(file.read())
    os.remove(victim)
    if how == 0:
        return
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


class Drawn:
    """What is to be opened, drawn at random: its name, and whether it must read as it was written."""

    def __init__(self, rnd, root, good, bad):
        self.rnd, self.root, self.good, self.bad = rnd, root, good, bad
        self.names = sorted(name for name in os.listdir(f"{root}/made") if name.endswith((".zarr", ".h5", ".zip", ".json")))
        self.copies = tempfile.mkdtemp(dir=root)
        self.count = 0

    def url(self, server, name):
        """Of what the server has, as one of either kind: only that of S3 lists what nobody consolidated."""
        if name == "made/written.zarr" or (server == self.good and self.rnd.random() < 0.4):
            return f"s3://{name}"
        return f"{server}/{name}"

    def damaged_copy(self, name):
        self.count += 1
        copy = f"{self.copies}/{self.count}{name}"
        made = f"{self.root}/made/{name}"
        if os.path.isdir(made):
            shutil.copytree(made, copy, copy_function=os.link)
        else:
            os.link(made, copy)
        damage(self.rnd, copy)
        return copy

    def draw(self):
        """The name to open, the kind, the name of the undamaged or None."""
        rnd, name = self.rnd, self.rnd.choice(self.names)
        kind = rnd.randrange(12)
        if kind < 4 or (kind < 8 and name.endswith(".h5")):  # (damaged HDF5 files are HDF5's business)
            return f"{self.root}/made/{name}", "whole", name
        if kind < 7:
            return self.damaged_copy(name), "damaged", None
        if kind == 7:
            return self.url(self.good, os.path.relpath(self.damaged_copy(name), self.root)), "damaged, served", None
        if kind < 10 and name.endswith(".h5"):
            return self.url(self.good, f"made/{name}"), "served HDF5 file", None  # gets the advice
        if kind < 10:
            return self.url(self.good, f"made/{name}"), "served", name
        if kind == 10:
            return self.url(self.bad, f"made/{name}"), "badly served", None
        made = f"{self.root}/made"
        return rnd.choice([f"{made}/folder", f"{made}/text", f"{made}/missing", f"{made}/missing.zarr", "",
                           f"{made}/three.zarr/a/b/c", f"{self.good}/made/missing.zarr", f"{self.good}/made/text",
                           f"{self.good}/made/folder", "s3://made/missing.zarr", "s3://nowhere/x.zarr",
                           "http://127.0.0.1:9/x.zarr", "gs://made/x.zarr"]), "neither", None


def work(seed, opens, root, good, bad):
    """One process: so many opens. Prints how many of each kind there were, and how many of them succeeded."""
    import h5py

    rnd = random.Random(seed)
    drawn = Drawn(rnd, root, good, bad)
    sums, open_files, opened = {}, [], collections.Counter()
    try:
        for _ in range(opens):
            path, kind, whole = drawn.draw()
            opened[kind, "drawn"] += 1
            mode = rnd.choice(("r", "r", "r", "r", "r+" if whole != "native.h5" else "r"))
            try:
                f = h5py.File(path, mode)
                open_files.append(f)
                opened[kind, "opened"] += 1
                if whole:
                    # A reference file has the arrays of the store that it refers to.
                    found = checksum(f)
                    assert sums.setdefault(whole, found) == found, f"{path} reads otherwise"
                read_something(rnd, f)
            except EXPECTED:
                if whole and mode == "r":
                    raise
            while len(open_files) > rnd.randrange(1, 6):
                open_files.pop(rnd.randrange(len(open_files))).close()
    finally:
        shutil.rmtree(drawn.copies)
    if rnd.random() < 0.5:  # else they are left to HDF5
        for f in open_files:
            f.close()
    print(json.dumps([[*key, count] for key, count in opened.items()]))


def environment(server):
    """Of the processes: the plugin's path alone, and nothing of the user's own."""
    ours = ("HDF5_PLUGIN_PATH", "HDF5_VOL_CONNECTOR")
    env = {k: v for k, v in os.environ.items() if k not in ours and not k.startswith("AWS_")}
    return env | {"HDF5_PLUGIN_PATH": os.environ["H5ZARR_PLUGIN_DIR"], "H5ZARR_RETRIES": "0", "H5ZARR_TIMEOUT_S": "1",
                  "AWS_ENDPOINT_URL": server, "AWS_NO_SIGN_REQUEST": "true", "AWS_CONFIG_FILE": "/nowhere",
                  "AWS_SHARED_CREDENTIALS_FILE": "/nowhere"}


def run_all(opens, seed, root, good, bad):
    """The seeds of the processes that failed, and the sum of what the others counted."""
    env, failed, opened = environment(good), [], collections.Counter()
    subprocess.run([sys.executable, __file__, "--make", f"{root}/made"], check=True, env=env | {"HDF5_VOL_CONNECTOR": "zarr"})
    for first in range(0, opens, PER_PROCESS):
        command = [sys.executable, __file__, "--work", str(seed + first), str(min(PER_PROCESS, opens - first)), root, good, bad]
        done = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace", timeout=1200)
        if done.returncode != 0:
            failed.append(seed + first)
            print(f"seed {seed + first}: ended with {done.returncode}\n{done.stdout}{done.stderr}"[-4000:], flush=True)
        else:
            opened.update({(kind, what): count for kind, what, count in json.loads(done.stdout)})
    return failed, opened


def main(opens, seed):
    started = time.time()
    root = tempfile.mkdtemp()
    try:
        os.mkdir(f"{root}/made")
        with fault_server(root, s3=True) as good, fault_server(root, s3=True, odds=FAULTS, seed=seed) as bad:
            failed, opened = run_all(opens, seed, root, good.url, bad.url)
    finally:
        shutil.rmtree(root)
    for kind in sorted({kind for kind, _ in opened}):
        print(f"{kind}: {opened[kind, 'opened']} of {opened[kind, 'drawn']} opened")
    print(f"{opens} opens in {time.time() - started:.0f} s, {len(failed)} processes failed")
    # None of the kinds may all have gone away, and what is neither a store nor a file must not be taken for one.
    missing = [kind for kind in MUST_OPEN if not opened[kind, "opened"]]
    missing += [kind for kind in MUST_COME if not opened[kind, "drawn"]]
    wrong = opened["neither", "opened"]
    if missing:
        print(f"of these kinds there was none: {', '.join(missing)}")
    if wrong:
        print(f"{wrong} were opened that are neither a store nor a file")
    return 1 if failed or missing or wrong else 0


if __name__ == "__main__":
    faulthandler.enable()
    if sys.argv[1:2] == ["--make"]:
        make(sys.argv[2])
    elif sys.argv[1:2] == ["--work"]:
        work(int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
    else:
        words = [int(word) for word in sys.argv[1:]] + [10_000, 1][len(sys.argv) - 1:]
        sys.exit(main(*words[:2]))
