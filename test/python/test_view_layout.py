"""How datasets are laid out in the HDF5 file as which a store is seen with HDF5_PLUGIN_PATH alone: chunks, extents, and
what the file has to hold itself."""
import json

import h5py
import numpy as np
import pytest

from support import newest_hdf5, run_python

pytestmark = pytest.mark.skipif(h5py.version.hdf5_version_tuple < (2,), reason="HDF5 1.14 opens stores by its probe")


def test_text_beyond_the_budget_is_listed_and_says_how_to_get_it(store):
    with h5py.File(store, "w") as f:
        f["text"] = ["x" * 5000] * 400
        f["few"] = ["a"]
        f["number"] = 7
    code = """
import h5py, sys
with h5py.File(sys.argv[1]) as f:
    print(list(f), f["text"].shape, f["few"][0], f["number"][()])
    try:
        f["text"][0]
    except OSError as error:
        print(error)
"""
    listed, error = run_python(code, store, connector=None, H5ZARR_MEMORY="4MiB").splitlines()
    assert listed == "['few', 'number', 'text'] (400,) b'a' 7"
    assert "HDF5_VOL_CONNECTOR=zarr" in error and "'text'" in error
    assert "text" in run_python(code, store, connector=None)


@pytest.mark.parametrize("maxshape", [None, (None,), (2_000_000,)])
@pytest.mark.parametrize("dtype", [h5py.string_dtype(), np.dtype([("s", h5py.string_dtype()), ("a", "i2")])], ids=["text", "pairs"])
def test_all_of_what_lies_beyond_the_budget_is_an_error(store, maxshape, dtype):
    """Also behind where its elements would end if they took as much in a file as in memory."""
    with h5py.File(store, "w") as f:
        d = f.create_dataset("d", (1_300_000,), dtype, chunks=(100_000,), maxshape=maxshape, compression="gzip")
        d[:600_000] = np.array("x" * 40 if dtype.names is None else ("x" * 40, 1), dtype)
        d[-1] = d[0]
        f["number"] = 7
    code = """
import h5py, sys
with h5py.File(sys.argv[1]) as f:
    for i in (0, 600_000, 700_000, 1_250_000, -1):
        try:
            print("read", f["d"][i])
        except OSError as error:
            print("HDF5_VOL_CONNECTOR=zarr" in str(error))
    print(f["number"][()])
"""
    assert run_python(code, store, connector=None, H5ZARR_MEMORY="64MiB").split() == 5 * ["True"] + ["7"]


@pytest.mark.parametrize("newest", [False, True])
def test_datasets_say_how_far_they_may_grow(store, newest):
    """HDF5 writes an index of their chunks, of a kind for each number of unlimited dimensions."""
    values = np.arange(13 * 21 * 5).reshape(13, 21, 5)
    maxima = [(None, 21, 5), (13, None, 5), (None, None, 5), (None, None, None), (40, 21, 5), (13, 21, None), (200, None, 9)]
    with h5py.File(store, "w") as f:
        for i, maxshape in enumerate(maxima):
            f.create_dataset(f"{i}", data=values, maxshape=maxshape, chunks=(4, 6, 2), compression="gzip")
            f.create_dataset(f"{i}_plain", data=values.astype("f4"), maxshape=maxshape, chunks=(1, 21, 5))
        f.create_dataset("one chunk", data=values, maxshape=(None, 21, 5), chunks=(20, 21, 5))
        f.create_dataset("shards", data=values, maxshape=(None, 21, 6), chunks=(8, 12, 6), compression=480,
                         compression_opts=(1, 3, 4, 6, 2))
        f.create_dataset("text", data=["a", "bc", ""] * 20, maxshape=(None,), chunks=(7,), dtype=h5py.string_dtype())
        f.create_dataset("none", (0, 4), "f4", maxshape=(None, 4), chunks=(2, 4))
        f.create_dataset("fill", (50,), "i2", maxshape=(None,), chunks=(7,), fillvalue=-3)[14:21] = 8
        f.create_dataset("thousands", data=np.arange(9000), maxshape=(None,), chunks=(3,))
        f.create_dataset("plane of thousands", data=np.arange(9000).reshape(90, 100), maxshape=(None, None), chunks=(3, 1))
        f["fixed"] = np.arange(4)
    code = """
import h5py, json, sys, zlib
with h5py.File(sys.argv[1]) as f:
    said = {}
    for name, d in f.items():
        values = d.asstr()[...].tolist() if name == "text" else d[...].tolist()
        few = d[-3:, ...].tolist() + d[::4].tolist()
        said[name] = [d.maxshape, d.chunks, len(values), zlib.crc32(json.dumps(values).encode()), str(few)]
print(json.dumps(said))
"""
    viewed = json.loads(run_python(code, store, connector=None, **(newest_hdf5() if newest else {})))
    assert viewed == json.loads(run_python(code, store))
    assert viewed["2"][0] == [None, None, 5] and viewed["text"][0] == [None]


def test_a_dataset_of_very_many_chunks_cannot_grow_in_a_view(store):
    with h5py.File(store, "w") as f:
        f.create_dataset("far", data=np.arange(10), maxshape=(1 << 40,), chunks=(1,))
        f.create_dataset("few", data=np.arange(10), maxshape=(None,), chunks=(3,))
        f.create_dataset("many", (512 << 19,), "f8", maxshape=(None,), chunks=(512,))[-2:] = 3
        f.create_dataset("tiny", data=np.arange(20_000), maxshape=(None,), chunks=(1,))
    code = """
import h5py, sys
with h5py.File(sys.argv[1]) as f:
    for d in f.values():
        print(d.maxshape, d[-2:].tolist(), d.astype("f4")[0], d.astype("f4")[1], d.astype("f4")[4:7].tolist(), d[[1, 3, 8]].tolist())
"""
    named, viewed = (run_python(code, store, connector=connector).splitlines() for connector in ("zarr", None))
    assert viewed[:2] == named[:2]
    assert [line.split(") ")[1] for line in viewed] == [line.split(") ")[1] for line in named]
    assert [line.split(") ")[0] for line in viewed[2:]] == ["(268435456,", "(20000,"]


def test_many_tiny_chunks_are_read_as_one_and_others_as_they_are(store):
    with h5py.File(store, "w") as f:
        for name, chunk in (("few", 100), ("large", 5000), ("tiny", 10)):
            f.create_dataset(name, data=np.arange(50_000, dtype="i4"), chunks=(chunk,))
    code = """
import h5py, numpy as np, sys
with h5py.File(sys.argv[1]) as f:
    for d in f.values():
        right = (d[...] == np.arange(50_000)).all() and d[::7].tolist() == list(range(0, 50_000, 7))
        print(d.name, d.chunks, right, d[49_998:].tolist(), d.astype("f4")[12_345])
"""
    assert run_python(code, store, connector=None).splitlines() == [
        f"/{name} {chunks} True [49998, 49999] 12345.0" for name, chunks in (("few", "(100,)"), ("large", "(5000,)"), ("tiny", None))]
