"""trace=: what is done, on stderr, for those who ask."""
import shutil
import subprocess
import sys

import pytest

from support import environment

WRITE = """
import h5py, numpy, sys
with h5py.File(sys.argv[1], "w") as f:
    f.create_dataset("a", data=numpy.ones(6 << 20, "u1"), chunks=(6 << 20,))
"""
READ = """
import h5py, numpy, sys
with h5py.File(sys.argv[1]) as f:
    print(sum(f["a"][:10]))
"""


def stderr_of(code, store, settings, prefix=()):
    done = subprocess.run([*prefix, sys.executable, "-c", code, store], env=environment("zarr " + settings),
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_nothing_is_said_unasked(store):
    assert stderr_of(WRITE, store, "trace=0") == stderr_of(READ, store, "") == ""


def test_requests_are_named_with_their_bytes(store):
    written = stderr_of(WRITE, store, "trace=2")
    assert f"h5zarr: file://{store} write 'a/c/0': {6 << 20} bytes, " in written
    read = stderr_of(READ, store, "trace=2")
    assert "read a batch of 1 ranges: 10 bytes, 0 absent, " in read
    assert "bytes 0 to 10" not in read
    assert f"h5zarr:   file://{store} 'a/c/0' bytes 0 to 10\n" in stderr_of(READ, store, "trace=3")


@pytest.mark.skipif(shutil.which("strace") is None, reason="faults are injected by strace")
def test_a_fallback_is_named(store):
    no_ring = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=io_uring_setup:error=ENOSYS"]
    assert stderr_of(WRITE, store, "io=direct", no_ring) == ""
    said = stderr_of(WRITE, store, "io=direct;trace=1", no_ring)
    assert "there is no io_uring, written block by block" in said and "write 'a/c/0'" not in said


def test_reads_of_hdf5_files_that_the_engine_takes_over_are_named(tmp_path):
    path = str(tmp_path / "x.h5")
    write = WRITE.replace("6 << 20", "3000").replace("(3000,)", "(1000,)")
    assert stderr_of(write, path, "trace=2") == ""
    assert stderr_of(READ, path, "trace=2") == ""  # small reads are HDF5's
    read = stderr_of(READ, path, "trace=2;accelerate=always")
    assert f"h5zarr: {path} read a batch of 1 ranges: 1000 bytes, 0 absent, " in read
