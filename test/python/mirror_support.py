"""Files of versioned-hdf5 and their mirrors: made, told of, compared."""
import json
import shutil
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr

from command_support import COMMAND
from support import environment, run_python

WRITE = """
import sys, h5py, numpy as np
from versioned_hdf5 import VersionedHDF5File
path, versions = sys.argv[1], sys.argv[2:]
rng = np.random.default_rng(3)

def first(new):
    new.create_dataset("g/a", data=rng.integers(0, 99, (64, 90)).astype("f8"), chunks=(8, 20),
                       compression="gzip", compression_opts=1, shuffle=True)
    new.create_dataset("raw", data=np.arange(95), chunks=(10,), fillvalue=5)
    new.create_dataset("text", data=np.array(["a", "zwölf", "", "😀"] * 6, dtype=object),
                       dtype=h5py.string_dtype(), chunks=(5,))
    new.create_dataset("lzf", data=np.arange(50, dtype="i2"), chunks=(8,), compression="lzf")
    new.create_dataset("bool", data=np.arange(30) % 3 == 0, chunks=(7,))
    new.create_dataset("fixed", data=np.array([b"x", b"yy", b"zzz"] * 4), chunks=(5,))
    new.create_dataset("complex", data=np.arange(12) * (1 + 2j), chunks=(5,))
    new.create_dataset("big", data=np.arange(40, dtype=">i4"), chunks=(16,))
    new.create_dataset("point", data=np.array([(i, i / 3) for i in range(20)], dtype=[("n", "i4"), ("x", "f8")]),
                       chunks=(6,), compression="gzip")
    new.create_dataset("sum", data=np.arange(60, dtype="u4"), chunks=(16,), fletcher32=True)
    new["raw"].attrs["units"] = "m"
    new["g"].attrs["level"] = 3

def second(new):
    new["g/a"][0:3, 0] = -1
    new["raw"].resize((101,))
    new["raw"][99] = 7
    new["text"][3] = "neu"

def third(new):
    new["g/a"].resize((70, 85))
    del new["lzf"]
    new["g/a"][69] = 4

def fourth(new):
    new["g/a"].resize((30, 85))
    new["raw"].resize((12,))
    new.create_dataset("lzf", data=np.arange(9, dtype="i2"), chunks=(8,), compression="lzf")
    new.create_dataset("deep/er/zero", data=np.zeros((20, 20)), chunks=(6, 6))
    new["bool"][:] = True

changes = {"v1": first, "v2": second, "v3": third, "v4": fourth}
for version in versions:
    with h5py.File(path, "a") as f:
        with VersionedHDF5File(f).stage_version(version.partition("<")[0],
                                                prev_version=version.partition("<")[2] or None) as new:
            changes.get(version, lambda new: new["raw"].__setitem__(0, hash(version) % 1000))(new)
"""


def write(path, *versions):
    run_python(WRITE, path, *versions, plugin=False, connector=None)
    return str(path)


def mirror(*words, expected=0):
    done = subprocess.run([str(COMMAND), "mirror", *map(str, words)], capture_output=True, text=True, timeout=120,
                          env=environment())
    assert done.returncode == expected, done.stdout + done.stderr
    return done


def report(*words, expected=0):
    return json.loads(mirror(*words, "--json", expected=expected).stdout)


def run_traced(*words, **env):
    """A run of the command under strace, whose own words come first."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    done = subprocess.run([strace, "-f", "-qq", *map(str, words)], capture_output=True, text=True,
                          env=environment() | env)
    if "ptrace" in done.stderr.lower() and "not permitted" in done.stderr.lower():
        pytest.skip("strace may not trace here")
    return done


def objects(folder):
    """Every object by its key, but for what killed runs leave behind."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*")
            if path.is_file() and not path.name.startswith(".h5zarr-")}


def has_versions(folder):
    return any(Path(folder).glob("refs/tag.*/ref.json"))


def open_repository(folder):
    """A mirror as icechunk sees it."""
    import icechunk

    return icechunk.Repository.open(icechunk.local_filesystem_storage(str(folder)))


def group_at(folder, **version):
    """What zarr-python sees of a version, or of branch "main"."""
    return zarr.open_group(open_repository(folder).readonly_session(**(version or {"branch": "main"})).store, mode="r")


def plain(data):
    """Values that can be compared, whatever type texts have."""
    data = np.asarray(data)
    if data.dtype.kind in "OT":
        flat = [text.decode() if isinstance(text, bytes) else str(text) for text in data.flat]
        return np.array(flat, dtype=object).reshape(data.shape)
    return data


def assert_version_equals(source, folder, version, skip=()):
    tag = version.replace("/", "%2F")
    theirs = group_at(folder, tag=tag)
    with h5py.File(source, "r") as f, h5py.File(f"{folder}@{tag}", "r") as ours:
        group = f["_version_data/versions"][version]
        names, found = [], []
        group.visit(names.append)
        ours.visit(found.append)
        assert sorted(names) == sorted(found) == sorted(name for name, _ in theirs.members(max_depth=None))
        for name in names:
            attributes = {key: value for key, value in group[name].attrs.items() if key not in ("raw_data", "chunks")}
            assert dict(ours[name].attrs) == attributes, name
            if isinstance(group[name], h5py.Group) or name in skip:
                continue
            expected = plain(group[name][()])
            assert ours[name].shape == theirs[name].shape == expected.shape, name
            assert ours[name].dtype == group[name].dtype, name
            assert ours[name].chunks == tuple(group[name].attrs["chunks"]), name
            np.testing.assert_array_equal(plain(ours[name][()]), expected, err_msg=name)
            read = plain(theirs[name][...])
            np.testing.assert_array_equal(read.astype(expected.dtype), expected, err_msg=name)
