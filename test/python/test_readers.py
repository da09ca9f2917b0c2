"""Which reader of Zarr reads what HDF5 programs write: the table in test/suites/README.md is what this test finds.
A reader either gives the values or refuses; with every `_hdf5` deleted it does the same."""
import json
import os
import re
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
from h5py import h5d, h5p, h5s, h5t

from every_type import integer, opaque
from support import READERS, forget_hdf5

README = Path(__file__).resolve().parents[1] / "suites" / "README.md"


def plain(values, **how):
    """A dataset of these values; readers are to give the same."""
    return lambda f, name: (f.create_dataset(name, data=values, **how), values)[1]


def typed(made, stored, expected):
    """A dataset of an HDF5 type that NumPy lacks, from the bytes of its elements."""
    def write(f, name):
        dataset = h5d.create(f.id, name.encode(), made, h5s.create_simple((len(expected),)))
        dataset.write(h5s.ALL, h5s.ALL, np.frombuffer(stored, "u1").copy(), mtype=made)
        return expected
    return write


def filtered(*filters, dtype="<i4"):
    values = np.arange(64).astype(dtype).reshape(8, 8)

    def write(f, name):
        dcpl = h5p.create(h5p.DATASET_CREATE)
        dcpl.set_chunk((4, 4))
        for number, words in filters:
            dcpl.set_filter(number, h5py.h5z.FLAG_OPTIONAL, words)
        dataset = h5d.create(f.id, name.encode(), h5t.py_create(values.dtype), h5s.create_simple((8, 8)), dcpl)
        dataset.write(h5s.ALL, h5s.ALL, values)
        return values
    return write


def sequences(f, name):
    lists = [np.arange(3, dtype="<i2"), np.array([], "<i2"), np.array([-7], "<i2")]
    dataset = f.create_dataset(name, (3,), h5py.vlen_dtype(np.dtype("<i2")))
    for i, one in enumerate(lists):
        dataset[i] = one
    return [one.tobytes() for one in lists]


def rows_with_text(f, name):
    row = np.dtype([("n", "<i4"), ("text", h5py.string_dtype()), ("list", h5py.vlen_dtype(np.dtype("<i2")))])
    dataset = f.create_dataset(name, (2,), row)
    dataset[0], dataset[1] = (1, "ä", np.array([1, 2], "<i2")), (2, "", np.array([], "<i2"))
    return [[1, "ä", [1, 2]], [2, "", []]]


def references(f, name):
    f.require_group("of")
    f.create_dataset(name, data=[f["of"].ref, f.ref], dtype=h5py.ref_dtype)
    return ["/of", "/"]


def scalar_text(f, name):
    f[name] = "ä€𝄞"
    return ["ä€𝄞"]


LONG = np.array([1, -2], np.longdouble)
LONG.view("u1").reshape(2, 16)[:, 10:] = 0
ROWS = np.array([(1, 2.5), (-3, np.inf)], [("a", "<i2"), ("b", "<f8")])
NESTED = np.array([(1, (2, 3.5))], [("a", "<i2"), ("in", [("x", "u1"), ("y", "<f4")])])
WITH_ARRAY = np.array([(1, [2, 3])], [("a", "<i2"), ("v", "<i2", (2,))])
KINDS = {
    "`int8` … `uint64`": plain(np.array([-(2**63), 2**63 - 1], "<i8")),
    "big-endian integers and floats": plain(np.array([1.5, -0.0], ">f8")),
    "`float32`, `float64`": plain(np.array([1.5, np.nan, -np.inf], "<f4")),
    "`float16`": plain(np.array([1.5, np.nan], "<f2")),
    "integers of odd width, bitfields": typed(integer(h5t.STD_I16LE, 11, 2), bytes([4, 0, 0xFC, 0x0F]),
                                              np.array([1, 1023], "<i2")),
    "boolean": plain(np.array([True, False])),
    "enum": plain(np.array([0, 5], h5py.enum_dtype({"A": 0, "B": 5}, "<i2"))),
    "complex as compound": plain(np.array([1 - 2j, complex(np.nan, 0)], "<c8")),
    "opaque": typed(opaque(3, b"tag"), b"abcdef", [b"abc", b"def"]),
    "times of h5py (`NUMPY:<M8[us]`)": typed(opaque(8, b"NUMPY:<M8[us]"), np.arange(2).astype("<i8").tobytes(),
                                             np.arange(2).astype("<M8[us]")),
    "float128 (its bytes)": plain(LONG),
    "fixed string": plain(np.array([b"ab", b"", b"abc"], "S3")),
    "variable string": plain(np.array(["a", "", "ä€𝄞"], h5py.string_dtype())),
    "variable string, scalar": scalar_text,
    "array type": typed(h5t.array_create(h5t.STD_I16LE, (2,)), np.arange(6, dtype="<i2").tobytes(),
                        np.arange(6, dtype="<i2").reshape(3, 2)),
    "compound": plain(ROWS),
    "compound within compound": plain(NESTED),
    "compound with an array": plain(WITH_ARRAY),
    "compound with strings, sequences (JSON text)": rows_with_text,
    "sequence of numbers (bytes)": sequences,
    "object reference (path)": references,
    "scalar": plain(np.float64(2.5)),
    "empty": plain(np.zeros((0, 3), "<i4")),
    "deflate": filtered((1, (4,))),
    "shuffle + deflate": filtered((2, ()), (1, (4,))),
    "fletcher32": filtered((3, ())),
    "zstd": filtered((32015, (3,))),
    "shards (480)": filtered((480, (1, 2, 2, 2, 3 | 3 << 8))),
    "scale-offset, n-bit": filtered((6, (2, 0))),
}


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """The store, the same without any `_hdf5`, and what was written."""
    folder = tmp_path_factory.mktemp("readers")
    expected = {}
    for name in ("whole.zarr", "forgotten.zarr"):
        with h5py.File(folder / name, "w") as f:
            for i, (kind, write) in enumerate(KINDS.items()):
                expected[kind] = write(f, f"d{i}")
    forget_hdf5(folder / "forgotten.zarr")
    return folder, expected


def words(values):
    """Texts as lists of str, whatever a reader makes of them; bytes stay bytes."""
    return [value if isinstance(value, (bytes, str)) else value.tobytes() if hasattr(value, "tobytes") else value
            for value in np.atleast_1d(values).ravel().tolist()]


def same(got, expected, kind):
    got = np.asarray(got)
    if "JSON" in kind:
        return [json.loads(text) for text in words(got)] == expected
    if "float128" in kind:
        return got.tobytes() == expected.tobytes()
    if isinstance(expected, list):
        return [one.tobytes() if isinstance(one, np.ndarray) else one for one in words(got)] == expected
    if expected.dtype.kind in "OS":
        return [one.encode() if isinstance(one, str) else one for one in words(got)] == \
            [one.encode() if isinstance(one, str) else one for one in words(expected)]
    if expected.dtype.names:
        return got.shape == expected.shape and flat_fields(got) == flat_fields(expected)
    if got.dtype.kind not in ("M" if expected.dtype.kind == "M" else "biufc"):
        return False
    return got.shape == expected.shape and np.array_equal(got.astype(expected.dtype), expected,
                                                          equal_nan=expected.dtype.kind in "fc")


def flat_fields(values):
    if values.dtype.names:
        return [part for name in values.dtype.names for part in flat_fields(values[name])]
    return np.asarray(values).ravel().tolist()


def outcome(reader, store, path, expected, kind):
    try:
        with warnings.catch_warnings():
            # zarrs leaves what it cannot read to zarr-python.
            warnings.filterwarnings("error", "Array is unsupported by ZarrsCodecPipeline")
            got = READERS[reader](store, path)
    except pytest.skip.Exception:
        raise
    except Exception:  # each has its own ways to refuse
        return "no"
    if np.asarray(got).dtype.itemsize == 0:  # tensorstore's bytes have no form in NumPy
        return "no"
    assert same(got, expected, kind), f"{reader} reads {kind} as {got!r}"
    return "yes"


def found(stores, reader):
    folder, expected = stores
    said = {}
    for i, kind in enumerate(KINDS):
        said[kind] = outcome(reader, folder / "whole.zarr", f"d{i}", expected[kind], kind)
        forgotten = outcome(reader, folder / "forgotten.zarr", f"d{i}", expected[kind], kind)
        assert forgotten == said[kind], kind
    return said


def published():
    """The table's rows by kind: what is said of each reader."""
    rows = re.findall(r"^\| (.*) \| (yes|no) \| (yes|no) \| (yes|no) \|$", README.read_text(), re.M)
    return {kind: dict(zip(READERS, said)) for kind, *said in rows}


@pytest.mark.skipif(h5py.version.hdf5_version_tuple < (2,), reason="the table is of one set of readers' versions")
@pytest.mark.parametrize("reader", READERS)
def test_a_reader_gives_the_values_or_refuses_as_published(stores, reader):
    told = found(stores, reader)
    assert told == {kind: said[reader] for kind, said in published().items()}


@pytest.mark.skipif("H5ZARR_PRINT_READERS" not in os.environ, reason="it prints the table for README.md")
def test_print_the_table(stores):
    said = {reader: found(stores, reader) for reader in READERS}
    print("\n| | " + " | ".join(READERS) + " |\n|---" * (len(READERS) + 1) + "|")
    for kind in KINDS:
        print(f"| {kind} | " + " | ".join(said[reader][kind] for reader in READERS) + " |")
