"""Raw chunks: what programs read, list and write past the filter pipeline is the pipeline they set."""
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest

from support import READERS, assert_equal, run_python

DATA = np.arange(60, dtype="i4").reshape(10, 6)
OFFSETS = [(row, column) for row in (0, 4, 8) for column in (0, 4)]
FILTERS = {
    "none": {},
    "gzip": {"compression": "gzip"},
    "shuffle": {"shuffle": True},
    "shuffle and gzip": {"compression": "gzip", "shuffle": True},
    "fletcher32": {"fletcher32": True},
    "all three": {"compression": "gzip", "shuffle": True, "fletcher32": True},
    "shard": {"compression": 480, "compression_opts": (1, 2, 2, 2, 3 | 3 << 8)},
}
every_filter = pytest.mark.parametrize("filters", FILTERS)


@pytest.fixture
def a(store, request):
    """A dataset whose chunks are all stored, in a file that is open for writing."""
    filters = FILTERS[request.node.callspec.params.get("filters", "none")] if hasattr(request.node, "callspec") else {}
    with h5py.File(store, "w") as f:
        yield f.create_dataset("a", data=DATA, chunks=(4, 4), maxshape=(None, 6), **filters)


def outcome(call):
    try:
        return call()
    except Exception as error:
        return type(error).__name__


def told_of_chunks(path, filters):
    """What a program learns of a dataset's chunks, and what it can do with them."""
    with h5py.File(path, "w") as f:
        a = f.create_dataset("a", (20, 12), "i4", chunks=(5, 4), **filters)
        a[:7, :6] = np.arange(42).reshape(7, 6)
        told = [a.id.get_num_chunks(), a.id.get_space_status(), a.chunks,
                [a.id.get_chunk_info(i).chunk_offset for i in range(a.id.get_num_chunks())],
                a.id.get_chunk_info_by_coord((15, 8)).byte_offset]
        if not filters:
            told += [a.id.get_storage_size(), a.id.get_chunk_info(3).size]
        iterated = []
        a.id.chunk_iter(lambda chunk: iterated.append(chunk.chunk_offset) and None)
        mask, raw = a.id.read_direct_chunk((5, 4))
        told += [iterated, mask, raw if not filters else len(raw) > 0]
        a[0, 0] = 77
        a.id.write_direct_chunk((15, 8), raw)
        told += [a[...].tolist(), a.id.get_num_chunks()]
        told += [outcome(lambda: a.id.read_direct_chunk((10, 8))), outcome(lambda: a.id.read_direct_chunk((5, 3))),
                 outcome(lambda: a.id.write_direct_chunk((25, 0), raw))]
    with h5py.File(path, "r") as f:
        return told + [f["a"][...].tolist(), f["a"].id.get_num_chunks()]


@pytest.mark.parametrize("connector", ["zarr", "zarr shard=auto", "zarr shard=256", "zarr zarr_format=2"])
@pytest.mark.parametrize("filters", [{}, {"compression": "gzip", "shuffle": True}, {"fletcher32": True}], ids=str)
def test_chunk_queries_speak_of_the_programs_chunks_as_hdf5s_own(tmp_path, connector, filters):
    code = f"from test_chunks import told_of_chunks\nimport sys\nprint(told_of_chunks(sys.argv[1], {filters!r}))"
    folder = str(Path(__file__).parent)
    native = run_python(code, tmp_path / "a.h5", connector=connector, PYTHONPATH=folder)
    stored = run_python(code, tmp_path / "a.zarr", connector=connector, PYTHONPATH=folder)
    assert stored == native


@pytest.mark.parametrize("connector", ["zarr", "zarr shard=auto"])
def test_a_plain_chunk_of_another_size_is_refused(store, connector):
    code = """
import h5py, sys
with h5py.File(sys.argv[1], "w") as f:
    a = f.create_dataset("a", (20,), "i4", chunks=(5,))
    for raw in b"x" * 19, b"x" * 21:
        try:
            a.id.write_direct_chunk((5,), raw)
            raise AssertionError(raw)
        except OSError as error:
            assert "expected 20" in str(error)
    assert not a[...].any() and a.id.get_num_chunks() == 0
"""
    assert run_python(code, store, connector=connector) == ""


def test_a_shuffle_within_shards_is_stored_as_readers_know_it(store):
    data = np.arange(64, dtype="i4").reshape(8, 8)
    words = {"gzip": 2 | 4 << 8, "zstd": 3 | 3 << 8}
    with h5py.File(store, "w") as f:
        for name, word in words.items():
            f.create_dataset(name, data=data, chunks=(8, 8), compression=480, compression_opts=(1, 2, 4, 4, 1, word))
    for name, word in words.items():
        for read in READERS.values():
            assert_equal(read(store, name), data)
        with h5py.File(store, "r") as f:
            assert f[name]._filters["480"][1:6] == (2, 4, 4, 1, word)  # word 0 also counts


@every_filter
def test_chunks_are_counted_and_sized(a, filters):
    assert a.id.get_num_chunks() == len(OFFSETS)
    sizes = [a.id.get_chunk_info(i).size for i in range(len(OFFSETS))]
    assert sizes == [len(a.id.read_direct_chunk(offset)[1]) for offset in OFFSETS]
    iterated = []
    a.id.chunk_iter(lambda chunk: iterated.append(chunk.size) and None)
    assert iterated == sizes
    assert a.id.get_storage_size() > 0


def test_raw_bytes_are_those_of_the_pipeline(store):
    with h5py.File(store, "w") as f:
        for name, filters in FILTERS.items():
            f.create_dataset(name, data=DATA, chunks=(4, 4), **filters)
        block = np.ascontiguousarray(DATA[:4, :4])
        shuffled = block.view("u1").reshape(16, 4).T.tobytes()
        raw = {name: f[name].id.read_direct_chunk((0, 0)) for name in FILTERS}
    assert raw["none"] == (0, block.tobytes())
    assert zlib.decompress(raw["gzip"][1]) == block.tobytes()
    assert raw["shuffle"] == (0, shuffled)
    assert zlib.decompress(raw["shuffle and gzip"][1]) == shuffled
    assert raw["fletcher32"][1][:-4] == block.tobytes()


@every_filter
def test_what_is_still_in_the_cache_is_seen(a, filters):
    a[0, 0] = 77
    before = a.id.read_direct_chunk((0, 0))
    a[0, 0] = 78
    assert a.id.read_direct_chunk((0, 0)) != before


@every_filter
def test_chunks_that_are_not_stored_are_none(store, filters):
    with h5py.File(store, "w") as f:
        e = f.create_dataset("e", shape=(8, 8), chunks=(4, 4), dtype="i4", **FILTERS[filters])
        assert e.id.get_num_chunks() == 0 and e.id.get_storage_size() == 0
        e[0, 0] = 1
        assert e.id.get_num_chunks() == 1
        assert e.id.get_chunk_info_by_coord((4, 4)).size == 0
        with pytest.raises(ValueError):
            e.id.get_chunk_info(3)


def test_offsets_that_begin_no_chunk_are_refused(a):
    for offset in ((1, 0), (12, 0), (0, 8)):
        with pytest.raises((OSError, RuntimeError)):
            a.id.read_direct_chunk(offset)
    assert (a[:] == DATA).all()


def test_shrinking_drops_chunks(a):
    a.resize((3, 6))
    assert a.id.get_num_chunks() == 2
    a.resize((10, 6))
    assert a.id.get_num_chunks() == 2 and (a[3:] == 0).all()
