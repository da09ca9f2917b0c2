"""Datasets of native HDF5 files that are open for reading: what the engine reads is what HDF5 reads."""
import json
import os
import shutil
import sys
import zlib

import h5py
import numpy as np
import pytest

from support import environment, run, run_python

SHAPE, CHUNK = (60, 50, 40), (13, 11, 9)

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


VERSIONED = """
import sys, warnings
import h5py, numpy as np
warnings.simplefilter("ignore")
from versioned_hdf5 import VersionedHDF5File
rng = np.random.default_rng(3)
with h5py.File(sys.argv[1], "w") as f:
    history = VersionedHDF5File(f)
    with history.stage_version("r0") as v:
        v.create_dataset("n/cube", data=rng.integers(0, 9, (61, 70, 33)).astype("<i4"), chunks=(20, 11, 9),
                         compression="gzip", fillvalue=3)
        v.create_dataset("raw", data=rng.random((300, 400)), chunks=(37, 41), maxshape=(None, None))
        v.create_dataset("words", data=np.array(["w%d" % i for i in range(9000)], object),
                         dtype=h5py.string_dtype(), chunks=(500,))
        v.create_dataset("sparse", shape=(300, 400), dtype="<f8", chunks=(50, 50), data=None, fillvalue=7.0)
    with history.stage_version("r1") as v:
        v["n/cube"].resize((75, 66, 40))
        v["n/cube"][30:50, ::3] = 5
        v["raw"].resize((500, 380))
        v["raw"][480:] = 1
        v["sparse"][70:90, 10:333] = 2
    with history.stage_version("r2") as v:
        v["raw"].resize((120, 380))
        v["raw"][7] = -1
        v["n/cube"][...] = 3
"""


@pytest.fixture(scope="module")
def versioned(tmp_path_factory):
    pytest.importorskip("versioned_hdf5")
    path = tmp_path_factory.mktemp("native") / "versioned.h5"
    run_python(VERSIONED, str(path), connector=None)
    return path


VERSIONED_NAMES = [f"_version_data/versions/{version}/{name}" for version in ("r0", "r1", "r2")
                   for name in ("n/cube", "raw", "sparse")]


def test_every_version_is_what_hdf5_reads(versioned):
    rng = np.random.default_rng(11)
    jobs = []
    with h5py.File(versioned) as f:
        for name in VERSIONED_NAMES:
            for selection in ([[None]], *random_selections(rng, f[name].shape, 8)):
                jobs += [[name, selection, None], [name, [1, 2], None], [name, [-1], "<f4"]]
    same_as_hdf5(versioned, jobs)


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_a_version_is_read_by_the_engine(versioned):
    code = "import h5py, sys; h5py.File(sys.argv[1])['_version_data/versions/r1/raw'][:]"
    assert calls(versioned, "zarr", code) > 0
    assert calls(versioned, "zarr accelerate=off", code) == 0


def test_strings_of_a_version_are_what_hdf5_reads(versioned):
    code = "import h5py, sys; print(h5py.File(sys.argv[1])['_version_data/versions/r2/words'][::100])"
    assert run_python(code, str(versioned)) == run_python(code, str(versioned), connector=None)


def test_datasets_that_only_look_versioned_are_read_as_hdf5_reads_them(tmp_path):
    path = tmp_path / "alike.h5"
    raw = np.arange(20 * 30 * 50, dtype="<i4").reshape(600, 50)
    with h5py.File(path, "w") as f:
        f.create_dataset("_version_data/x/raw_data", data=raw, chunks=(30, 50), fillvalue=5)
        for version, shift, size, fill in (("shifted", 7, 30, 5), ("halves", 0, 15, 5),
                                           ("overlapping", 0, 30, 5), ("filled", 0, 30, 6)):
            layout = h5py.VirtualLayout((200, 100), "<i4")
            source = h5py.VirtualSource(".", "/_version_data/x/raw_data", raw.shape)
            step = 20 if version == "overlapping" else size
            for i in range(5):
                row = i * step
                layout[row:row + size, 50:] = source[shift + 30 * i:shift + 30 * i + size]
            made = f.create_virtual_dataset(f"_version_data/versions/{version}/x", layout, fillvalue=fill)
            made.attrs["raw_data"] = "/_version_data/x/raw_data"
            made.attrs["chunks"] = np.array([30, 50])
    jobs = [[f"_version_data/versions/{v}/x", [s], None]
            for v in ("shifted", "halves", "overlapping", "filled") for s in ([None], [1, 199, 2], 35)]
    same_as_hdf5(path, jobs * 2)


def test_committing_leaves_the_same_file_and_versions_read_at_once(tmp_path):
    pytest.importorskip("versioned_hdf5")
    ours, theirs = tmp_path / "ours.h5", tmp_path / "theirs.h5"
    more = """
with h5py.File(sys.argv[1], "r+") as f:
    with VersionedHDF5File(f).stage_version("r3") as v:
        v["raw"][5, 5] = 77
    print(f["_version_data/versions/r3/raw"][:].sum(), f["_version_data/versions/r3/raw"][5, 5])
with h5py.File(sys.argv[1]) as f:
    print(f["_version_data/versions/r3/raw"][:].sum(), VersionedHDF5File(f)["r3"]["raw"][5, 5])
"""
    assert run_python(VERSIONED + more, str(ours)) == run_python(VERSIONED + more, str(theirs), connector=None)
    jobs = [[name, [[None]], None] for name in VERSIONED_NAMES]
    assert read(ours, jobs, connector=None) == read(theirs, jobs, connector=None)
    # (Time stamps differ.)
    assert ours.stat().st_size == theirs.stat().st_size


def test_the_extent_of_a_versioned_dataset_is_hdf5s_however_often_it_is_opened(versioned, tmp_path):
    code = """
import h5py, sys
with h5py.File(sys.argv[1]) as f:
    for _ in range(3):
        for name in sys.argv[2:]:
            d = f[name]
            print(d.shape, d.maxshape, d[-1, -1], d.shape, d.id.get_space().get_select_npoints())
"""
    assert run_python(code, str(versioned), *VERSIONED_NAMES) == \
        run_python(code, str(versioned), *VERSIONED_NAMES, connector=None)
    # One that grows with its source, at a place where only versioned-hdf5 has some.
    growing = tmp_path / "growing.h5"
    with h5py.File(growing, "w") as f:
        f.create_dataset("source", data=np.arange(40), maxshape=(None,), chunks=(10,))
        layout = h5py.VirtualLayout((40,), "i8", maxshape=(None,))
        source = h5py.VirtualSource(f["source"])
        layout[0:h5py.h5s.UNLIMITED] = source[0:h5py.h5s.UNLIMITED]
        made = f.create_virtual_dataset("_version_data/versions/r0/x", layout)
        made.attrs["raw_data"], made.attrs["chunks"] = "/_version_data/x/raw_data", np.array([10])
        f["source"].resize((55,))
    code = code.replace("d[-1, -1]", "d[-1]")
    name = "_version_data/versions/r0/x"
    assert run_python(code, str(growing), name) == run_python(code, str(growing), name, connector=None)


def test_a_versioned_dataset_is_not_kept_open_behind_the_program(versioned):
    code = """
import h5py, os, sys
f = h5py.File(sys.argv[1])
d = f["_version_data/versions/r1/raw"]
d[0, 0], d[:]
print(h5py.h5f.get_obj_count(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_ALL))
f.close()
with h5py.File(sys.argv[1], "r+") as g:
    print(g["_version_data/versions/r1/raw"][0, 0])
f = h5py.File(sys.argv[1])
d = f["_version_data/versions/r1/raw"]
f.close(); print(bool(d)); del d
h5py.File(sys.argv[1], "r+").close()
"""
    assert run_python(code, str(versioned)) == run_python(code, str(versioned), connector=None)


WHOLE = """
import sys, time, h5py
f = h5py.File(sys.argv[1])
f["other"][:]  # what every process has to load
d = f[sys.argv[2]]
begin = time.process_time()
values = d[:]
print(time.process_time() - begin, values.sum())
"""


def many_mappings(path, chunk=16, chunks=8000):
    """A version of a dataset of many chunks; its name."""
    name = "_version_data/versions/r0/x"
    with h5py.File(path, "w") as f:
        f["other"] = np.arange(50000)
        f.create_dataset("_version_data/x/raw_data", data=np.arange(chunk * chunks), chunks=(chunk,), maxshape=(None,))
        layout = h5py.VirtualLayout((chunk * chunks,), "i8")
        source = h5py.VirtualSource(".", "/_version_data/x/raw_data", (chunk * chunks,))
        for i in range(0, chunk * chunks, chunk):
            layout[i : i + chunk] = source[i : i + chunk]
        made = f.create_virtual_dataset(name, layout)
        made.attrs["raw_data"], made.attrs["chunks"] = "/_version_data/x/raw_data", np.array([chunk])
    return name


def test_the_first_whole_read_of_a_version_asks_hdf5_for_no_mapping(tmp_path):
    """Which takes it longer than all else."""
    path = tmp_path / "many.h5"
    name = many_mappings(path)

    def seconds(**env):
        took, total = run_python(WHOLE, str(path), name, **env).split()
        assert int(total) == 128000 * 127999 // 2
        return float(took)

    assert min(seconds() for _ in range(3)) < min(seconds(connector=None) for _ in range(3)) / 2


def test_a_damaged_list_of_mappings_is_the_error_it_is_to_hdf5(tmp_path):
    path = tmp_path / "damaged.h5"
    name = many_mappings(path, chunks=4)
    content = bytearray(path.read_bytes())
    at = content.index(b"/_version_data/x/raw_data\0")
    content[at + 40] ^= 1
    path.write_bytes(content)
    code = """
import h5py, sys
try:
    print(h5py.File(sys.argv[1])[sys.argv[2]][...])
except Exception as error:
    print(type(error).__name__)
"""
    said = run_python(code, str(path), name)
    assert said == run_python(code, str(path), name, connector=None) and "[" not in said


@pytest.fixture
def virtual(tmp_path):
    """A dataset over sources in its own file and in others, with gaps, overlaps and one that is missing."""
    data = np.arange(600 * 700, dtype="<f4").reshape(600, 700)
    for i in range(3):
        with h5py.File(tmp_path / f"part{i}.h5", "w") as f:
            f.create_dataset("d", data=data + i, chunks=(50, 70), compression="gzip")
    path = tmp_path / "virtual.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("own", data=-data, chunks=(40, 60), compression="lzf")
        f.create_dataset("contiguous", data=data.astype("<f8"))
        layout = h5py.VirtualLayout((2500, 1400), "<f4")
        for i, at in enumerate((0, 650, 1100)):  # the last two overlap
            layout[at:at + 600, i * 10:i * 10 + 700] = h5py.VirtualSource(f"part{i}.h5", "d", data.shape)
        layout[:600, 700:] = h5py.VirtualSource(".", "own", data.shape)
        layout[700:1300:1, 700:] = h5py.VirtualSource(".", "contiguous", data.shape, "<f8")
        layout[1800:2400, :700] = h5py.VirtualSource("missing.h5", "d", data.shape)
        layout[1800:2400:2, 700:1400] = h5py.VirtualSource("part1.h5", "d", data.shape)[::2]
        f.create_virtual_dataset("all", layout, fillvalue=-7)
        outer = h5py.VirtualLayout((2500, 1400), "<f4")
        outer[:] = h5py.VirtualSource(".", "all", (2500, 1400))
        f.create_virtual_dataset("outer", outer)
        rows = h5py.VirtualLayout((600, 700), "<f4")
        for row in range(600):
            rows[row] = h5py.VirtualSource("part0.h5", "d", data.shape)[599 - row]
        f.create_virtual_dataset("rows", rows)
    return path


def test_virtual_datasets_of_files_are_what_hdf5_reads(virtual):
    rng = np.random.default_rng(17)
    jobs = []
    for name, shape in (("all", (2500, 1400)), ("outer", (2500, 1400)), ("rows", (600, 700))):
        jobs += [[name, [[None]], None], [name, [[None]], "<f8"], [name, [3, 5], None]]
        jobs += [[name, selection, None] for selection in random_selections(rng, shape, 8)]
    same_as_hdf5(virtual, jobs)


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_sources_of_a_virtual_dataset_are_read_by_the_engine(virtual):
    code = "import h5py, sys; h5py.File(sys.argv[1])['all'][:]"
    assert calls(virtual, "zarr", code) > 0


def test_copies_from_a_file_into_a_store_are_the_same(plain, tmp_path):
    store = tmp_path / "copy.zarr"
    with h5py.File(plain) as source, h5py.File(store, "w") as target:
        source.copy("x", target)
    with h5py.File(store) as target:
        assert (target["x"][:] == values("<f4")).all()
