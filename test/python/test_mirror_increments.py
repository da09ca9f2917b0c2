"""What `h5zarr mirror` does for one version more of a large file: reads, writes, objects, by their number."""
import json

import pytest

from command_support import COMMAND, needs_command
from mirror_support import report, run_traced
from support import run_python

pytest.importorskip("versioned_hdf5", reason="no versioned-hdf5 in this environment")

pytestmark = needs_command

COMMIT_OF_MANY_CHUNKS = """
import sys, h5py, numpy as np
from versioned_hdf5 import VersionedHDF5File
path, version, changed = sys.argv[1], sys.argv[2], int(sys.argv[3])
with h5py.File(path, "a") as f:
    with VersionedHDF5File(f).stage_version(version) as new:
        if not changed:
            new.create_dataset("a", data=np.random.default_rng(1).random((1000, 10000)), chunks=(10, 100))
        for k in np.random.default_rng(changed).choice(10_000, changed, replace=False):
            new["a"][k // 100 * 10, k % 100 * 100] = -changed
"""


def bytes_read(log, path):
    """What system calls in the logs `log`.<thread> of strace -ff -y read of a file, whatever thread did."""
    read = 0
    for name in log.parent.glob(f"{log.name}.*"):
        for line in name.read_text().splitlines():
            call, _, result = line.rpartition(" = ")
            if f"<{path}>" in call and result.split()[0].isdigit():
                read += int(result.split()[0])
    return read


def test_a_version_costs_what_changed_in_it_and_not_what_is_there(tmp_path):
    source, folder, chunk_bytes = tmp_path / "s.h5", tmp_path / "m", 10 * 100 * 8
    run_python(COMMIT_OF_MANY_CHUNKS, source, "v0", 0, plugin=False, connector=None)
    assert report(source, folder)["chunks_added"] == 10_000
    for changed in (20, 500):
        run_python(COMMIT_OF_MANY_CHUNKS, source, f"v{changed}", changed, plugin=False, connector=None)
        log = tmp_path / f"log{changed}"
        done = run_traced("-ff", "-y", "-o", log, "-e", "trace=read,readv,pread64,preadv,preadv2",
                          COMMAND, "mirror", source, folder, "--json")
        told = json.loads(done.stdout)
        assert told["chunks_added"] == changed
        assert told["chunk_bytes_added"] == changed * chunk_bytes
        # Pack, manifest, snapshot, transaction log, tag, branch.
        assert told["objects_written"] == 6
        # Beside what changed only lists: what chunk is where, of which each takes some bytes of the 8,000 that it has.
        assert told["bytes_written"] < changed * chunk_bytes + 10_000 * 40
        assert changed * chunk_bytes < bytes_read(log, source) < changed * chunk_bytes * 1.1 + 10_000 * 400
