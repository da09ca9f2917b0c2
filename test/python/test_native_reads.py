"""Datasets of native HDF5 files that are open for reading: what the engine reads is what HDF5 reads."""
import os
import shutil
import sys
import zlib

import h5py
import numpy as np
import pytest

from native_support import SHAPE, calls, random_selections, read, same_as_hdf5, values
from support import run, run_python

CHUNK = (13, 11, 9)

PIPELINES = {
    "none": {}, "deflate": dict(compression="gzip"), "shuffled": dict(compression="gzip", shuffle=True),
    "checksum": dict(fletcher32=True), "all": dict(compression="gzip", shuffle=True, fletcher32=True),
    "lzf": dict(compression="lzf"), "lzf_all": dict(compression="lzf", shuffle=True, fletcher32=True),
    "scaleoffset": dict(scaleoffset=0), "shuffle_alone": dict(shuffle=True),
    "shard": dict(compression=480, compression_opts=(1, 3, 13, 11, 3, 3 | 3 << 8)),
}


def plugin_pipelines():
    hdf5plugin = pytest.importorskip("hdf5plugin")
    found = {"zstd": dict(hdf5plugin.Zstd(clevel=3)), "lz4": dict(hdf5plugin.LZ4()),
             "lz4_blocks": dict(hdf5plugin.LZ4(nbytes=1000)),
             "bitshuffle": dict(hdf5plugin.Bitshuffle())}
    for name in ("blosclz", "lz4", "zlib", "zstd"):
        found["blosc_" + name] = dict(hdf5plugin.Blosc(cname=name))
    found["blosc2"] = dict(hdf5plugin.Blosc2())
    return found | {"zstd_shuffled": dict(hdf5plugin.Zstd(), shuffle=True)}


@pytest.fixture(scope="module")
def pipelines(tmp_path_factory):
    path = tmp_path_factory.mktemp("native") / "pipelines.h5"
    with h5py.File(path, "w") as f:
        for name, options in (PIPELINES | plugin_pipelines()).items():
            for dtype in ("<i2", ">f4", "<f8"):
                if name == "scaleoffset" and dtype != "<i2":
                    continue
                f.create_dataset(f"{name}/{dtype}", data=values(dtype), chunks=CHUNK, **options)
    return path


def names_in(path):
    names = []
    with h5py.File(path) as f:
        f.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    return names


@pytest.mark.parametrize("threads", ["1", "3"])
def test_random_selections_of_every_pipeline_are_what_hdf5_reads(pipelines, threads):
    rng = np.random.default_rng(int(threads))
    jobs = [[name, selection, None] for name in names_in(pipelines)
            for selection in [[[None]], *random_selections(rng, SHAPE, 8)]]
    same_as_hdf5(pipelines, jobs, connector=f"zarr threads={threads}")


def test_reads_that_convert_are_what_hdf5_reads(pipelines):
    rng = np.random.default_rng(7)
    jobs = [[name, selection, dtype] for name in names_in(pipelines) if "all" in name
            for selection in [[[None]], *random_selections(rng, SHAPE, 3)]
            for dtype in ("<f4", ">i8", "<f8", "u1")]
    same_as_hdf5(pipelines, jobs)


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "plain.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=values("<f4"), chunks=CHUNK, compression="gzip")
    return path


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("connector, mode, engine", [
    ("zarr", "r", True), ("zarr accelerate=off", "r", False), ("zarr", "r+", False)])
def test_the_engine_reads_files_that_are_open_for_reading_unless_it_is_off(
        plain, connector, mode, engine):
    code = f"import h5py, sys; h5py.File(sys.argv[1], {mode!r})['x'][:]"
    assert (calls(plain, connector, code) > 0) == engine


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_an_element_and_a_row_are_read_by_hdf5(plain):
    code = "import h5py, sys; d = h5py.File(sys.argv[1])['x']; d[1, 2, 3]; d[4, 5]; d[9]"
    assert calls(plain, "zarr", code) == 0


def test_fill_values_and_types_of_all_kinds_are_what_hdf5_reads(tmp_path):
    path = tmp_path / "kinds.h5"
    record = np.dtype([("a", "<i4"), ("b", "<f8", (3,)), ("c", "S5")])
    padded = np.dtype([("a", "u1"), ("b", "<f8")], align=True)
    big = np.zeros(20000, record)
    big["a"], big["c"] = np.arange(20000), b"abc"
    low = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    low.set_chunk((1000,))
    low.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    with h5py.File(path, "w") as f:
        for name, fill in (("default", None), ("seven", 7.5), ("nan", np.nan)):
            d = f.create_dataset("fill_" + name, (400, 300), "<f8", chunks=(50, 40), fillvalue=fill,
                                 compression="gzip")
            d[60:70, 100:120] = 1
        f.create_dataset("record", data=big, chunks=(1000,), compression="gzip")
        f.create_dataset("padded", data=np.ones(20000, padded), chunks=(1000,), compression="gzip")
        f.create_dataset("bool", data=np.arange(200000) % 3 == 0, chunks=(1000,), compression="lzf")
        f.create_dataset("complex", data=np.arange(20000) * 1j, chunks=(999,), compression="gzip")
        f.create_dataset("text", data=np.array([b"%d" % i for i in range(20000)]), chunks=(777,))
        f.create_dataset("half", data=np.arange(50000).astype("f2"), chunks=(777,), shuffle=True)
        f.create_dataset("opaque", data=np.arange(30000).astype("M8[s]").astype(
            h5py.opaque_dtype("M8[s]")), chunks=(1000,), compression="gzip")
        f.create_dataset("array", data=np.arange(90000).reshape(-1, 3), chunks=(999, 2))
        subarray = f.create_dataset("subarray", (9000,), np.dtype(("<i4", (3,))), chunks=(100,),
                                    compression="gzip")
        subarray[:] = np.arange(27000).reshape(-1, 3)
        never = h5py.h5d.create(f.id, b"never", h5py.h5t.NATIVE_INT32,
                                h5py.h5s.create_simple((20000,)), low)
        never.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(20000, dtype="i4"))
        f.create_dataset("vlen", data=["x" * (i % 7) for i in range(9000)], chunks=(500,))
        refs = f.create_dataset("refs", (9000,), h5py.ref_dtype, chunks=(500,))
        refs[:] = f.ref
    names = [n for n in names_in(path) if n not in ("vlen", "refs")]
    jobs = [[name, [s], None] for name in names for s in ([None], [100, None], [7, 19000, 2])]
    same_as_hdf5(path, jobs)
    code = "import h5py, sys; f = h5py.File(sys.argv[1]); print(f['vlen'][:][-1], f[f['refs'][:][8]])"
    assert run_python(code, str(path)) == run_python(code, str(path), connector=None, plugin=False)


RECORDS = {
    "padded": np.dtype([("a", "u1"), ("b", "<f8"), ("c", "<i2")], align=True),
    "big": np.dtype([("a", ">i4"), ("b", ">f8")]),
    "mixed": np.dtype({"names": ["a", "b", "c"], "formats": [">u2", "<f4", "S3"], "offsets": [1, 8, 20],
                       "itemsize": 32}),
    "nested": np.dtype([("a", np.dtype([("x", ">i2"), ("y", "u1")], align=True)), ("b", "<i8", (2,))]),
}


def records(tmp_path):
    path = tmp_path / "records.h5"
    rng = np.random.default_rng(3)
    with h5py.File(path, "w") as f:
        for name, dtype in RECORDS.items():
            raw = rng.integers(0, 60, 30000 * dtype.itemsize, dtype="u1").view(dtype)
            fill = np.zeros((), dtype) if name == "nested" else raw[7]
            d = f.create_dataset(name, (40000,), dtype, chunks=(1000,), compression="gzip", shuffle=True,
                                 fillvalue=fill)
            d[:30000] = raw
    return path


def test_compounds_with_padding_and_of_other_byte_orders_are_what_hdf5_reads(tmp_path):
    path = records(tmp_path)
    jobs = [[name, [field] * bool(field) + [s], None] for name in RECORDS for field in ("", "a", "b")
            for s in ([None], [100, 35000, 3], [29000, 31000])]
    found = same_as_hdf5(path, jobs)
    assert all(answer[0] != "OSError" for answer in found)


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("name", RECORDS)
def test_compounds_with_padding_and_of_other_byte_orders_are_read_by_the_engine(tmp_path, name):
    code = f"import h5py, sys; h5py.File(sys.argv[1])[{name!r}][:]"
    assert calls(records(tmp_path), "zarr", code) > 0


def test_chunks_that_lack_filters_are_read_as_hdf5_reads_them(tmp_path):
    path = tmp_path / "masks.h5"
    data = np.arange(64000, dtype="<i4").reshape(320, 200)
    with h5py.File(path, "w") as f:
        d = f.create_dataset("x", data=data, chunks=(40, 50), compression="gzip", shuffle=True)
        d.id.write_direct_chunk((80, 100), np.ascontiguousarray(data[80:120, 100:150]).tobytes(), 3)
        rng = np.random.default_rng(1)
        f.create_dataset("noise", data=rng.integers(0, 2**31, (320, 200), dtype="i4"),
                         chunks=(40, 50), compression="lzf")
        partial = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        partial.set_chunk((33, 57))
        partial.set_deflate(4)
        if hasattr(partial, "set_chunk_opts"):
            partial.set_chunk_opts(h5py.h5d.CHUNK_DONT_FILTER_PARTIAL_CHUNKS)
        space = h5py.h5s.create_simple(data.shape)
        made = h5py.h5d.create(f.id, b"partial", h5py.h5t.STD_I32LE, space, partial)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, data)
    same_as_hdf5(path, [[n, [s], None] for n in ("x", "noise", "partial")
                        for s in ([None], [3, 300], [None, None, 3])])


@pytest.mark.parametrize("damage", ["stream", "short", "long", "truncated file"])
def test_a_damaged_chunk_is_the_same_error_as_in_hdf5(tmp_path, damage):
    path = tmp_path / "damaged.h5"
    data = np.arange(64000, dtype="<i4").reshape(320, 200)
    with h5py.File(path, "w") as f:
        for name, options in (("gz", dict(compression="gzip")),
                              ("sum", dict(compression="gzip", fletcher32=True)),
                              ("lzf", dict(compression="lzf"))):
            d = f.create_dataset(name, data=data, chunks=(40, 50), **options)
            mask, stored = d.id.read_direct_chunk((80, 100))
            if damage == "stream":
                changed = bytearray(stored)
                changed[len(changed) // 2] ^= 0x5A
                stored = bytes(changed)
            elif damage == "short" and name == "gz":
                stored = zlib.compress(bytes(100))
            elif damage == "long" and name == "gz":
                stored = zlib.compress(bytes(1 << 16))
            d.id.write_direct_chunk((80, 100), stored, mask)
    if damage == "truncated file":
        os.truncate(path, os.path.getsize(path) - 3000)
        code = "import h5py, sys\ntry: print(h5py.File(sys.argv[1])['lzf'][:].sum())\nexcept OSError as e: print(type(e))"
        assert run_python(code, str(path)) == run_python(code, str(path), connector=None, plugin=False)
        return
    jobs = [[name, [s], None] for name in ("gz", "sum", "lzf") for s in ([None], [0, 80], [120, 320])]
    found = read(path, jobs)
    for job, want, got in zip(jobs, read(path, jobs, connector=None, plugin=False), found):
        assert got[0] == want[0], job
        # (Of a chunk that is too short HDF5 reads the rest from memory nobody wrote to.)
        if job[1][0] != [None] or damage == "stream":
            assert got == want, job


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("userblock", [0, 4096])
def test_every_chunk_index_and_a_user_block_are_read_as_by_hdf5(tmp_path, libver, userblock):
    path = tmp_path / "indexes.h5"
    data = np.arange(64000, dtype="<i4").reshape(320, 200)
    with h5py.File(path, "w", libver=libver, userblock_size=userblock) as f:
        for name, maxshape in (("fixed", None), ("one", (None, 200)), ("both", (None, None))):
            for compression in (None, "gzip"):
                f.create_dataset(f"{name}_{compression}", data=data, chunks=(40, 50),
                                 maxshape=maxshape, compression=compression)
        f.create_dataset("single", data=data, chunks=data.shape, compression="gzip")
        early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        early.set_chunk((40, 50))
        early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        made = h5py.h5d.create(f.id, b"early", h5py.h5t.STD_I32LE,
                               h5py.h5s.create_simple(data.shape), early)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, data)
        shrunk = f.create_dataset("shrunk", data=data, chunks=(40, 50), maxshape=(None, None))
        shrunk.resize((300, 130))
        shrunk.resize((320, 200))
    same_as_hdf5(path, [[name, [s], None] for name in names_in(path)
                        for s in ([None], [3, 311], [None, None, 2])])


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_datasets_that_grow_in_any_one_dimension_are_read_as_by_hdf5(tmp_path, compression):
    path = tmp_path / "growing.h5"
    shape, parts = (6, 60, 400), (slice(0, 2), slice(0, 10), slice(0, 100))
    with h5py.File(path, "w", libver="latest") as f:
        for grows in range(3):
            for most in (1, 2):  # the others may grow up to a limit
                maxshape = tuple(None if d == grows else extent * most for d, extent in enumerate(shape))
                for written in ([], [grows], [0, 1, 2]):
                    dataset = f.create_dataset(f"{grows}_{most}_{len(written)}", shape, "<i4", chunks=(1, 10, 50),
                                               maxshape=maxshape, compression=compression, fillvalue=-1)
                    part = tuple(parts[d] if d in written else slice(None) for d in range(3))
                    dataset[part] = np.arange(np.prod(shape)).reshape(shape)[part]
    same_as_hdf5(path, [[name, [s], None] for name in names_in(path) for s in ([None], [0, 5])])


def test_a_file_that_changes_between_opens_is_read_as_it_is(tmp_path):
    path = str(tmp_path / "changing.h5")
    code = """
import h5py, numpy as np, sys
for turn in range(6):
    with h5py.File(sys.argv[1], "w" if turn % 3 == 0 else "r+") as f:
        if turn % 3 == 0:
            f.create_dataset("x", (400, 300), "<i4", chunks=(40, 50), compression="gzip", maxshape=(None, 300))
        f["x"].resize((400 + 50 * turn, 300))
        f["x"][:] = np.arange(f["x"].size).reshape(f["x"].shape) + turn
    for _ in range(2):
        with h5py.File(sys.argv[1]) as f:
            assert (f["x"][:] == np.arange(f["x"].size).reshape(f["x"].shape) + turn).all()
            assert (f["x"][:] == np.arange(f["x"].size).reshape(f["x"].shape) + turn).all()
"""
    run_python(code, path)


def test_a_file_that_another_process_rewrites_under_a_reader_is_left_to_hdf5(tmp_path):
    path = str(tmp_path / "rewritten.h5")
    data = np.arange(64000, dtype="<i4").reshape(320, 200)
    with h5py.File(path, "w") as f:
        f.create_dataset("x", data=data, chunks=(40, 50))
    code = """
import h5py, subprocess, sys, os
f = h5py.File(sys.argv[1], locking=False)
before = int(f["x"][:].sum())
change = "import h5py, sys; h5py.File(sys.argv[1], 'r+', locking=False)['x'][...] += 1"
env = {k: v for k, v in os.environ.items() if k not in ("HDF5_VOL_CONNECTOR", "HDF5_PLUGIN_PATH")}
subprocess.run([sys.executable, "-c", change, sys.argv[1]], check=True, env=env)
d = h5py.File(sys.argv[1], locking=False)["x"]
print(before, int(d[:].sum()) - before)
"""
    total = int(data.sum())
    # (HDF5 keeps no chunk of this size and shape that was read as a whole but once: it sees the change.)
    assert run_python(code, path).split()[0] == str(total)


def test_threads_and_forked_children_read_the_same(plain):
    code = """
import h5py, os, sys, threading, zlib
f = h5py.File(sys.argv[1])
want = zlib.crc32(f["x"][:])
found = []
def read():
    for _ in range(5):
        found.append(zlib.crc32(f["x"][:]))
threads = [threading.Thread(target=read) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
assert found == [want] * 20
for _ in range(3):
    child = os.fork()
    if child == 0:
        os._exit(0 if zlib.crc32(f["x"][:]) == want else 1)
    assert os.waitpid(child, 0)[1] == 0
"""
    run_python(code, str(plain))


def test_datasets_outlive_their_file_and_open_files_are_counted(plain):
    code = """
import h5py, sys, zlib
f = h5py.File(sys.argv[1]); g = h5py.File(sys.argv[1])
d = f["x"]; want = zlib.crc32(d[:])
f.close()
assert zlib.crc32(g["x"][:]) == want
e = g["x"]
del d
h = h5py.h5f.open(sys.argv[1].encode(), h5py.h5f.ACC_RDONLY)
k = h5py.h5d.open(h, b"x")
h.close()
import numpy as np
a = np.empty(k.shape, "<f4"); k.read(h5py.h5s.ALL, h5py.h5s.ALL, a)
assert zlib.crc32(a) == want
g.close()
del e, k
with h5py.File(sys.argv[1], "r") as f:
    assert zlib.crc32(f["x"][:]) == want
print(h5py.h5f.get_obj_count(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_ALL))
"""
    assert run_python(code, str(plain)) == run_python(code, str(plain), connector=None)


def test_external_links_and_several_datasets_of_one_call(tmp_path, plain):
    path = str(tmp_path / "outer.h5")
    with h5py.File(path, "w") as f:
        f["link"] = h5py.ExternalLink("plain.h5", "/x")
    with h5py.File(path) as f:
        assert (f["link"][:] == values("<f4")).all()
        assert (f["link"][3:50:2, ::3] == values("<f4")[3:50:2, ::3]).all()


def test_a_core_file_and_a_driver_of_the_environment_are_hdf5s(plain):
    code = "import h5py, sys, zlib; print(zlib.crc32(h5py.File(sys.argv[1], 'r', **eval(sys.argv[2]))['x'][:]))"
    want = str(zlib.crc32(values("<f4")))
    assert run_python(code, str(plain), "dict(driver='core')").strip() == want
    assert run_python(code, str(plain), "dict(driver='stdio')").strip() == want
    assert run_python(code, str(plain), "{}", HDF5_DRIVER="core").strip() == want


def test_a_wrong_value_of_accelerate_is_reported(plain):
    done = run([sys.executable, "-c", "import h5py, sys; h5py.File(sys.argv[1])", str(plain)],
               connector="zarr accelerate=yes")
    assert done.returncode == 1 and "accelerate" in done.stderr and "auto, off" in done.stderr


UNWRITTEN = """
import sys
import h5py, numpy as np
with h5py.File(sys.argv[1]) as f:
    for name, dtype in (("enum", h5py.enum_dtype({"A": 7, "B": 9}, "<i4")), ("record", [("a", "<i4"), ("more", "<i4")])):
        found = np.full(60000 * np.dtype(dtype).itemsize, 5, "u1").view(dtype)
        f[name].id.read(h5py.h5s.ALL, h5py.h5s.ALL, found)
        print(name, found[[0, 17, -1]])
"""


@pytest.mark.parametrize("connector", ["zarr", "zarr accelerate=always"])
def test_a_dataset_that_was_never_written_is_filled_by_hdf5(tmp_path, connector):
    path = tmp_path / "unwritten.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("enum", (60000,), h5py.enum_dtype({"A": 7, "B": 9}, ">i4"), chunks=(1000,), compression="gzip")
        f.create_dataset("record", (60000,), [("a", ">i4"), ("b", "<f8")], chunks=(1000,), compression="gzip")
    expected = run_python(UNWRITTEN, str(path), connector=None)
    assert run_python(UNWRITTEN, str(path), connector=connector) == expected and "enum [0 0 0]" in expected


# What a program set for its own read, which questions before it must not make HDF5 forget.
CALLBACK = """
import ctypes, sys
import h5py, numpy as np
sys.path.insert(0, sys.argv[2])
from libhdf5 import HID, LIB
stop = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, *[HID] * 2, *[ctypes.c_void_p] * 3)(lambda *_: -1)
with h5py.File(sys.argv[1]) as f:
    for name in f:
        dataset, plist = f[name].id, h5py.h5p.create(h5py.h5p.DATASET_XFER)
        LIB.H5Pset_type_conv_cb(HID(plist.id), stop, None)
        for _ in range(2):
            try:
                found = np.zeros(dataset.shape, "i2")
                dataset.read(h5py.h5s.ALL, h5py.h5s.ALL, found, dxpl=plist)
                print(name, found.sum())
            except OSError:
                print(name, "refused")
"""


@pytest.mark.parametrize("connector", ["zarr", "zarr accelerate=always", "zarr accelerate=off"])
def test_values_that_do_not_fit_are_the_programs_to_refuse_in_its_first_read_too(tmp_path, connector):
    path = tmp_path / "wide.h5"
    data = np.full((300, 400), np.inf, "f4")
    with h5py.File(path, "w") as f:
        f.create_dataset("contiguous", data=data, fillvalue=1.5)
        f.create_dataset("chunked", data=data, chunks=(30, 40), fillvalue=1.5)
        f.create_dataset("bits", data=data, chunks=(30, 40), fillvalue=1.5, scaleoffset=2)
        f.create_dataset("fits", data=np.ones((300, 400), "f4"), chunks=(30, 40), fillvalue=np.inf)
    found = run_python(CALLBACK, str(path), os.path.dirname(__file__), connector=connector)
    assert found == run_python(CALLBACK, str(path), os.path.dirname(__file__), connector=None)
    assert found.count("refused") >= 4 and "fits 120000" in found


# What HDF5 reports in a program's list of how it read.
REPORTED = """
import ctypes, sys
import h5py, numpy as np
sys.path.insert(0, sys.argv[2])
from libhdf5 import HID, LIB
with h5py.File(sys.argv[1]) as f:
    for name in f:
        dataset, plist, cause = f[name].id, h5py.h5p.create(h5py.h5p.DATASET_XFER), ctypes.c_uint32(77)
        dataset.read(h5py.h5s.ALL, h5py.h5s.ALL, np.empty(dataset.shape, "f4"), dxpl=plist)
        assert LIB.H5Pget_no_selection_io_cause(HID(plist.id), ctypes.byref(cause)) >= 0
        print(name, hex(cause.value))
"""


def test_what_hdf5_reports_of_a_read_is_in_the_programs_list(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver="latest") as f:
        f.create_dataset("chunked", data=np.arange(1000.), chunks=(100,), fillvalue=1.5)
        f.create_dataset("contiguous", data=np.arange(1000.), fillvalue=1.5)
    found = [run_python(REPORTED, str(path), os.path.dirname(__file__), connector=c) for c in ("zarr", None)]
    assert found[0] == found[1] and "0x0" not in found[1]


def test_copies_from_a_file_into_a_store_are_the_same(plain, tmp_path):
    store = tmp_path / "copy.zarr"
    with h5py.File(plain) as source, h5py.File(store, "w") as target:
        source.copy("x", target)
    with h5py.File(store) as target:
        assert (target["x"][:] == values("<f4")).all()
