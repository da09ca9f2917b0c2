"""How much memory a transfer takes beside the program's own buffer, whatever the array's size."""
import pytest

from support import run_python

SIDE_MIB = 192

WRITE = """
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as f:
    d = f.create_dataset("d", ({mib}, 256, 1024), "f4", chunks=(64, 256, 1024), compression=480,
                         compression_opts=(1, 3, 1, 256, 256, 3 | 1 << 8))
    whole = np.ones(d.shape, "f4")
    whole[:, 0, 0] = np.arange({mib})
    before = peak()
    d[...] = whole
    f.flush()
    print(peak() - before)
"""

READ = """
import sys, h5py, numpy as np
with h5py.File(sys.argv[1]) as f:
    d = f["d"]
    d[0, 0, 0]
    whole = np.ones(d.shape, sys.argv[2])
    before = peak()
    d.read_direct(whole)
    print(peak() - before)
    assert whole[-1, 0, 0] == {mib} - 1 and whole[-1, 255, 1023] == 1
"""

PEAK = """
import resource
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
"""


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """MiB that writing the store took, and where it is."""
    store = tmp_path_factory.mktemp("memory") / "x.zarr"
    settings = "zarr memory=32MiB;cache_bytes=1MiB"
    return int(run_python(PEAK + WRITE.format(mib=SIDE_MIB), store, connector=settings)), store


def test_writing_whole_shards_stays_within_the_budget(grown):
    assert grown[0] <= 32


@pytest.mark.parametrize("memory_type", ["f4", "f8"])
def test_reading_a_whole_array_stays_within_the_budget(grown, memory_type):
    code = PEAK + READ.format(mib=SIDE_MIB)
    assert int(run_python(code, grown[1], memory_type, connector="zarr memory=32MiB;cache_bytes=1MiB")) <= 40
