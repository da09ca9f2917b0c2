"""What a program that has a store open sees of another process that writes it: old or new, whole, or an error."""
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from support import assert_equal, environment, run_python

SHAPE, CHUNKS = (40, 30), (10, 10)
SHARDED = {"shards": (20, 30), "chunks": CHUNKS}
LAYOUTS = {
    "v3": {"chunks": CHUNKS},
    "v3, plain": {"chunks": CHUNKS, "compressors": None},
    "v3, sharded": SHARDED,
    "v3, sharded, plain": SHARDED | {"compressors": None},
    "v2": {"chunks": CHUNKS, "zarr_format": 2},
    "v2, plain": {"chunks": CHUNKS, "zarr_format": 2, "compressors": None},
}
layouts = pytest.mark.parametrize("how", LAYOUTS.values(), ids=LAYOUTS)

BY_ZARR = """
import sys, zarr, numpy as np
a = zarr.open_array(sys.argv[1] + "/a", mode="r+")
"""


def make(store, how, dtype="i4", shape=SHAPE, fill=0, value=1):
    import zarr

    zarr.open_group(store, mode="a", zarr_format=how.get("zarr_format", 3))
    a = zarr.create_array(store, name="a", shape=shape, dtype=dtype, fill_value=fill, overwrite=True, **how)
    a[...] = value


def by_zarr(store, code):
    """Runs `code` on array `a`, opened by zarr-python in another process."""
    run_python(BY_ZARR + code, store, connector=None)


@pytest.fixture(params=LAYOUTS.values(), ids=LAYOUTS)
def open_array(request, store):
    """A dataset of ones, open for reading, and the way it is stored."""
    make(store, request.param)
    with h5py.File(store, "r") as f:
        yield f["a"], request.param


def test_elements_that_were_read_before_are_read_anew_once_they_changed(open_array):
    d, _ = open_array
    store = d.file.filename
    for selection in np.s_[3, 4], np.s_[2:5, :], np.s_[::3, 1], np.s_[...]:
        assert (d[selection] == 1).all()
    by_zarr(store, "a[...] = 2")
    for selection in np.s_[3, 4], np.s_[2:5, :], np.s_[::3, 1], np.s_[...]:
        assert (d[selection] == 2).all(), selection
    by_zarr(store, "a[:, 3] = 3")
    expected = np.full(SHAPE, 2)
    expected[:, 3] = 3
    assert_equal(d[...], expected.astype("i4"))
    assert d[3, 3] == 3 and d[3, 4] == 2


def test_what_was_fill_is_data_once_it_was_written(open_array):
    d, _ = open_array
    store = d.file.filename
    by_zarr(store, "a[...] = 0\na[0, 0] = 5")
    assert d[0, 0] == 5 and d[0, 15] == 0 and d[35, 5] == 0
    by_zarr(store, "a[0:10, 10:20] = 6\na[30:40, 0:10] = 7")
    assert d[0, 15] == 6 and d[35, 5] == 7
    by_zarr(store, "a[...] = 0")
    assert not d[...].any()


def chunk_files(store):
    return sorted(file for file in Path(store, "a").rglob("*") if file.is_file() and not file.name.startswith((".z", "zarr.")))


def put_beside(store, how):
    """The like of `store`, of twos."""
    beside = f"{store}-beside.zarr"
    make(beside, how, value=2)
    return beside


def replace_chunks(store, how):
    beside = put_beside(store, how)
    for old, new in zip(chunk_files(store), chunk_files(beside), strict=True):
        os.replace(new, old)


def rewrite_chunks_in_place(store, how):
    """Those without codecs differ by their time alone."""
    beside = put_beside(store, how)
    for old, new in zip(chunk_files(store), chunk_files(beside), strict=True):
        with open(old, "r+b") as file:
            file.write(new.read_bytes())
            file.truncate()


def swap_array(store, how):
    beside = put_beside(store, how)
    os.rename(Path(store, "a"), Path(f"{store}-old"))
    os.rename(Path(beside, "a"), Path(store, "a"))


def swap_store(store, how):
    beside = put_beside(store, how)
    os.rename(store, f"{store}-old.zarr")
    os.rename(beside, store)


def swap_folder_around(store, how):
    around = str(Path(store).parent)
    beside = put_beside(store, how)
    os.rename(around, f"{around}-old")
    os.mkdir(around)
    os.rename(f"{around}-old/{Path(beside).name}", store)


CHANGES = [replace_chunks, rewrite_chunks_in_place, swap_array, swap_store, swap_folder_around]


def read_until_kept(d):
    """Elements, and all, so often that chunks are kept for who reads them again; those of a moment ago are not."""
    moved_on = time.monotonic() + 0.02
    for count in itertools.count():
        if count >= 30 and time.monotonic() > moved_on:
            return
        assert d[3, 4] == 1 and (d[2:5, 3:9] == 1).all() and (d[...] == 1).all()


@pytest.mark.parametrize("change", CHANGES)
@layouts
def test_kept_chunks_are_read_anew_at_once_however_they_were_replaced(tmp_path, how, change):
    folder = tmp_path / "around"
    folder.mkdir()
    store = str(folder / "x.zarr")
    make(store, how)
    with h5py.File(store, "r") as f:
        d = f["a"]
        read_until_kept(d)
        change(store, how)  # by this very process: no time passes
        assert d[3, 4] == 2
        assert (d[2:5, 3:9] == 2).all() and (d[...] == 2).all()


@pytest.mark.parametrize("part", ["a", ""])
@layouts
def test_kept_chunks_are_not_read_once_their_array_is_gone(store, how, part):
    make(store, how)
    with h5py.File(store, "r") as f:
        d = f["a"]
        read_until_kept(d)
        shutil.rmtree(Path(store, part))
        for selection in np.s_[3, 4], np.s_[2:5, 3:9], np.s_[...]:
            with pytest.raises(OSError, match="removed"):
                d[selection]


@layouts
def test_kept_chunks_hold_no_file_open(store, how):
    make(store, how)
    with h5py.File(store, "r") as f:
        read_until_kept(f["a"])
        opened = [os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        assert not [path for path in opened if path.startswith(store)]


def test_a_writer_keeps_what_others_wrote_into_the_chunk_it_has_read(store):
    make(store, {"chunks": CHUNKS})
    with h5py.File(store, "r+") as f:
        d = f["a"]
        assert d[0, 0] == 1
        by_zarr(store, "a[1, 1] = 2")
        d[2, 2] = 3
        f.flush()
        assert [d[i, i] for i in range(4)] == [1, 2, 3, 1]
        by_zarr(store, "a[3, 3] = 4")
        assert [d[i, i] for i in range(4)] == [1, 2, 3, 4]
        d[0, 0] = 5
    with h5py.File(store, "r") as f:
        assert [f["a"][i, i] for i in range(4)] == [5, 2, 3, 4]


@layouts
def test_an_array_that_others_let_grow_shows_it_when_it_is_refreshed(store, how):
    make(store, how)
    with h5py.File(store, "r") as f:
        d = f["a"]
        assert d.shape == d.maxshape == SHAPE
        by_zarr(store, "a.resize((70, 45))\na[40:, :] = 2\na[:, 30:] = 3")
        assert d.shape == SHAPE
        assert (d[...] == 1).all()
        d.refresh()
        assert d.shape == d.maxshape == (70, 45)
        expected = np.ones((70, 45), "i4")
        expected[40:] = 2
        expected[:, 30:] = 3
        assert_equal(d[...], expected)
        by_zarr(store, "a.resize((7, 5))")
        d.refresh()
        assert d.shape == (7, 5)
        assert (d[...] == 1).all()


def test_a_scale_and_its_users_grow_together(store):
    import zarr

    def grown(n):
        root = zarr.open_group(store, mode="a")
        for name, value in ("time", np.arange(n)), ("t", np.arange(n) * 0.5):
            a = root[name] if name in root else root.create_array(
                name, shape=(n,), chunks=(4,), dtype=value.dtype, dimension_names=("time",))
            a.resize((n,))
            a[...] = value

    grown(5)
    with h5py.File(store, "r") as f:
        assert len(f["t"]) == 5 and f["t"].dims[0][0].name == "/time"
        grown(9)
        f["time"].refresh()
        f["t"].refresh()
        assert_equal(f["time"][...], np.arange(9))
        assert_equal(f["t"][...], np.arange(9) * 0.5)
        assert f["t"].dims[0][0].name == "/time"


def test_maximum_extents_of_a_foreign_array_are_its_extents_and_its_copy_may_grow(store, tmp_path):
    import zarr

    for name, shape in ("a", (9, 11)), ("small", (2, 0)):
        zarr.create_array(store, name=name, shape=shape, chunks=(4, 5), dtype="i4", fill_value=0)
    with h5py.File(store, "r") as f:
        assert f["a"].maxshape == (9, 11) and f["small"].maxshape == (4, 0)
        with h5py.File(tmp_path / "copy.zarr", "w") as g:
            f.copy("a", g)
            g["a"].resize((20, 30))
            assert g["a"].maxshape == (None, None)


# --- arrays that were replaced -------------------------------------------------------------------

REPLACE = """
import sys, json, zarr, numpy as np
how = {k: tuple(v) if isinstance(v, list) else v for k, v in json.loads(sys.argv[2]).items()}
value = how.pop("value")
zarr.create_array(sys.argv[1], name="a", overwrite=True, **how)[...] = value
"""

OTHERS = {
    "type": ({"dtype": "f4"}, "data type"),
    "byte order": ({"dtype": ">i4"}, "(data type|codecs)"),
    "shape": ({"shape": (30,), "chunks": (10,), "shards": None}, "shape"),
    "chunks": ({"chunks": (5, 15), "shards": None}, "chunk shape"),
    "codecs": ({"compressors": "zlib"}, "codecs"),
    "fill": ({"fill_value": 9}, "fill value"),
}


@layouts
@pytest.mark.parametrize("other", OTHERS)
def test_an_array_that_was_replaced_by_another_is_an_error_that_says_how(store, how, other):
    changes, says = OTHERS[other]
    how = {"shape": SHAPE, "dtype": "i4", "fill_value": 0} | how
    changes = dict(changes)
    if changes.get("compressors"):
        changes["compressors"] = [{"id": "zlib", "level": 1}] if "zarr_format" in how else [
            {"name": "gzip", "configuration": {"level": 1}}]
    if "zarr_format" not in how and other == "byte order":
        changes = {"dtype": "i4", "serializer": {"name": "bytes", "configuration": {"endian": "big"}}}
    new = {k: v for k, v in (how | changes).items() if v is not None or k == "compressors"}
    make(store, {k: v for k, v in how.items() if k not in ("shape", "dtype", "fill_value")})
    with h5py.File(store, "r") as f:
        d = f["a"]
        assert d[3, 4] == 1
        run_python(REPLACE, store, json.dumps(new | {"value": 2}), connector=None)
        for selection in np.s_[3, 4], np.s_[...]:
            with pytest.raises(OSError, match=f"array 'a' of .* was replaced while it was open: a/[.a-z]*: .*{says}"):
                d[selection]
        with pytest.raises(Exception, match="was replaced"):
            d.refresh()
    with h5py.File(store, "r") as f:
        assert (f["a"][...] == 2).all()


def test_a_replaced_array_is_not_written(store):
    import zarr

    make(store, {"chunks": CHUNKS})
    f = h5py.File(store, "r+")
    d = f["a"]
    d[0, 0] = 9
    how = {"shape": SHAPE, "dtype": "i2", "chunks": CHUNKS, "value": 2}
    run_python(REPLACE, store, json.dumps(how), connector=None)
    with pytest.raises(Exception, match="was replaced"):
        f.flush()
    with pytest.raises(Exception, match="was replaced"):
        d[...] = 3
    with pytest.raises(Exception, match="was replaced"):
        f.close()
    assert (zarr.open_array(store + "/a", mode="r")[...] == 2).all()
    make(store, {"chunks": CHUNKS})  # what was opened is there again
    f.close()
    assert zarr.open_array(store + "/a", mode="r")[0, 0] == 9


def test_an_array_that_was_replaced_by_one_like_it_is_read_on(open_array):
    d, how = open_array
    assert d[3, 4] == 1
    make(d.file.filename, how, value=2)
    assert d[3, 4] == 2
    assert (d[...] == 2).all()


# --- what is no replacement ----------------------------------------------------------------------

@layouts
def test_attributes_that_others_change_are_no_replacement(store, how):
    make(store, how)
    with h5py.File(store, "r") as f:
        d = f["a"]
        assert d[3, 4] == 1
        for i in range(3):
            by_zarr(store, f"a.attrs['x'] = {i}\na[0, 0] = {i}")
            assert d[0, 0] == i
            assert d[33, 4] == 1
        d.refresh()
        assert d.attrs["x"] == 2


FILTERS = [{}, {"chunks": (2, 3)}, {"compression": "gzip"},
           {"compression": "gzip", "shuffle": True, "fletcher32": True},
           {"fillvalue": 3}, {"compression": "lzf"}, {"scaleoffset": 4}, {"maxshape": (None, None)},
           {"compression": 480, "compression_opts": (1, 2, 2, 3, 3 | 3 << 8), "chunks": (4, 6)}]
TYPES = ["i4", ">f8", "?", "c8", "S3", "V4", h5py.string_dtype(), h5py.vlen_dtype("i2"), h5py.ref_dtype, "f2",
         np.dtype([("a", "i4"), ("b", "f8", (2,))]), h5py.enum_dtype({"X": 1}), np.dtype(("i4", (2,)))]


@pytest.mark.parametrize("settings", ["zarr", "zarr zarr_format=2", "zarr codec=zstd;shard=auto",
                                      "zarr compound=struct"])
def test_what_a_program_does_itself_is_no_replacement(store, settings):
    code = """
import os, sys, h5py, numpy as np
sys.path.insert(0, sys.argv[2])
from test_peers import FILTERS, TYPES
filters = FILTERS[:-1] if "zarr_format=2" in os.environ["HDF5_VOL_CONNECTOR"] else FILTERS  # v2 has no shards
with h5py.File(sys.argv[1], "w") as f:
    sets = [f.create_dataset(f"f{i}", (4, 6), "i4", **how) for i, how in enumerate(filters)]
    for i, dtype in enumerate(TYPES):
        sets.append(f.create_dataset(f"t{i}", (4, 6), dtype))
    for d in sets:
        for n in range(3):
            d.attrs["n"] = n
            if d.dtype.kind == "i":
                d[0, :3] = n
            f.flush()
            d[...]
            d[1, 2]
        if d.maxshape[0] is None:
            d.resize((9, 9)); d[...]; d.flush(); d[...]; d.resize((2, 3)); d[...]; d.flush(); d[...]
with h5py.File(sys.argv[1], "r+") as f:
    for d in f.values():
        before = d[...]
        d.attrs["n"] = 7
        f.flush()
        d[...]
        d[1, 2]
        d.refresh()
        d[1, 2]
        if d.dtype.kind == "i":
            d[0, 0] = 1
"""
    run_python(code, store, str(Path(__file__).parent), connector=settings)


def test_parts_of_a_store_and_other_handles_are_no_replacement(store):
    with h5py.File(store, "w") as f:
        f.create_dataset("g/a", (4, 6), "i4", chunks=(2, 3), maxshape=(None, None))[...] = 1
    with h5py.File(store, "r+") as f, h5py.File(store + "/g", "r+") as g:
        one, two = f["g/a"], g["a"]
        for n in range(4):
            one.attrs["n"] = n
            one[0, 0] = n
            f.flush()
            assert two[0, 0] == n
            two.resize((5 + n, 6))
            two[4 + n, 0] = n
            g.flush()
            assert one.shape == (5 + n, 6) and one[4 + n, 0] == n
            assert f["g/a"][...].shape == (5 + n, 6)


def test_a_shrunk_array_has_no_fill_in_the_place_of_what_it_lost(store):
    make(store, {"chunks": CHUNKS})
    with h5py.File(store, "r") as f:
        d = f["a"]
        assert d[35, 5] == 1
        by_zarr(store, "a.resize((20, 30))")
        assert d[15, 5] == 1
        with pytest.raises(OSError, match=r"has shrunk while it was open: a/zarr.json: shape \[20,30\], was \[40,30\]"):
            d[35, 5]
        d.refresh()
        assert d.shape == (20, 30)
        assert (d[...] == 1).all()


# --- at the same time ----------------------------------------------------------------------------

# Replaces chunk after chunk by those of the store's two states, as fast as it goes, until its input ends.
HAMMER = """
import os, sys, threading
root, states = sys.argv[1], sys.argv[2:]
files = [os.path.relpath(os.path.join(folder, name), states[0]) for folder, _, names in os.walk(states[0] + "/a")
         for name in names if name not in ("zarr.json", ".zarray", ".zattrs")]
bytes_of = [{name: open(os.path.join(state, name), "rb").read() for name in files} for state in states]
stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
print("ready", flush=True)
n = 0
while not stop.is_set():
    for name, content in bytes_of[n % len(states)].items():
        with open(os.path.join(root, "temporary"), "wb") as f:
            f.write(content)
        os.replace(os.path.join(root, "temporary"), os.path.join(root, name))
    n += 1
"""


class Hammer:
    """A process that does something to a store over and over."""

    def __init__(self, code, *arguments):
        self.process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=environment(None))

    def __enter__(self):
        assert self.process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0
        self.process.stdout.close()


def rounds(at_least, enough):
    """Counts rounds: so many, and on until enough() was seen; at most a minute."""
    end = time.monotonic() + 60
    for n in itertools.count():
        if n >= at_least and (enough() or time.monotonic() > end):
            return
        yield n


def pieces(values, chunks):
    """The parts of an array that are one object's, or one inner chunk's."""
    for row in range(0, values.shape[0], chunks[0]):
        for column in range(0, values.shape[1], chunks[1]):
            yield values[row:row + chunks[0], column:column + chunks[1]]


@layouts
def test_chunks_that_are_replaced_all_the_time_are_old_or_new_as_a_whole(store, tmp_path, how):
    states = [str(tmp_path / f"state{value}.zarr") for value in (1, 2)]
    for value, state in enumerate(states, 1):
        make(state, how, value=value)
    shutil.copytree(states[0], store)
    whole = how.get("shards", how["chunks"])
    seen = set()
    with h5py.File(store, "r") as f, Hammer(HAMMER, store, *states):
        d = f["a"]
        for n in rounds(300, lambda: seen == {1, 2}):
            for piece in pieces(d[...], whole):
                assert len(np.unique(piece)) == 1
                seen.add(int(piece.flat[0]))
            for piece in pieces(d[5:35, 3:27], (5, 7)):
                assert set(np.unique(piece)) <= {1, 2}
            assert d[n % 40, n % 30] in (1, 2)
    assert seen == {1, 2}
    with h5py.File(store, "r") as f:
        last = f["a"][...]
        assert_equal(f["a"][...], last)


REPLACER = """
import sys, threading, zarr
root, make = sys.argv[1], eval(sys.argv[2])
stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
print("ready", flush=True)
n = 0
while not stop.is_set():
    n += 1
    a = zarr.create_array(root, name="a", overwrite=True, shape=(40, 30), dtype=("f4", "i4")[n % 2], fill_value=1,
                          **make)
    a[...] = 1
"""


@layouts
def test_an_array_that_is_replaced_all_the_time_is_right_or_an_error(store, how):
    make(store, how, fill=1)
    outcomes = {"right": 0, "error": 0}
    with h5py.File(store, "r") as f:
        d = f["a"]
        with Hammer(REPLACER, store, repr(how)):
            for n in rounds(400, lambda: outcomes["error"]):
                try:
                    values = d[...] if n % 2 else d[n % 40]
                except OSError as error:
                    assert "was replaced while it was open" in str(error) or "has been removed" in str(error)
                    outcomes["error"] += 1
                else:
                    assert (values == 1).all(), values
                    outcomes["right"] += 1
    assert outcomes["error"] > 0
