"""Stores of many nodes: only what is touched is read."""
import json
import os

import h5py
import numpy as np
import zarr

from support import run_python

COUNT = 3000


def many(store):
    root = zarr.open_group(store, mode="w")
    root.create_array("good", data=np.arange(6, dtype="i4"), chunks=(4,))
    for number in range(COUNT):
        os.mkdir(f"{store}/bad{number:05d}")
        with open(f"{store}/bad{number:05d}/zarr.json", "w") as document:
            document.write('{"zarr_format": 3, "node_type": "array", "shape": "not read"')
    return [f"bad{number:05d}" for number in range(COUNT)] + ["good"]


def test_one_array_is_opened_without_reading_its_neighbours(crowded_folder):
    store = str(crowded_folder / "x.zarr")
    many(store)
    with h5py.File(store, "r") as f:
        assert f["good"][...].tolist() == [0, 1, 2, 3, 4, 5]


def test_names_are_listed_without_reading_documents(crowded_folder):
    store = str(crowded_folder / "x.zarr")
    names = many(store)
    with h5py.File(store, "r") as f:
        assert len(f) == len(names)
        assert list(f) == names


def test_a_big_consolidated_root_is_skipped_over(store):
    zarr.open_group(store, mode="w").create_array("a", data=np.arange(3), chunks=(2,))
    path = os.path.join(store, "zarr.json")
    with open(path) as document:
        root = json.load(document)
    node = {"zarr_format": 3, "node_type": "group", "attributes": {"text": "x" * 1000}}
    root["consolidated_metadata"] = {"kind": "inline", "must_understand": False,
                                     "metadata": {f"g{number}": node for number in range(20000)}}
    with open(path, "w") as document:
        json.dump(root, document)
    with h5py.File(store, "r") as f:
        assert list(f) == ["a"]
        assert f["a"][...].tolist() == [0, 1, 2]


def test_the_time_to_make_a_node_does_not_grow_with_their_number(crowded_folder):
    def seconds_a_node(count):
        spent = run_python(
            "import sys, time, h5py\n"
            "with h5py.File(sys.argv[1], 'w') as f:\n"
            "    start = time.process_time()\n"
            "    for i in range(int(sys.argv[2])): f.create_group(f'g{i % 100}/n{i}')\n"
            "    f.flush()\n"
            "    print(time.process_time() - start)\n", str(crowded_folder / f"{count}.zarr"), str(count),
            timeout=300)
        return float(spent) / count

    # (With a search of all nodes for each it would be more than twice.)
    few = max(seconds_a_node(2000) for _ in range(2))
    assert seconds_a_node(16000) < 1.6 * few
