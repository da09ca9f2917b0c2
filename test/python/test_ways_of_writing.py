"""The settings `write`, `io` and `memory`: what is stored is the same, only when and how differs."""
import hashlib
from pathlib import Path

import pytest

from support import read_zarr_python, run_python

FRAMES = """
import sys, h5py, numpy as np
shape = (6, 1024, 2048)
shard = (2, 1024, 2048)
words = dict(compression=480, compression_opts=(1, 3, 1, 512, 512, int(sys.argv[2])))
with h5py.File(sys.argv[1], "w") as f:
    whole = f.create_dataset("whole", shape, "u2", chunks=(1, 1024, 2048))
    shards = f.create_dataset("shards", shape, "u2", chunks=shard, **words)
    for i in range(shape[0]):
        frame = np.arange(1024 * 2048, dtype="u2").reshape(1024, 2048) + np.uint16(i)
        whole[i] = frame
        shards[i] = frame
        frame[...] = 0          # the program's memory is its own again
    f["converted"] = np.arange(1000.)
    f["converted"][...] = np.arange(1000, dtype="i2")
    assert whole[5, 1023, 2047] == (1024 * 2048 - 1 + 5) % 65536
"""


def digest(store):
    files = sorted(p for p in Path(store).rglob("*") if p.is_file())
    return {str(p.relative_to(store)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    stores = {}
    for codec in (0, 3 | 1 << 8):
        stores[codec] = tmp_path_factory.mktemp("plain") / "x.zarr"
        run_python(FRAMES, stores[codec], codec)
    return {codec: digest(store) for codec, store in stores.items()}


@pytest.mark.parametrize("codec", [0, 3 | 1 << 8], ids=["plain", "zstd"])
@pytest.mark.parametrize("settings", ["write=behind", "io=direct", "io=uring", "write=behind;io=direct;durable=1",
                                      "write=behind;memory=1MiB", "io=direct;threads=1", "memory=1MiB"])
def test_every_way_of_writing_stores_the_same_bytes(plain, store, settings, codec):
    run_python(FRAMES, store, codec, connector=f"zarr {settings}")
    assert digest(store) == plain[codec]
    frames = read_zarr_python(store, "shards")
    assert frames[4, 0, 10] == 14


# A folder where a chunk belongs makes every write of it fail.
FAILING = """
import os, sys, h5py, numpy as np
f = h5py.File(sys.argv[1], "w")
d = f.create_dataset("d", (8, 100), "i4", chunks=(1, 100))
f.flush()
os.makedirs(sys.argv[1] + "/d/c/3/0/in_the_way")
d[3] = 1
said = []
for call in (lambda: d[3], f.flush, f.close):
    try:
        call()
        said.append("ok")
    except Exception as error:
        said.append(type(error).__name__ + ("*" if "c/3/0" in str(error) else ""))
print(said)
"""


def test_a_write_that_fails_behind_is_told_by_the_next_call(store):
    said = run_python(FAILING, store, connector="zarr write=behind").strip()
    assert said == "['IsADirectoryError*', 'ok', 'ok']"


def test_a_write_that_fails_behind_is_told_by_the_close(store):
    code = FAILING.replace("(lambda: d[3], f.flush, f.close)", "(f.close,)")
    assert "*" in run_python(code, store, connector="zarr write=behind")


PEAK = """
import resource, sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as f:
    d = f.create_dataset("d", (40, 1024, 1024), "f4", chunks=(1, 1024, 1024))
    d[0] = np.ones((1024, 1024), "f4")
    frame = np.ones((1024, 1024), "f4")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for i in range(40):
        frame[0, 0] = i
        d[i] = frame
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_what_waits_to_be_written_stays_within_the_budget(store):
    grown_kib = int(run_python(PEAK, store, connector="zarr write=behind;memory=16MiB"))
    assert grown_kib < (16 + 24) << 10


def test_a_wrong_way_of_writing_is_refused(store):
    code = "import sys, h5py\ntry: h5py.File(sys.argv[1], 'w')\nexcept Exception as e: print(e)"
    assert "through, behind" in run_python(code, store, connector="zarr write=sometimes")
    assert "direct" in run_python(code, store, connector="zarr io=fast")
