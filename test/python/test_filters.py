"""Filters 480 (shard) and 32015 (zstd) in native HDF5 files: by their own plugins without the
connector, and with it."""
import json
import os
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from support import READERS, assert_equal, run, run_python, tool

SHARD, ZSTD = 480, 32015
GZIP6, ZSTD3, BLOSC_LZ4, CRC = 2 | 6 << 8, 3 | 3 << 8, 4 | (5 + 16 + 256) << 8, 5
SHAPE, CHUNKS, INNER = (64, 60, 20), (32, 30, 20), (8, 15, 20)

WRITE = """
import h5py, numpy as np, sys
shape, chunks, inner = (64, 60, 20), (32, 30, 20), (8, 15, 20)
a = np.random.default_rng(1).integers(0, 50, shape).astype(sys.argv[2])
a[:32] = 7
with h5py.File(sys.argv[1], "w") as f:
    f.create_dataset("s", data=a, chunks=chunks, compression=480, fillvalue=7,
                     compression_opts=(1, 3, *inner, *map(int, sys.argv[3:])))
    f.create_dataset("z", data=a, chunks=chunks, compression=32015, compression_opts=(5,))
with h5py.File(sys.argv[1]) as f:
    assert (f["s"][...] == a).all() and (f["z"][...] == a).all()
    assert (f["s"][40, 3:9, ::7] == a[40, 3:9, ::7]).all()
np.save(sys.argv[1] + ".npy", a)
"""


@pytest.fixture(scope="module")
def filters(tmp_path_factory):
    """A folder that holds the filters' plugins, and not the connector."""
    folder = tmp_path_factory.mktemp("filters")
    for name in ("libh5zarr_shard.so", "libh5zarr_zstd.so"):
        shutil.copy(Path(os.environ["H5ZARR_PLUGIN_DIR"]) / name, folder)
    return str(folder)


def written(folder, filters, dtype, *codecs):
    path = folder / "n.h5"
    run_python(WRITE, path, dtype, *codecs, connector=None, HDF5_PLUGIN_PATH=filters)
    return path, np.load(f"{path}.npy")


@pytest.mark.parametrize("codecs", [(), (GZIP6,), (ZSTD3,), (BLOSC_LZ4,), (1, ZSTD3, CRC)])
@pytest.mark.parametrize("dtype", ["<i4", ">f8"])
def test_written_and_read_without_the_connector(tmp_path, filters, dtype, codecs):
    path, values = written(tmp_path, filters, dtype, *codecs)
    with h5py.File(path) as f:  # this process has the connector
        assert_equal(f["s"][...], values)
        assert_equal(f["z"][...], values)


@pytest.mark.parametrize("reader", READERS)
def test_a_chunk_is_a_shard_that_zarr_readers_open(tmp_path, filters, reader):
    path, values = written(tmp_path, filters, ">i4", ZSTD3)
    with h5py.File(path) as f:
        chunk = f["s"].id.read_direct_chunk((32, 30, 0))[1]
    store = tmp_path / "copied.zarr"
    (store / "c/0/0").mkdir(parents=True)
    (store / "c/0/0/0").write_bytes(chunk)
    sharding = {
        "chunk_shape": INNER,
        "codecs": [{"name": "bytes", "configuration": {"endian": "big"}},
                   {"name": "zstd", "configuration": {"level": 3, "checksum": False}}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
                         {"name": "crc32c"}],
        "index_location": "end",
    }
    (store / "zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": CHUNKS, "data_type": "int32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": CHUNKS}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 7, "attributes": {},
        "codecs": [{"name": "sharding_indexed", "configuration": sharding}]}))
    assert_equal(READERS[reader](str(store)), values[32:, 30:])


def test_zstd_chunks_are_those_of_other_filters(tmp_path, filters):
    hdf5plugin = pytest.importorskip("hdf5plugin", reason="no hdf5plugin in this environment")
    path, values = written(tmp_path, filters, "<i4")
    theirs = os.path.join(os.path.dirname(hdf5plugin.__file__), "plugins")
    read = "import h5py, numpy as np, sys; f = h5py.File(sys.argv[1]); " \
           "assert (f['z'][...] == np.load(sys.argv[1] + '.npy')).all()"
    run_python(read, path, connector=None, HDF5_PLUGIN_PATH=theirs)
    write = "import h5py, numpy as np, sys; f = h5py.File(sys.argv[1], 'w'); " \
            "f.create_dataset('z', data=np.load(sys.argv[2]), chunks=(32, 30, 20), " \
            "compression=32015, compression_opts=(3,))"
    other = tmp_path / "theirs.h5"
    run_python(write, other, f"{path}.npy", connector=None, HDF5_PLUGIN_PATH=theirs)
    np.save(f"{other}.npy", values)
    run_python(read, other, connector=None, HDF5_PLUGIN_PATH=filters)


def test_a_fill_value_longer_than_eight_bytes_comes_back(tmp_path):
    dtype = np.dtype([("a", "i4"), ("b", "f8"), ("c", "S5")])
    fill = np.array((3, 0.5, b"hey"), dtype)
    with h5py.File(tmp_path / "c.h5", "w") as f:
        d = f.create_dataset("c", (40,), dtype=dtype, chunks=(20,), compression=SHARD,
                             compression_opts=(1, 1, 5, GZIP6), fillvalue=fill)
        d[3:4] = np.array([(1, 2.5, b"x")], dtype)
    with h5py.File(tmp_path / "c.h5") as f:
        expected = np.full(40, fill)
        expected[3] = (1, 2.5, b"x")
        np.testing.assert_array_equal(f["c"][...], expected)


def test_strings_of_variable_length_survive(tmp_path):
    texts = np.array([f"text {i}" for i in range(40)], object)
    with h5py.File(tmp_path / "v.h5", "w") as f:
        f.create_dataset("v", data=texts, dtype=h5py.string_dtype(), chunks=(20,),
                         compression=SHARD, compression_opts=(1, 1, 5, ZSTD3))
    with h5py.File(tmp_path / "v.h5") as f:
        assert list(f["v"].asstr()[...]) == list(texts)


@pytest.mark.parametrize("words, complaint", [
    ((1, 3, 7, 15, 20), "word 2 is 7; expected a divisor"),
    ((1, 2, 8, 15), "word 1 is 2; expected the rank, 3"),
    ((2, 3, *INNER), "word 0 is 2; expected version 1"),
    ((1, 3, *INNER, 99), "word 5 is 99; expected a codec"),
])
def test_words_that_make_no_sense_are_refused_at_creation(tmp_path, words, complaint):
    with h5py.File(tmp_path / "n.h5", "w") as f:
        with pytest.raises(ValueError, match=complaint):
            f.create_dataset("s", SHAPE, "i4", chunks=CHUNKS, compression=SHARD,
                             compression_opts=words)
        assert "s" not in f


@pytest.mark.parametrize("name", ["s", "z"])
def test_a_damaged_chunk_is_an_error_and_never_data(tmp_path, filters, name):
    path, values = written(tmp_path, filters, "<i4", ZSTD3, CRC)
    with h5py.File(path) as f:
        chunk = f[name].id.get_chunk_info_by_coord((32, 30, 0))
    rng = np.random.default_rng(3)
    whole = path.read_bytes()
    for _ in range(60):
        damaged = bytearray(whole)
        at = chunk.byte_offset + int(rng.integers(chunk.size))
        damaged[at] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        with h5py.File(path) as f:
            try:
                got = f[name][32:, 30:]
            except OSError:
                continue
        if name == "s":  # every byte is under a checksum
            np.testing.assert_array_equal(got, values[32:, 30:])


def test_a_chunk_cut_short_is_refused(tmp_path, filters):
    path, _ = written(tmp_path, filters, "<i4", ZSTD3)
    with h5py.File(path, "r+") as f:
        for name in ("s", "z"):
            mask, chunk = f[name].id.read_direct_chunk((32, 30, 0))
            f[name].id.write_direct_chunk((32, 30, 0), chunk[: len(chunk) // 2], mask)
    with h5py.File(path) as f:
        for name in ("s", "z"):  # HDF5 drops what a filter says of its failure
            with pytest.raises(OSError, match="filter returned failure"):
                f[name][32:, 30:]


def test_one_thread_and_many_write_the_same_bytes(tmp_path, filters):
    files = []
    for threads in (1, 4):
        folder = tmp_path / str(threads)
        folder.mkdir()
        path = folder / "n.h5"
        run_python(WRITE, path, "<f4", ZSTD3, connector=None, HDF5_PLUGIN_PATH=filters,
                   H5ZARR_THREADS=str(threads))
        files.append(path.read_bytes())
    assert files[0] == files[1]


def test_hdf5_1_14_reads_what_2_wrote_and_repacks_it(tmp_path, filters):
    path, _ = written(tmp_path, filters, "<i4", ZSTD3)
    plain, sharded = tmp_path / "plain.h5", tmp_path / "sharded.h5"
    words = ",".join(map(str, (1, 3, *INNER, GZIP6)))
    options = {"connector": None, "HDF5_PLUGIN_PATH": filters}
    for command in ((tool("h5repack"), "-f", "GZIP=4", path, plain),
                    (tool("h5repack"), "-f", f"UD=480,0,6,{words}", path, sharded),
                    (tool("h5diff"), path, plain), (tool("h5diff"), path, sharded)):
        done = run(command, **options)
        assert done.returncode == 0, done.stdout + done.stderr
    dump = run((tool("h5dump"), "-p", "-H", "-d", "/z", sharded), **options).stdout
    assert "FILTER_ID 480" in dump


def test_a_sharded_store_is_copied_into_a_native_file_and_back(tmp_path):
    values = np.arange(64 * 60, dtype="i4").reshape(64, 60)
    store, native, back = (tmp_path / n for n in ("a.zarr", "b.h5", "c.zarr"))
    with h5py.File(store, "w") as f:
        f.create_dataset("s", data=values, chunks=(32, 30), compression=SHARD,
                         compression_opts=(1, 2, 8, 15, ZSTD3))
    for source, target in ((store, native), (native, back)):
        with h5py.File(source) as f, h5py.File(target, "w") as g:
            f.copy("s", g)
    with h5py.File(native) as f, h5py.File(back) as g:
        assert_equal(f["s"][...], values)
        assert_equal(g["s"][...], values)
        pipelines = [h["s"].id.get_create_plist().get_filter(0) for h in (f, g)]
        assert pipelines[0] == pipelines[1]
        assert tuple(pipelines[0][2][1:5]) == (2, 8, 15, ZSTD3)


COPY_OPEN = """
import h5py, numpy as np, sys
options = {"480": (1, 1, 1 << 14, 3 | 3 << 8), "32015": (3,), "none": (1, 1, 1 << 14, 1)}[sys.argv[2]]
identifier = 32015 if sys.argv[2] == "32015" else 480
text = h5py.string_dtype()
with h5py.File(sys.argv[1], "w") as f:
    made = {}
    for name, dtype in {"numbers": "<i4", "texts": text, "sequences": h5py.vlen_dtype("<i2")}.items():
        d = f.create_dataset(name, (5 << 14,), dtype, chunks=(1 << 14,), compression=identifier, compression_opts=options)
        # (Of variable length few: the filter is to make little of much.)
        if name == "numbers":
            d[:] = np.arange(5 << 14) // 1000
        elif name == "texts":
            d[::9000] = [str(i) for i in range(len(d[::9000]))]
        else:
            for i in range(0, 5 << 14, 9000):
                d[i] = np.arange(i % 7 + 1)
        made[name] = d
    f.flush()
    for i in range(4):
        for name, d in made.items():
            d[3:9], d[1 << 14]  # chunks are in the cache, and stored
            f.copy(d, f"{name} {i}")
            f.copy(f"{name} {i}", f"{name} {i} again")
            for copy in (f[f"{name} {i}"], f[f"{name} {i} again"]):
                assert all(np.array_equal(a, b) for a, b in zip(copy[::100], d[::100]))
"""


@pytest.mark.parametrize("connector", [None, "zarr"])
@pytest.mark.parametrize("codec", ["480", "32015", "none"])
def test_open_datasets_are_copied_chunk_by_chunk(tmp_path, filters, codec, connector):
    """HDF5 encodes chunks that are in the cache into what a filter handed back for the one before."""
    folder = filters if connector is None else os.environ["H5ZARR_PLUGIN_DIR"]
    run_python(COPY_OPEN, tmp_path / "x.h5", codec, connector=connector, HDF5_PLUGIN_PATH=folder)
