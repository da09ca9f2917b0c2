"""Virtual datasets: in stores, over stores, and of native files. Every behaviour is that of HDF5 with
native files: the same steps run on both."""
import json
import os

import h5py
import numpy as np
import pytest

from support import run, run_python, tool
from virtual_support import H5, PAIRS, ZARR, both, make_sources, same, stacked

SELECTIONS = [
    np.s_[...], np.s_[0], np.s_[:, 3], np.s_[1:3, 2:9:3], np.s_[::2, ::4], np.s_[3, 5], np.s_[0:0],
    np.s_[[0, 2, 3], 1:4], np.s_[1, [0, 5, 6]],
]


@pytest.mark.parametrize("pair", PAIRS)
def test_any_selection_reads_the_sources(tmp_path, pair):
    def steps(folder, vds, source):
        make_sources(folder, source)
        path = os.path.join(folder, vds)
        with h5py.File(path, "w") as f:
            f.create_virtual_dataset("v", stacked(source), fillvalue=-1)
        with h5py.File(path) as f:
            return [f["v"][selection] for selection in SELECTIONS]

    native, tested = both(steps, tmp_path, pair)
    for one, other in zip(native, tested):
        same(one, other)


@pytest.mark.parametrize("pair", PAIRS)
def test_strided_and_irregular_mappings(tmp_path, pair):
    def steps(folder, vds, source):
        with h5py.File(os.path.join(folder, source("s")), "w") as f:
            f["data"] = np.arange(600).reshape(20, 30)
        layout = h5py.VirtualLayout((12, 14, 2), "i8")
        data = h5py.VirtualSource(source("s"), "data", shape=(20, 30))
        layout[::2, 1:13, 0] = data[2:14:2, 0:24:2]
        layout[1:4, 3:9, 1] = data[0:9:3, 4:10]
        layout[[5, 7, 8], 2:6, 1] = data[[1, 2, 19], 20:24]
        path = os.path.join(folder, vds)
        with h5py.File(path, "w") as f:
            f.create_virtual_dataset("v", layout, fillvalue=-7)
        with h5py.File(path) as f:
            v = f["v"]
            return [v[...], v[::3, ::2], v[2:9, 3:8, 1], v[:, 4], v[[1, 5, 8]], v[7, 3, 1]]

    native, tested = both(steps, tmp_path, pair)
    for one, other in zip(native, tested):
        same(one, other)


@pytest.mark.parametrize("pair", PAIRS)
def test_conversion_between_source_virtual_and_memory_types(tmp_path, pair):
    def steps(folder, vds, source):
        make_sources(folder, source)
        path = os.path.join(folder, vds)
        with h5py.File(path, "w") as f:
            f.create_virtual_dataset("v", stacked(source, dtype=">f8"), fillvalue=0.5)
        with h5py.File(path) as f:
            out = np.empty((4, 10), "u1")
            f["v"].read_direct(out)
            return [f["v"][...], f["v"].astype("f4")[1:3], out]

    native, tested = both(steps, tmp_path, pair)
    for one, other in zip(native, tested):
        assert one.dtype == other.dtype
        same(one, other)


@pytest.mark.parametrize("pair", PAIRS)
def test_missing_sources_and_gaps_are_fill(tmp_path, pair):
    def steps(folder, vds, source):
        make_sources(folder, source, count=2)
        with h5py.File(os.path.join(folder, source("s3")), "w") as f:
            f["other"] = 1
        layout = h5py.VirtualLayout((5, 10), "i4")
        for i in range(4):
            layout[i, :8] = h5py.VirtualSource(source(f"s{i}"), "data", shape=(10,))[1:9]
        path = os.path.join(folder, vds)
        with h5py.File(path, "w") as f:
            f.create_virtual_dataset("v", layout, fillvalue=-3)
        with h5py.File(path) as f:
            return f["v"][...]

    same(*both(steps, tmp_path, pair))


@pytest.mark.parametrize("pair", PAIRS)
def test_a_source_that_appears_later_is_read(tmp_path, pair):
    def steps(folder, vds, source):
        path = os.path.join(folder, vds)
        make_sources(folder, source, count=1)
        with h5py.File(path, "w") as f:
            f.create_virtual_dataset("v", stacked(source, count=2), fillvalue=-1)
        with h5py.File(path) as f:
            before = f["v"][...]
            with h5py.File(os.path.join(folder, source("s1")), "w") as s:
                s["data"] = np.arange(10, dtype="i4") + 50
            return before, f["v"][...]

    native, tested = both(steps, tmp_path, pair)
    for one, other in zip(native, tested):
        same(one, other)


@pytest.mark.parametrize("kind", [H5, ZARR])
def test_a_damaged_source_is_an_error(tmp_path, kind):
    make_sources(str(tmp_path), lambda stem: f"{stem}.{kind}", count=2)
    with h5py.File(tmp_path / "vds.zarr", "w") as f:
        f.create_virtual_dataset("v", stacked(lambda stem: f"{stem}.{kind}", count=2), fillvalue=-1)
    document = tmp_path / ("s1.zarr/data/zarr.json" if kind == ZARR else "s1.h5")
    document.write_bytes(b"{]" * 1000)
    with h5py.File(tmp_path / "vds.zarr") as f:
        assert f["v"][0, 3] == 3
        with pytest.raises(OSError):
            f["v"][...]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads what others may not")
def test_a_source_without_permission_is_an_error(tmp_path):
    make_sources(str(tmp_path), lambda stem: f"{stem}.h5", count=1)
    with h5py.File(tmp_path / "vds.zarr", "w") as f:
        f.create_virtual_dataset("v", stacked(lambda stem: f"{stem}.h5", count=1))
    os.chmod(tmp_path / "s0.h5", 0)
    with h5py.File(tmp_path / "vds.zarr") as f, pytest.raises(OSError):
        f["v"][...]


@pytest.mark.parametrize("pair", PAIRS)
def test_writes_go_to_the_sources(tmp_path, pair):
    def steps(folder, vds, source):
        make_sources(folder, source)
        path = os.path.join(folder, vds)
        with h5py.File(path, "w") as f:
            f.create_virtual_dataset("v", stacked(source), fillvalue=-1)
        with h5py.File(path, "r+") as f:
            before = f["v"][...]
            f["v"][1:3, 2:8:2] = [[1, 2, 3], [4, 5, 6]]
            f["v"][0] = 9.0
            after = f["v"][...]
        sources = []
        for i in range(4):
            with h5py.File(os.path.join(folder, source(f"s{i}"))) as f:
                sources.append(f["data"][...])
        return before, after, np.stack(sources)

    native, tested = both(steps, tmp_path, pair)
    for one, other in zip(native, tested):
        same(one, other)


@pytest.mark.parametrize("pair", PAIRS)
def test_a_write_that_no_mapping_covers_is_refused(tmp_path, pair):
    def steps(folder, vds, source):
        make_sources(folder, source, count=2)
        layout = h5py.VirtualLayout((3, 10), "i4")
        layout[0] = h5py.VirtualSource(source("s0"), "data", shape=(10,))
        layout[1] = h5py.VirtualSource(source("s1"), "data", shape=(10,))
        path = os.path.join(folder, vds)
        with h5py.File(path, "w") as f:
            f.create_virtual_dataset("v", layout)
        with h5py.File(path, "r+") as f:
            with pytest.raises(OSError, match="unmapped"):
                f["v"][...] = np.ones((3, 10), "i4")
            f["v"][:2] = np.ones((2, 10), "i4")
        with h5py.File(path) as f:
            with pytest.raises(OSError):
                f["v"][:2] = np.ones((2, 10), "i4")
            return f["v"][...]

    same(*both(steps, tmp_path, pair))


@pytest.mark.parametrize("pair", PAIRS)
def test_overlapping_mappings_the_last_wins(tmp_path, pair):
    def steps(folder, vds, source):
        make_sources(folder, source)
        layout = h5py.VirtualLayout((18,), "i4")
        for i, start in enumerate([4, 0, 8, 2]):
            layout[start:start + 10] = h5py.VirtualSource(source(f"s{i}"), "data", shape=(10,))
        path = os.path.join(folder, vds)
        with h5py.File(path, "w") as f:
            f.create_virtual_dataset("v", layout)
        with h5py.File(path) as f:
            return f["v"][...]

    same(*both(steps, tmp_path, pair))


MAPPINGS = """
import sys, h5py
with h5py.File(sys.argv[1]) as f:
    v = f["v"]
    print(v.is_virtual, v.shape, v.maxshape, v.dtype, v.fillvalue, dict(v.attrs))
    for m in v.virtual_sources():
        print(m.file_name, m.dset_name, m.vspace.shape, m.vspace.get_select_bounds(),
              m.src_space.get_select_npoints())
"""


def test_mappings_are_the_same_in_another_process(tmp_path):
    def steps(folder, vds, source):
        path = os.path.join(folder, vds)
        layout = h5py.VirtualLayout((6, 8), "<f4")
        data = h5py.VirtualSource(source("s"), "/g/data", shape=(20, 30))
        layout[0:2, ::2] = data[0:2, 0:4]
        layout[[3, 5], 2:6] = data[[4, 19], 7:11]
        layout[4, 1:8] = h5py.VirtualSource(".", "/own", shape=(8,))[1:8]
        with h5py.File(path, "w") as f:
            f["own"] = np.arange(8.0)
            v = f.create_virtual_dataset("v", layout, fillvalue=1.5)
            v.attrs["units"] = "mm"
        return run_python(MAPPINGS, path).replace(f"s.{ZARR}", "s").replace(f"s.{H5}", "s")

    native, tested = both(steps, tmp_path, (ZARR, ZARR))
    assert native == tested


def test_h5dump_shows_the_mappings_and_the_values(tmp_path):
    def steps(folder, vds, source):
        make_sources(folder, source)
        with h5py.File(os.path.join(folder, vds), "w") as f:
            f.create_virtual_dataset("v", stacked(source), fillvalue=-1)
        shown = run([tool("h5dump"), "-p", "-d", "/v", vds], cwd=folder)
        assert shown.returncode == 0, shown.stderr
        return shown.stdout.replace(f".{ZARR}", "").replace(f".{H5}", "")

    native, tested = both(steps, tmp_path, (ZARR, ZARR))
    assert native == tested


@pytest.mark.parametrize("zarr_format", ["3", "2"])
def test_a_zarr_reader_sees_a_group_and_no_made_up_values(tmp_path, zarr_format):
    run_python("""
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as f:
    f["data"] = np.arange(10)
    layout = h5py.VirtualLayout((10,), "i8")
    layout[...] = h5py.VirtualSource(f["data"])
    f.create_virtual_dataset("v", layout).attrs["a"] = 1
""", tmp_path / "s.zarr", connector=f"zarr zarr_format={zarr_format}")
    import zarr

    root = zarr.open_group(tmp_path / "s.zarr", mode="r")
    assert [name for name, _ in root.arrays()] == ["data"]
    group = root["v"]
    assert isinstance(group, zarr.Group) and group.attrs["a"] == 1
    assert group.attrs["_hdf5"]["kind"] == "virtual" and list(group) == []
    with h5py.File(tmp_path / "s.zarr") as f:
        assert list(f) == ["data", "v"] and np.array_equal(f["v"], np.arange(10))


PREFIXED = """
import sys, h5py
prefix = sys.argv[2].encode()
with h5py.File(sys.argv[1]) as f:
    dapl = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
    if prefix:
        dapl.set_virtual_prefix(prefix)
    print(h5py.Dataset(h5py.h5d.open(f.id, b"v", dapl))[0, :3].tolist())
"""


@pytest.mark.parametrize("pair", PAIRS)
def test_prefixes_are_looked_into(tmp_path, pair):
    def steps(folder, vds, source):
        for place, value in {"a": 1, "b/deep": 2}.items():
            os.makedirs(os.path.join(folder, place))
            with h5py.File(os.path.join(folder, place, source("s0")), "w") as f:
                f["data"] = np.full(10, value, "i4")
        path = os.path.join(folder, vds)
        with h5py.File(path, "w") as f:
            f.create_virtual_dataset("v", stacked(source, count=1), fillvalue=-1)
        a, b = os.path.join(folder, "a"), os.path.join(folder, "b")
        return [
            run_python(PREFIXED, path, ""),
            run_python(PREFIXED, path, a),
            run_python(PREFIXED, path, "${ORIGIN}/b/deep"),
            run_python(PREFIXED, path, "", HDF5_VDS_PREFIX=f"/nowhere:{b}/deep"),
            run_python(PREFIXED, path, a, HDF5_VDS_PREFIX="${ORIGIN}/b/deep"),
            run_python(PREFIXED, path, "", cwd=a),
        ]

    native, tested = both(steps, tmp_path, pair)
    assert native == tested


@pytest.mark.parametrize("pair", PAIRS)
def test_absolute_source_names(tmp_path, pair):
    def steps(folder, vds, source):
        os.mkdir(os.path.join(folder, "elsewhere"))
        make_sources(os.path.join(folder, "elsewhere"), source)
        path = os.path.join(folder, vds)
        with h5py.File(path, "w") as f:
            f.create_virtual_dataset(
                "v", stacked(lambda stem: os.path.join(folder, "elsewhere", source(stem))))
        with h5py.File(path) as f:
            return f["v"][...]

    same(*both(steps, tmp_path, pair))


@pytest.mark.parametrize("middle", [H5, ZARR])
@pytest.mark.parametrize("outer", [H5, ZARR])
def test_virtual_datasets_of_virtual_datasets(tmp_path, outer, middle):
    make_sources(str(tmp_path), lambda stem: f"{stem}.zarr")
    with h5py.File(tmp_path / f"middle.{middle}", "w") as f:
        f.create_virtual_dataset("data", stacked(lambda stem: f"{stem}.zarr"), fillvalue=-1)
    layout = h5py.VirtualLayout((10, 6), "i4")
    layout[:, 2:6] = h5py.VirtualSource(f"middle.{middle}", "data", shape=(4, 10))
    with h5py.File(tmp_path / f"outer.{outer}", "w") as f:
        f.create_virtual_dataset("v", layout, fillvalue=-2)
    expected = np.full((10, 6), -2, "i4")
    values = np.stack([np.arange(10) + 100 * i for i in range(4)])
    expected[:, 2:6] = values.reshape(10, 4)
    with h5py.File(tmp_path / f"outer.{outer}") as f:
        same(expected, f["v"][...])
        same(expected[3:9:2, 1:4], f["v"][3:9:2, 1:4])


def test_a_dataset_that_is_its_own_source_is_refused(tmp_path):
    layout = h5py.VirtualLayout((10,), "i4")
    layout[...] = h5py.VirtualSource(".", "v", shape=(10,))
    with h5py.File(tmp_path / "s.zarr", "w") as f:
        f.create_virtual_dataset("v", layout)
        with pytest.raises(OSError, match="source of itself"):
            f["v"][...]


@pytest.mark.parametrize("pair", PAIRS)
def test_strings_compounds_and_booleans(tmp_path, pair):
    compound = np.dtype([("n", "<i4"), ("x", "<f8")])
    columns = {
        "s": (np.array(["a", "", "äöü", "x" * 50], object), h5py.string_dtype(), None),
        "b": (np.array([b"ab", b"c", b"", b"abcde"], "S5"), "S5", None),
        "c": (np.array([(i, i / 2) for i in range(4)], compound), compound, None),
        "t": (np.array([True, False, True, True]), bool, True),
    }

    def steps(folder, vds, source):
        with h5py.File(os.path.join(folder, source("s")), "w") as f:
            for name, (values, dtype, _) in columns.items():
                f.create_dataset(name, data=values, dtype=dtype)
        path = os.path.join(folder, vds)
        with h5py.File(path, "w") as f:
            for name, (values, dtype, fill) in columns.items():
                layout = h5py.VirtualLayout((7,), dtype)
                layout[1:5] = h5py.VirtualSource(source("s"), name, shape=(4,))
                f.create_virtual_dataset(name, layout, fillvalue=fill)
        with h5py.File(path) as f:
            return [f[name][selection] for name in columns
                    for selection in (np.s_[...], np.s_[::2], np.s_[0:2], np.s_[5:])] + \
                [f["c"].fields("x")[...]]

    native, tested = both(steps, tmp_path, pair)
    for one, other in zip(native, tested):
        assert one.tolist() == other.tolist()


def test_sequences_of_variable_length(tmp_path):
    def steps(folder, vds, source):
        path = os.path.join(folder, vds)
        with h5py.File(path, "w") as f:
            d = f.create_dataset("d", (3,), h5py.vlen_dtype("i4"))
            for i in range(3):
                d[i] = np.arange(i + 1)
            layout = h5py.VirtualLayout((5,), h5py.vlen_dtype("i4"))
            layout[1:4] = h5py.VirtualSource(".", "d", shape=(3,))
            f.create_virtual_dataset("v", layout)
        with h5py.File(path) as f:
            return [list(one) for one in f["v"][...]]

    native, tested = both(steps, tmp_path, (ZARR, ZARR))
    assert native == tested


def test_empty_and_scalar_virtual_datasets(tmp_path):
    def steps(folder, vds, source):
        path = os.path.join(folder, vds)
        with h5py.File(path, "w") as f:
            f["one"] = 5
            empty = h5py.VirtualLayout((0, 3), "i4")
            f.create_virtual_dataset("empty", empty)
            f.create_virtual_dataset("nothing", h5py.VirtualLayout((3,), "i4"), fillvalue=4)
        with h5py.File(path) as f:
            return [f["empty"][...], f["nothing"][...], np.array(f["empty"].shape),
                    np.array(f["nothing"].is_virtual)]

    native, tested = both(steps, tmp_path, (ZARR, ZARR))
    for one, other in zip(native, tested):
        same(one, other)


def test_a_source_of_another_rank_is_an_error(tmp_path):
    with h5py.File(tmp_path / "s.zarr", "w") as f:
        f["data"] = np.zeros((5, 4), "i4")
        layout = h5py.VirtualLayout((10,), "i4")
        layout[...] = h5py.VirtualSource(".", "data", shape=(20,))[2:12]
        f.create_virtual_dataset("v", layout)
        with pytest.raises(OSError, match="dimensions"):
            f["v"][...]


def test_a_source_that_shrank_is_an_error(tmp_path):
    """HDF5 itself reads beyond the source's end there."""
    with h5py.File(tmp_path / "s.zarr", "w") as f:
        f.create_dataset("data", data=np.arange(10), chunks=(4,), maxshape=(None,))
        layout = h5py.VirtualLayout((8,), "i8")
        layout[...] = h5py.VirtualSource(f["data"])[2:10]
        f.create_virtual_dataset("v", layout)
        f["data"].resize((6,))
        with pytest.raises(OSError, match="extent is 6"):
            f["v"][...]
        assert f["v"][1:4].tolist() == [3, 4, 5]


@pytest.mark.parametrize("pair", [(ZARR, ZARR), (H5, ZARR), (ZARR, H5)])
def test_copies_keep_the_mappings(tmp_path, pair):
    """From a file of the first kind to one of the second."""
    first, second = tmp_path / f"first.{pair[0]}", tmp_path / f"second.{pair[1]}"
    make_sources(str(tmp_path), lambda stem: f"{stem}.zarr")
    with h5py.File(first, "w") as f:
        f["g/own"] = np.arange(10, dtype="i4")
        layout = h5py.VirtualLayout((2, 10), "i4")
        layout[0] = h5py.VirtualSource("s1.zarr", "data", shape=(10,))
        layout[1] = h5py.VirtualSource(".", "/g/own", shape=(10,))
        f["g"].create_virtual_dataset("v", layout, fillvalue=-1).attrs["a"] = "text"
        f.copy("g", "h")
        expected = f["g/v"][...]
        assert expected[0, 3] == 103 and expected[1, 3] == 3
        with h5py.File(second, "w") as target:
            f.copy("g", target)
    with h5py.File(first) as f, h5py.File(second) as target:
        for v in (f["h/v"], target["g/v"]):
            assert v.is_virtual and len(v.virtual_sources()) == 2 and v.attrs["a"] == "text"
            same(expected, v[...])


def test_h5repack_gives_what_it_gives_of_native_files(tmp_path):
    def steps(folder, vds, source):
        make_sources(folder, source)
        with h5py.File(os.path.join(folder, vds), "w") as f:
            f.create_virtual_dataset("v", stacked(source), fillvalue=-1)
        done = run([tool("h5repack"), vds, "copy.h5"], cwd=folder)
        assert done.returncode == 0, done.stderr
        with h5py.File(os.path.join(folder, "copy.h5")) as f:
            return f["v"][...]

    same(*both(steps, tmp_path, (ZARR, ZARR)))


def test_resizing_a_virtual_dataset(tmp_path):
    def steps(folder, vds, source):
        make_sources(folder, source, count=1)
        path = os.path.join(folder, vds)
        with h5py.File(path, "w") as f:
            layout = h5py.VirtualLayout((12,), "i4", maxshape=(None,))
            layout[1:11] = h5py.VirtualSource(source("s0"), "data", shape=(10,))
            v = f.create_virtual_dataset("v", layout, fillvalue=-1)
            v.id.set_extent((14,))
            shown = v[...]
            with pytest.raises(RuntimeError):
                v.id.set_extent((5,))
        with h5py.File(path) as f:
            return shown, f["v"][...]

    native, tested = both(steps, tmp_path, (ZARR, ZARR))
    for one, other in zip(native, tested):
        same(one, other)


MANY = """
import sys, time, h5py, numpy as np
path = sys.argv[1]
with h5py.File(path, "w") as f:
    f.create_dataset("raw", data=np.arange(10000 * 4).reshape(10000, 4), chunks=(100, 4))
    layout = h5py.VirtualLayout((10000, 4), "i8")
    source = h5py.VirtualSource(".", "raw", shape=(10000, 4))
    for i in range(10000):
        layout[i] = source[9999 - i]
    f.create_virtual_dataset("v", layout)
start = time.perf_counter()
with h5py.File(path) as f:
    assert f["v"][1234, 2] == (9999 - 1234) * 4 + 2
    one = time.perf_counter() - start
    assert np.array_equal(f["v"][...], f["raw"][...][::-1])
print(one, time.perf_counter() - start)
"""


def test_ten_thousand_mappings_are_read_about_as_fast_as_by_hdf5(tmp_path):
    native = [float(word) for word in run_python(MANY, tmp_path / "s.h5").split()]
    tested = [float(word) for word in run_python(MANY, tmp_path / "s.zarr").split()]
    print("open and one element, and all: native", native, "store", tested)
    assert tested[0] < 5 * native[0] + 0.5 and tested[1] < 2 * native[1] + 0.5


@pytest.mark.parametrize("change", [
    {"shape": "x"}, {"shape": [2]}, {"maxshape": [1]}, {"mappings": 5}, {"type": "H5T_NONE"},
    {"mappings": [{"file": "."}]},
    {"mappings": [{"file": ".", "dataset": "d", "source": {"start": [1 << 70]}, "target": {"all": [4]}}]},
    {"mappings": [{"file": ".", "dataset": "d", "source": {"start": [0], "block": [9]},
                   "target": {"all": [4]}}]},
    {"mappings": [{"file": ".", "dataset": "d", "source": {"blocks": [[3, 1]]},
                   "target": {"all": [4]}}]},
    {"mappings": [{"file": ".", "dataset": "d", "source": {"start": [0], "count": [0]},
                   "target": {"none": [4]}}]},
])
def test_damaged_mappings_are_an_error_and_the_rest_opens(tmp_path, change):
    with h5py.File(tmp_path / "s.zarr", "w") as f:
        f["data"] = np.arange(4)
        layout = h5py.VirtualLayout((4,), "i8")
        layout[...] = h5py.VirtualSource(f["data"])
        f.create_virtual_dataset("v", layout)
    path = tmp_path / "s.zarr/v/zarr.json"
    document = json.loads(path.read_text())
    document["attributes"]["_hdf5"].update(change)
    path.write_text(json.dumps(document))
    with h5py.File(tmp_path / "s.zarr") as f:
        assert list(f) == ["data", "v"] and f["data"][3] == 3
        with pytest.raises((KeyError, OSError)):
            f["v"]


@pytest.mark.parametrize("middle", [H5, ZARR])
@pytest.mark.parametrize("pair", PAIRS)
def test_sources_lie_behind_external_links(tmp_path, pair, middle):
    def steps(folder, vds, source):
        between = f"between.{H5 if source('x') == 'x.h5' and vds == 'vds.h5' else middle}"
        with h5py.File(os.path.join(folder, source("far")), "w") as f:
            f["g/h/data"] = np.arange(10, dtype="i4")
            f["g/soft"] = h5py.SoftLink("/g/h")
        with h5py.File(os.path.join(folder, between), "w") as f:
            f["a/link"] = h5py.ExternalLink(source("far"), "/g")
        layout = h5py.VirtualLayout((3, 10), "i4")
        for row, (file, name) in enumerate([(between, "a/link/h/data"), (between, "a/link/soft/data"),
                                            (".", "own/h/data")]):
            layout[row] = h5py.VirtualSource(file, name, (10,), "i4")
        with h5py.File(os.path.join(folder, vds), "w") as f:
            f["own"] = h5py.ExternalLink(source("far"), "/g")
            f.create_virtual_dataset("v", layout, fillvalue=-1)
        with h5py.File(os.path.join(folder, vds), "r") as f:
            return f["v"][...]

    same(*both(steps, tmp_path, pair))
