"""Stores that others wrote, kept in test/golden/good with what they hold (make.py there says how), and the
same ones damaged as test/golden/bad/damages.json says."""
import json
import re
import tarfile
from pathlib import Path

import h5py
import numpy as np
import pytest

from support import assert_equal, tree

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
WRITERS = sorted(folder.parent.name for folder in GOLDEN.glob("good/*/store.tar.xz"))
DAMAGES = json.loads((GOLDEN / "bad" / "damages.json").read_text())

# Arrays that are no error in the store, but that HDF5 programs cannot have.
WITHOUT_TYPE = {"v3/float8_e4m3fn", "v3/float8_e4m3fnuz", "v3/float8_e5m2fnuz", "v3/float8_e4m3b11fnuz"}


def unpack(writer, store):
    with tarfile.open(GOLDEN / "good" / writer / "store.tar.xz") as packed:
        if hasattr(tarfile, "data_filter"):
            packed.extraction_filter = tarfile.data_filter
        packed.extractall(store)


@pytest.fixture(scope="module", params=WRITERS)
def golden(request, tmp_path_factory):
    """The store of a writer, its numbers and its texts."""
    store = tmp_path_factory.mktemp(request.param) / "store.zarr"
    unpack(request.param, store)
    folder = GOLDEN / "good" / request.param
    with np.load(folder / "expected.npz") as expected:
        return store, dict(expected), json.loads((folder / "texts.json").read_text())


def as_written(data, expected):
    """Small floats show as the float that holds them all."""
    return data.astype(expected.dtype) if expected.dtype == "f4" and data.dtype.kind in "fV" else data


def test_every_array_reads_as_its_writer_does(golden):
    store, expected, _ = golden
    before = tree(store)
    with h5py.File(store, "r") as f:
        for name, data in expected.items():
            if name in WITHOUT_TYPE:
                continue
            assert f[name].shape == data.shape, name
            assert_equal(as_written(np.asarray(f[name][()]), data), data)
    assert tree(store) == before


def test_every_part_of_an_array_reads_like_the_whole(golden):
    store, expected, _ = golden
    with h5py.File(store, "r") as f:
        for name, data in expected.items():
            if data.ndim == 0 or name in WITHOUT_TYPE:
                continue
            for part in [np.s_[-1:], np.s_[::2], np.s_[..., 1:3], np.s_[1:2, ..., :1] if data.ndim > 1 else np.s_[:0]]:
                assert_equal(as_written(f[name][part], data), data[part])


def test_every_text_reads_as_its_writer_does(golden):
    store, _, texts = golden
    with h5py.File(store, "r") as f:
        for name, expected in texts.items():
            assert f[name].asstr()[()].tolist() == expected, name


def test_listing_shows_every_array(golden):
    store, expected, texts = golden
    with h5py.File(store, "r") as f:
        names = {f"{group}/{name}" for group in f for name in f[group]}
        assert names == set(expected) | set(texts)


def test_types_that_hdf5_lacks_are_listed_and_say_so(tmp_path):
    unpack("tensorstore", tmp_path / "s.zarr")
    with h5py.File(tmp_path / "s.zarr", "r") as f:
        for name in WITHOUT_TYPE:
            assert name in f
            with pytest.raises(KeyError, match=name.split("/")[1]):
                f[name]


def test_times_have_the_units_of_cf(tmp_path):
    unpack("zarr-python-v3", tmp_path / "s.zarr")
    with h5py.File(tmp_path / "s.zarr", "r") as f:
        assert f["type/datetime_ns"].attrs["units"] == "nanoseconds since 1970-01-01"
        assert f["type/datetime_D"].attrs["units"] == "days since 1970-01-01"
        assert f["type/timedelta_h"].attrs["units"] == "hours"


def test_copy_into_a_new_store_and_into_hdf5_is_equal(golden, tmp_path):
    store, expected, _ = golden
    with h5py.File(store, "r") as f:
        for target in [tmp_path / "copy.zarr", tmp_path / "copy.h5"]:
            with h5py.File(target, "w") as copy:
                names = [n for n in expected if n.startswith(("type/", "fill/", "v2/"))]
                for name in names:
                    copy.create_dataset(name, data=f[name])
                for name in names:
                    assert_equal(copy[name][()], expected[name])


def damage(folder, how):
    def change(key, edit):
        file = folder / key
        file.write_bytes(edit(file.read_bytes()))

    document = next(key for key in ("zarr.json", ".zarray") if (folder / key).exists())
    if "replace" in how:
        old, new = how["replace"]  # a pattern and what stands for it
        change(document, lambda text: re.sub(old, new, text.decode()).encode())
    if "set" in how:
        change(document, lambda text: json.dumps(json.loads(text) | how["set"]).encode())
    if "remove" in how:
        change(document, lambda text: json.dumps({k: v for k, v in json.loads(text).items()
                                                  if k != how["remove"]}).encode())
    if "cut" in how:
        change(how["cut"], lambda data: data[: len(data) // 2])
    if "empty" in how:
        change(how["empty"], lambda data: b"")
    if "flip" in how:
        key, at = how["flip"]
        change(key, lambda data: bytes(b ^ 0xFF * (i == at % len(data)) for i, b in enumerate(data)))


@pytest.mark.parametrize("how", DAMAGES, ids=[how["name"] for how in DAMAGES])
def test_damage_is_an_error_that_names_it_and_siblings_stay(tmp_path, how):
    store = tmp_path / "store.zarr"
    unpack(how["store"], store)
    damage(store / how["array"], how)
    before = tree(store)
    sibling = how["array"].split("/")[0]
    with np.load(GOLDEN / "good" / how["store"] / "expected.npz") as expected, h5py.File(store, "r") as f:
        assert how["array"].split("/")[1] in list(f[sibling])
        says = re.escape(how["says"])
        if how["fails"] == "open":
            with pytest.raises(KeyError, match=says):
                f[how["array"]]
        else:
            with pytest.raises(OSError, match=says):
                f[how["array"]][()]
        others = [name for name in expected.files if name.startswith(sibling + "/") and name != how["array"]]
        for name in others[:5]:
            assert_equal(f[name][()], expected[name])
    assert tree(store) == before
