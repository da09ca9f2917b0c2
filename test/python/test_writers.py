"""Several processes that write one array at the same time."""
import os

import h5py
import numpy as np

SHAPE, SHARD, INNER = (20, 20, 20), (20, 20, 20), (5, 5, 5)
ZSTD_3 = 3 | 3 << 8
WRITERS, ROUNDS = 4, 5


def in_child(work):
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return child


def test_parts_of_one_shard_written_by_several_processes_all_stay(store):
    with h5py.File(store, "w") as f:
        f.create_dataset("a", SHAPE, "f8", chunks=SHARD, compression=480,
                         compression_opts=(1, 3, *INNER, ZSTD_3))
    values = np.arange(np.prod(SHAPE), dtype="f8").reshape(SHAPE)
    for round in range(ROUNDS):
        def write_slab(writer):
            with h5py.File(store, "r+") as f:
                slab = slice(5 * writer, 5 * writer + 5)
                f["a"][slab] = values[slab] + round
                f["a"].attrs[f"by{writer}"] = round  # replaces the document that shards are locked by

        children = [in_child(lambda writer=writer: write_slab(writer)) for writer in range(WRITERS)]
        assert [os.waitpid(child, 0)[1] for child in children] == [0] * WRITERS
        with h5py.File(store, "r") as f:
            assert np.array_equal(f["a"][...], values + round)


def test_a_forked_child_leaves_the_parents_newer_data_alone(store):
    with h5py.File(store, "w") as f:
        f["v"] = 1
        child = in_child(lambda: None)
        f["v"][()] = 2
        os.waitpid(child, 0)
    with h5py.File(store, "r") as f:
        assert f["v"][()] == 2
