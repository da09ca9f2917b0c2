"""How much memory a transfer takes beside the program's own buffer, whatever the array's size."""
import h5py
import numpy as np
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


COPY = """
import sys, h5py, numpy as np
with h5py.File(sys.argv[1]) as f, h5py.File(sys.argv[2], "w") as g:
    f.copy("small", g)
    before = peak()
    f.copy(sys.argv[3], g, name="copy")
    print(peak() - before)
    f.copy("small", g, name="again")
    assert g["again"].attrs["text"] == "zw\u00f6lf" and list(g["again"].attrs["texts"]) == ["a", ""]
with h5py.File(sys.argv[2]) as g:
    copy = g["copy/d" if sys.argv[3] == "g" else "copy"]
    for first in range(0, copy.size, 1 << 22):
        assert (copy[first : first + (1 << 22)] == np.arange(first, first + (1 << 22))).all()
"""


@pytest.mark.parametrize("layout", [{}, {"chunks": (1 << 16,)}, {"chunks": (1 << 16,), "fletcher32": True}],
                         ids=["contiguous", "chunks", "filtered chunks"])
@pytest.mark.parametrize("what", ["g", "g/d"])
def test_copying_from_an_hdf5_file_stays_within_the_budget(tmp_path, layout, what):
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["small"] = np.arange(9)
        f["small"].attrs.update(text="zwölf", texts=["a", ""])
        d = f.create_dataset("g/d", (SIDE_MIB << 17,), "i8", **layout)
        for first in range(0, d.size, 1 << 22):
            d[first : first + (1 << 22)] = np.arange(first, first + (1 << 22))
    words = tmp_path / "x.h5", tmp_path / "x.zarr", what
    assert int(run_python(PEAK + COPY, *words, connector="zarr memory=32MiB;cache_bytes=1MiB")) <= 48


def test_copying_a_large_chunk_between_stores_takes_a_piece_of_it(tmp_path):
    values = np.random.default_rng(0).integers(0, 256, 96 << 20, "u1")
    with h5py.File(tmp_path / "a.zarr", "w") as f:
        f.create_dataset("d", data=values, chunks=values.shape)
        f["small"] = 1
    copy = """
import sys, h5py
with h5py.File(sys.argv[1]) as f, h5py.File(sys.argv[2], "w") as g:
    f.copy("small", g)
    before = peak()
    f.copy("d", g)
    print(peak() - before)
"""
    assert int(run_python(PEAK + copy, tmp_path / "a.zarr", tmp_path / "b.zarr", connector="zarr")) <= 40
    chunk = "d/c/0"
    assert (tmp_path / "b.zarr" / chunk).read_bytes() == (tmp_path / "a.zarr" / chunk).read_bytes()
