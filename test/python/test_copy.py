"""H5Ocopy within and between stores and HDF5 files: every kind of object arrives with its values."""
import ctypes
import gzip
import json
import os
import re
import zlib

import h5py
import numpy as np
import pytest
from h5py import h5r, h5t

import memory
from libhdf5 import HID, LIB, call
from support import run, run_python, tool

KINDS = [".zarr", ".h5"]
both_ways = [(a, b) for a in KINDS for b in KINDS]


def fill(g):
    """One of each kind of dataset, attribute and link that both forms can hold."""
    g.attrs["s"], g.attrs["n"] = "text", np.arange(3)
    g.create_dataset("num", data=np.arange(60.0).reshape(6, 10), chunks=(4, 3), compression="gzip", shuffle=True,
                     maxshape=(None, 10)).attrs["u"] = "mm"
    g.create_dataset("contiguous", data=np.arange(7, dtype=">i2"))
    g.create_dataset("scalar", data=3.5)
    g.create_dataset("str", data=["a", "bcd", "é"], dtype=h5py.string_dtype())
    g.create_dataset("fixed", data=np.array([b"ab", b"cde"]))
    g.create_dataset("compound", data=np.array([(1, 2.5, b"x"), (3, 4.5, b"yz")],
                                               dtype=[("i", "i4"), ("f", "f8"), ("s", "S3")]))
    g["compound"].attrs["c"] = np.array([(1, 2)], dtype=[("a", "i1"), ("b", "i8")])
    g.create_dataset("vlen", (3,), dtype=h5py.vlen_dtype("i4"))[0] = [1, 2]
    g.create_dataset("named", data=np.array([("q", 1), ("rr", 2)], dtype=[("name", h5py.string_dtype()), ("v", "f4")]))
    g.create_dataset("enum", data=np.array([0, 1, 1], dtype=h5py.enum_dtype({"A": 0, "B": 1}, "i1")))
    g.create_dataset("bool", data=np.array([True, False]))
    g.create_dataset("opaque", data=np.array([b"ab", b"cd"], dtype="V2"))
    g.create_dataset("complex", data=np.array([1 + 2j]))
    g["array"] = np.array([([1, 2],)], dtype=[("a", "(2,)i4")])
    g.create_dataset("null", data=h5py.Empty("f4"))
    g.create_dataset("empty", shape=(0, 3), maxshape=(None, 3), dtype="i4")
    g.create_dataset("no data", shape=(5, 5), chunks=(2, 2), fillvalue=7, dtype="i4")
    g["sub/deep/x"] = np.arange(4)
    g["sub"].attrs["e"] = h5py.Empty("i4")
    g["hard"] = g["num"]
    g["type"] = np.dtype("f8")


def plain(value):
    return repr(value.tolist() if hasattr(value, "tolist") else value)


def described(group):
    seen = {}

    def look(name, item):
        attributes = {key: plain(value) for key, value in item.attrs.items()}
        if isinstance(item, h5py.Dataset):
            seen[name] = (item.shape, item.maxshape, str(item.dtype), item.chunks, item.compression, item.shuffle,
                          plain(item[()]), attributes)
        elif isinstance(item, h5py.Group):
            seen[name] = (sorted(item), attributes)
        else:
            seen[name] = str(item.dtype)

    group.visititems(look)
    return seen


@pytest.mark.parametrize("source, target", both_ways)
def test_copying_a_group_of_everything(tmp_path, source, target):
    with h5py.File(tmp_path / ("s" + source), "w") as s:
        fill(s.create_group("g"))
    with h5py.File(tmp_path / ("s" + source), "r") as s, h5py.File(tmp_path / ("t" + target), "w") as t:
        s.copy("g", t, name="q")
        assert described(t["q"]) == described(s["g"])
        t.copy("q/num", "one")
        s.copy(s["g/compound"], t)
    with h5py.File(tmp_path / ("s" + source), "r") as s, h5py.File(tmp_path / ("t" + target), "r") as t:
        assert described(t["q"]) == described(s["g"])
        assert t["q/hard"] == t["q/num"] and dict(t["q"].attrs)["s"] == "text"
        assert (t["one"][:] == s["g/num"][:]).all() and (t["compound"][:] == s["g/compound"][:]).all()


@pytest.mark.parametrize("source, target", both_ways)
def test_copying_what_was_not_saved_yet(tmp_path, source, target):
    with h5py.File(tmp_path / ("s" + source), "w") as s, h5py.File(tmp_path / ("t" + target), "w") as t:
        fill(s.create_group("g"))
        s.copy("g", s, name="g2")
        s.copy("g", t, name="w")
        expected = described(s["g"])
        s["g/num"][0, 0] = -1
        assert described(s["g2"]) == expected and described(t["w"]) == expected


@pytest.mark.parametrize("source, target", both_ways)
def test_flags(tmp_path, source, target):
    with h5py.File(tmp_path / ("s" + source), "w") as s:
        s["g/sub/deep/x"] = np.arange(4)
        s["g/v"] = 5
        s["g"].attrs["a"] = 1
    with h5py.File(tmp_path / ("s" + source), "r") as s, h5py.File(tmp_path / ("t" + target), "w") as t:
        s.copy("g", t, name="shallow", shallow=True)
        s.copy("g", t, name="bare", without_attrs=True)
    with h5py.File(tmp_path / ("t" + target), "r") as t:
        assert list(t["shallow/sub"]) == [] and t["shallow/v"][()] == 5
        assert dict(t["bare"].attrs) == {} and t["bare/sub/deep/x"][3] == 3


def test_large_and_variable_data_both_ways(tmp_path):
    rows = np.empty(500, dtype=[("n", h5py.string_dtype()), ("v", h5py.vlen_dtype("i4"))])
    for i in range(len(rows)):
        rows[i] = (f"n{i}", np.arange(i % 7, dtype="i4"))
    with h5py.File(tmp_path / "a.zarr", "w") as a, h5py.File(tmp_path / "b.h5", "w") as b:
        a.create_dataset("s", data=["x" * i for i in range(2000)], dtype=h5py.string_dtype())
        a.create_dataset("big", data=np.arange(3_000_000.0), chunks=(70_001,), compression="gzip", compression_opts=1)
        a["rows"] = rows
        for name in a:
            a.copy(name, b)
    with h5py.File(tmp_path / "b.h5", "r") as b, h5py.File(tmp_path / "c.zarr", "w") as c:
        for name in b:
            b.copy(name, c)
    with h5py.File(tmp_path / "a.zarr", "r") as a, h5py.File(tmp_path / "c.zarr", "r") as c:
        assert (a["s"][:] == c["s"][:]).all() and (a["big"][:] == c["big"][:]).all()
        assert [(n, v.tolist()) for n, v in c["rows"][:]] == [(n, v.tolist()) for n, v in a["rows"][:]]


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("order", [False, True])
def test_large_attributes_and_links_of_an_hdf5_file_arrive_whole(tmp_path, libver, order):
    """HDF5 writes them as it does elements, of which it copies some MiB in between."""
    most = 200_000 if libver == "latest" else 60_000  # bytes of an attribute
    names = ["a", "é" * 90, "n" * 300]
    with h5py.File(tmp_path / "x.h5", "w", libver=libver) as f, h5py.File(tmp_path / "y.zarr", "w") as g:
        f["type"] = np.dtype("f4")
        source = f.create_group("g", track_order=order)
        for what in (source, source.create_dataset("d", data=np.arange(1 << 20), chunks=(1 << 14,), track_order=order)):
            for number, elems in enumerate([1, 500, 600, 3000, most // 8 - 100, 513, 4096, 5000, 6000, 7000]):
                for name in names:
                    what.attrs[f"{name}{number}"] = np.arange(elems) + number
            what.attrs["text"] = ["x" * 9000, "", "y"]
            what.attrs.create("typed", np.arange(2000, dtype="f4"), dtype=f["type"])
        source["hard" * 1500] = source["d"]
        source["soft" * 1200] = h5py.SoftLink("/g/" + "z" * 7000)
        source["external" * 700] = h5py.ExternalLink("none.h5", "/" + "e" * 5000)
        for number in range(12):
            source.create_group(f"{number}")
        f.copy("g", g)
        f.copy("g/d", g, name="alone")
        for copy in (g["g"], g["g/d"], g["alone"]):
            original = source if isinstance(copy, h5py.Group) else source["d"]
            assert sorted(copy.attrs) == sorted(original.attrs)
            for name, value in original.attrs.items():
                assert np.array_equal(copy.attrs[name], value), (copy, name)
    with h5py.File(tmp_path / "x.h5") as f, h5py.File(tmp_path / "y.zarr") as g:
        assert list(g["g"]) == list(f["g"])
        assert g["g"].get("soft" * 1200, getlink=True).path == "/g/" + "z" * 7000
        assert g["g"].get("external" * 700, getlink=True).path == "/" + "e" * 5000
        assert g["g"]["hard" * 1500] == g["g/d"] and (g["g/d"][...] == np.arange(1 << 20)).all()
        assert all(np.array_equal(g["g/d"].attrs[name], value) for name, value in f["g/d"].attrs.items())


def test_copies_that_cannot_be_are_refused(store):
    with h5py.File(store, "w") as f:
        f["x"], f["y"] = np.arange(5), np.zeros(3)
        for source, target in (("x", "y"), ("none", "z")):
            with pytest.raises((KeyError, RuntimeError, ValueError, OSError)):
                f.copy(source, target)
    with h5py.File(store, "r") as f:
        assert sorted(f) == ["x", "y"] and f["y"].shape == (3,)


def test_copies_mix_with_moves_and_resizing(store):
    with h5py.File(store, "w") as f:
        x = f.create_dataset("x", data=np.arange(100), chunks=(10,), maxshape=(None,))
        f.copy("x", "y")
        x.resize((50,))
        x[49] = 1
        f.copy("x", "z")
        f.move("x", "w")
        x.resize((60,))
        del f["y"]
        f.copy("w", "y")
        x[:] = 5
    with h5py.File(store, "r") as f:
        assert f["w"][...].tolist() == [5] * 60
        assert f["z"].shape == (50,) and f["z"][49] == 1
        assert f["y"][...].tolist() == [*range(49), 1, *[0] * 10]


def build_linked(folder, source):
    """A source whose links and references lead everywhere; its own file and `far` are closed again."""
    with h5py.File(folder / ("far" + source), "w") as f:
        f["d"], f["g/x"], f["g/deep/y"] = np.arange(9), np.arange(4.0), np.arange(2)
        f["g"].attrs["far"] = 1
        f["g/in"] = h5py.SoftLink("/g/deep")
    with h5py.File(folder / ("s" + source), "w") as f:
        f["g/ext"] = h5py.ExternalLink("far" + source, "/d")
        f["g/extgroup"] = h5py.ExternalLink("far" + source, "/g")
        f["g/soft"] = h5py.SoftLink("/other/z")
        f["g/softgroup"] = h5py.SoftLink("/other")
        f["g/through"] = h5py.SoftLink("/g/extgroup/deep")
        f["g/dead"] = h5py.SoftLink("/none")
        f["g/deadext"] = h5py.ExternalLink("none.h5", "/d")
        f["g/own"] = np.arange(6)
        f["other/z"] = np.arange(3, dtype="i2")
        f["other"].attrs["o"] = "text"


def links_of(group):
    return {name: type(group.get(name, getlink=True)).__name__ for name in group}


@pytest.mark.parametrize("flags", [{"expand_soft": True}, {"expand_external": True}, {"expand_soft": True, "expand_external": True},
                                   {"expand_soft": True, "expand_external": True, "shallow": True}, {}])
@pytest.mark.parametrize("source, target", [pair for pair in both_ways if pair != (".h5", ".h5")])
def test_links_are_expanded_as_in_hdf5(tmp_path, source, target, flags):
    seen = []
    for name, a, b in (("ours", source, target), ("native", ".h5", ".h5")):
        os.makedirs(tmp_path / name)
        build_linked(tmp_path / name, a)
        with h5py.File(tmp_path / name / ("s" + a), "r") as s, h5py.File(tmp_path / name / ("t" + b), "w") as t:
            s.copy("g", t, name="q", **flags)
            seen.append((links_of(t["q"]), described(t["q"])))
        for link in ("far", "s"):  # nothing may lead back
            os.rename(tmp_path / name / (link + a), tmp_path / name / (link + "gone"))
        with h5py.File(tmp_path / name / ("t" + b), "r") as t:
            seen.append((links_of(t["q"]), described(t["q"])))
    assert seen[0] == seen[2] and seen[1] == seen[3]


@pytest.mark.parametrize("parent, linked, target", [(".h5", ".zarr", ".h5"), (".h5", ".zarr", ".zarr"), (".zarr", ".h5", ".zarr"), (".zarr", ".h5", ".h5")])
def test_links_into_the_other_form_are_expanded(tmp_path, parent, linked, target):
    with h5py.File(tmp_path / ("far" + linked), "w") as f:
        f["g/deep/x"] = np.arange(9)
    with h5py.File(tmp_path / ("s" + parent), "w") as f:
        f["g/own"] = np.arange(3)
        f["g/ext"] = h5py.ExternalLink("far" + linked, "/g")
    with h5py.File(tmp_path / ("s" + parent), "r") as s, h5py.File(tmp_path / ("t" + target), "w") as t:
        s.copy("g", t, expand_external=True)
    with h5py.File(tmp_path / ("t" + target), "r") as t:
        assert t["g/ext/deep/x"][...].tolist() == list(range(9)) and t["g/own"][2] == 2


def build_references(path):
    with h5py.File(path, "w") as f:
        f["g/a"], f["out/b"] = np.arange(3), np.arange(4)
        f["out/b"].attrs["back"] = f["g/a"].ref
        f["g"].attrs["to"] = f["out/b"].ref
        f["g/a"].attrs["both"] = np.array([f["g/a"].ref, f["out/b"].ref], dtype=h5py.ref_dtype)
        f.create_dataset("g/refs", data=[f["g/a"].ref, f["out/b"].ref, f["out"].ref], dtype=h5py.ref_dtype)
        f.create_dataset("g/null", (2,), dtype=h5py.ref_dtype)


def led_to(f, reference):
    if not reference:
        return None
    item = f[reference]
    return item[...].tolist() if isinstance(item, h5py.Dataset) else sorted(item)


@pytest.mark.parametrize("expand", [True, False])
@pytest.mark.parametrize("source, target", [pair for pair in both_ways if pair != (".h5", ".h5")] + [(".zarr", None)])
def test_references_are_expanded_or_dropped_as_in_hdf5(tmp_path, source, target, expand):
    seen = []
    for name, a, b in (("ours", source, target), ("native", ".h5", target and ".h5")):
        os.makedirs(tmp_path / name)
        build_references(tmp_path / name / ("s" + a))
        last = tmp_path / name / (("t" + b) if b else "s" + a)
        with h5py.File(tmp_path / name / ("s" + a), "r" if b else "r+") as s:
            if b:
                with h5py.File(last, "w") as t:
                    s.copy("g", t, name="q", expand_refs=expand)
            else:
                s.copy("g", s, name="q", expand_refs=expand)
        with h5py.File(last, "r") as t:
            q = t["q"]
            seen.append(([led_to(t, r) for r in q["refs"][...]], [led_to(t, r) for r in q["null"][...]],
                         led_to(t, q.attrs["to"]), [led_to(t, r) for r in q["a"].attrs["both"]],
                         expand and t[q["refs"][0]] == q["a"],
                         expand and led_to(t, t[q["refs"][1]].attrs["back"]),
                         sum(key.startswith("~obj_pointed_by_") for key in t) > 0))
    assert seen[0] == seen[1]


def std_ref_type():
    LIB.H5Tcopy.restype = HID
    return h5t.TypeID(LIB.H5Tcopy(HID.in_dll(LIB, "H5T_STD_REF_g")))


def build_regions(path):
    """References of every kind but plain ones, to what is copied, to what is not, and to nothing."""
    with h5py.File(path, "w") as f:
        inner, outer = f.create_dataset("g/a", data=np.arange(12).reshape(3, 4)), f.create_dataset("out/b", data=np.arange(4))
        outer.attrs["units"] = "mm"
        points = h5py.h5s.create_simple((3, 4))
        points.select_elements(np.array([[0, 1], [2, 3]], "u8"))
        regions = [inner.regionref[1:, ::2], outer.regionref[1:3], h5py.RegionReference(),
                   h5r.create(inner.id, b".", h5r.DATASET_REGION, points)]
        f["g"].create_dataset("regions", data=regions, dtype=h5py.regionref_dtype)
        f["g"].attrs.create("regions", regions, dtype=h5py.regionref_dtype)
        row = np.dtype([("n", "<i4"), ("r", h5py.regionref_dtype), ("o", h5py.ref_dtype)])
        f["g"].create_dataset("rows", (2,), row)[0] = (5, regions[1], outer.ref)
        made, space = std_ref_type(), h5py.h5s.create_simple((4,))
        buffer = ctypes.create_string_buffer(4 * memory.STD_REF_BYTES)
        block = h5py.h5s.create_simple((4,))
        block.select_hyperslab((0,), (2,), (2,))
        start = ctypes.addressof(buffer)
        for i, (name, *more) in enumerate((("H5Rcreate_object", b"/out/b"), ("H5Rcreate_region", b"/out/b", HID(block.id)),
                                           ("H5Rcreate_attr", b"/out/b", b"units"))):
            call(name, HID(f.id.id), *more, HID(0), ctypes.c_void_p(start + i * memory.STD_REF_BYTES))
        dataset = h5py.h5d.create(f["g"].id, b"std", made, space)
        memory.write("H5Dwrite", dataset.id, made, buffer)
        attribute = h5py.h5a.create(f["g"].id, b"std", made, space)
        memory.write("H5Awrite", attribute.id, made, buffer)


def renamed(value):
    """The names of what was copied along tell where it lay in its file."""
    return re.sub(r"~obj_pointed_by_\d+", "~copied", str(value))


@pytest.mark.parametrize("expand", [True, False])
@pytest.mark.parametrize("source, target", [pair for pair in both_ways if pair != (".h5", ".h5")])
def test_references_to_regions_and_attributes_are_expanded_or_dropped_as_in_hdf5(tmp_path, source, target, expand):
    seen, rows = [], []
    for name, a, b in (("ours", source, target), ("native", ".h5", ".h5")):
        os.makedirs(tmp_path / name)
        build_regions(tmp_path / name / ("s" + a))
        with h5py.File(tmp_path / name / ("s" + a), "r") as s, h5py.File(tmp_path / name / ("t" + b), "w") as t:
            s.copy("g", t, name="q", expand_refs=expand)
        os.rename(tmp_path / name / ("s" + a), tmp_path / name / "gone")
        with h5py.File(tmp_path / name / ("t" + b), "r") as t:
            said = {"datasets": {}, "attributes": {}}
            for item in ("regions", "std"):
                dataset = t["q"][item]
                said["datasets"][item] = renamed(memory.read("H5Dread", dataset.id.id, dataset.size, dataset.id.get_type(), t))
            for item in ("regions", "std"):
                attribute = h5py.h5a.open(t["q"].id, item.encode())
                said["attributes"][item] = renamed(memory.read("H5Aread", attribute.id, 4, attribute.get_type(), t))
            seen.append(said)
            dataset = t["q/rows"]
            rows.append(renamed(memory.read("H5Dread", dataset.id.id, 2, dataset.id.get_type(), t)))
    assert seen[0] == seen[1]
    assert ("select" in seen[0]["datasets"]["regions"]) == expand
    # HDF5 itself leaves references among members of compounds as they were: they lead anywhere.
    assert ("['region', \"b'/~copied'\", ['selects', 2, [4], [[[1], [2]]]]]" in rows[0]) == expand
    assert ("['object', \"b'/~copied'\"]" in rows[0]) == expand


MERGE, PRESERVE_NULL = 0x40, 0x20  # H5O_COPY_…_FLAG


def build_committed(path, values):
    with h5py.File(path, "w") as f:
        f["types/point"] = np.dtype([("x", "<f8"), ("y", "<f8")])
        f["types/number"] = np.dtype("<i4")
        f["g/data"] = f["types"].create_dataset("d", data=np.arange(values, dtype="<i4"), dtype=f["types/number"])
        f["g"].create_dataset("points", (2,), f["types/point"])
        f["g/data"].attrs.create("n", 7, dtype=f["types/number"])
        f["g/own"] = np.dtype("<u2")


@pytest.mark.parametrize("flags", [MERGE, MERGE | PRESERVE_NULL, PRESERVE_NULL, 0])
@pytest.mark.parametrize("source, target", [pair for pair in both_ways if pair != (".h5", ".h5")])
def test_committed_types_are_merged_as_in_hdf5(tmp_path, source, target, flags):
    seen = []
    for name, a, b in (("ours", source, target), ("native", ".h5", ".h5")):
        os.makedirs(tmp_path / name)
        build_committed(tmp_path / name / ("s" + a), 5)
        build_committed(tmp_path / name / ("t" + b), 3)
        plist = h5py.h5p.create(h5py.h5p.OBJECT_COPY)
        plist.set_copy_object(flags)
        with h5py.File(tmp_path / name / ("s" + a), "r") as s, h5py.File(tmp_path / name / ("t" + b), "r+") as t:
            h5py.h5o.copy(s.id, b"g", t.id, b"copy", plist)
        with h5py.File(tmp_path / name / ("t" + b), "r") as t:
            types = [t["copy/data"].id.get_type(), t["copy/points"].id.get_type(), t["copy/data"].attrs.get_id("n").get_type()]
            known = {h5py.h5o.get_info(t["types"][one].id).addr: one for one in ("point", "number")}
            # (A committed type that no link leads to has no place in a store.)
            seen.append(([one.committed() and known.get(h5py.h5o.get_info(one).addr) or None for one in types],
                         t["copy/data"][...].tolist(), t["copy/data"].attrs["n"], sorted(t), sorted(t["copy"])))
    assert seen[0] == seen[1]
    assert seen[0][0] == (["number", "point", "number"] if flags & MERGE else [None] * 3)


@pytest.mark.parametrize("target", KINDS)
def test_nothing_is_left_of_a_copy_that_fails(tmp_path, target):
    with h5py.File(tmp_path / "s.zarr", "w") as f:
        f["g/a"], f["g/b/c"] = np.arange(4), np.arange(4)
        f["g/damaged"] = np.arange(3)
    with open(tmp_path / "s.zarr/g/damaged/zarr.json", "w") as document:
        document.write("{")
    with h5py.File(tmp_path / "s.zarr", "r") as s, h5py.File(tmp_path / ("t" + target), "w") as t:
        with pytest.raises(Exception, match="damaged"):
            s.copy("g", t, name="q")
        assert "q" not in t and list(t) == []
        s.copy("g/b", t, name="q")
    with h5py.File(tmp_path / ("t" + target), "r") as t:
        assert list(t) == ["q"] and t["q/c"][3] == 3


@pytest.mark.parametrize("name", ["plain", "zstd", "shard", "gzip", "shuffled", "sparse", "record"])
def test_chunks_are_copied_as_they_are_where_both_ends_keep_the_same_bytes(tmp_path, name):
    data = np.arange(120 * 90, dtype="<i4").reshape(120, 90)
    native, stored, back = (str(tmp_path / n) for n in ("a.h5", "b.zarr", "c.h5"))
    options = {"zstd": dict(compression=32015), "gzip": dict(compression="gzip"),
               "shard": dict(compression=480, compression_opts=(1, 2, 10, 10, 3 | 3 << 8)),
               "shuffled": dict(compression="gzip", shuffle=True, fletcher32=True)}.get(name, {})
    with h5py.File(native, "w") as f:
        if name == "sparse":
            f.create_dataset("x", data.shape, "<i4", chunks=(40, 50), fillvalue=9)[50, 60] = 1
        elif name == "record":
            record = np.zeros(data.shape, [("a", "<i2"), ("b", "<f8")])
            record["b"] = data
            f.create_dataset("x", data=record, chunks=(40, 50), compression=32015)
        else:
            f.create_dataset("x", data=data, chunks=(40, 50), maxshape=(None, 90), **options)
        expected = f["x"][:]
        chunks = {f["x"].id.get_chunk_info(i).chunk_offset: None for i in range(f["x"].id.get_num_chunks())}
        for offset in chunks:
            chunks[offset] = f["x"].id.read_direct_chunk(offset)[1]
    with h5py.File(native) as source, h5py.File(stored, "w") as target:
        source.copy("x", target)
        assert (target["x"][:] == expected).all()
    files = {tuple(int(i) for i in path.parts[-2:]): path.read_bytes()
             for path in (tmp_path / "b.zarr" / "x" / "c").rglob("*") if path.is_file()}
    keys = {(offset[0] // 40, offset[1] // 50): chunk for offset, chunk in chunks.items()}
    if name == "gzip":  # the same stream in another frame
        assert {at: data[10:-8] for at, data in files.items()} == {at: data[2:-4] for at, data in keys.items()}
        assert all(gzip.decompress(files[at]) == zlib.decompress(keys[at]) for at in keys)
    elif name != "shuffled":  # which Zarr has as blosc
        assert files == keys
    assert files.keys() == keys.keys()
    with h5py.File(stored) as source, h5py.File(back, "w") as target:
        source.copy("x", target)
        assert (target["x"][:] == expected).all()
        if name != "shuffled":
            assert target["x"].id.get_num_chunks() == len(chunks)
            for offset, chunk in chunks.items():
                mask, copied = target["x"].id.read_direct_chunk(offset)
                frame = 2 * (name == "gzip")  # how much was tried is not said by gzip's
                assert (mask, copied[frame:]) == (0, chunk[frame:])
    code = "import h5py, sys; a = h5py.File(sys.argv[1])['x'][:]; b = h5py.File(sys.argv[2])['x'][:]; assert (a == b).all()"
    run_python(code, native, back, connector=None)


@pytest.mark.parametrize("source, target", both_ways)
@pytest.mark.parametrize("dtype", ["i4", h5py.string_dtype()])
def test_a_copy_takes_what_is_stored_and_not_the_extent(tmp_path, source, target, dtype):
    """10 TB of fill would take hours."""
    with h5py.File(tmp_path / f"a{source}", "w") as a, h5py.File(tmp_path / f"b{target}", "w") as b:
        d = a.create_dataset("x", (10**6, 10**6), dtype, chunks=(100, 100), shuffle=dtype == "i4", compression="gzip")
        d[5, 7] = d[10**6 - 1, 10**6 - 1] = "12"
        a.create_dataset("never", (10**6, 10**6), dtype, chunks=(100, 100))
        a.copy("x", b)
        a.copy("never", b)
    with h5py.File(tmp_path / f"b{target}") as b:
        assert b["x"].id.get_num_chunks() == 2 and b["never"].id.get_num_chunks() == 0
        assert b["x"].asstr()[5, 7] == "12" if dtype != "i4" else b["x"][10**6 - 1, 10**6 - 1] == 12


def change(store, path, **members):
    document = store / path / "zarr.json"
    said = json.loads(document.read_text())
    said.update(members)
    document.write_text(json.dumps(said))


def test_an_array_with_a_codec_that_is_unknown_is_copied_as_it_is(tmp_path):
    unknown = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "nobody.knows", "configuration": {"k": 1}}]
    with h5py.File(tmp_path / "a.zarr", "w") as f:
        f.create_dataset("g/x", data=np.arange(10, dtype="i4"), chunks=(4,), maxshape=(None,)).attrs["u"] = "mm"
    change(tmp_path / "a.zarr", "g/x", codecs=unknown, storage_transformers=[], dimension_names=["t"])
    with h5py.File(tmp_path / "a.zarr", "r+") as a, h5py.File(tmp_path / "b.zarr", "w") as b:
        a.copy("g/x", "here")
        a.copy("g", b)
        with pytest.raises((RuntimeError, OSError), match="nobody.knows"), h5py.File(tmp_path / "c.h5", "w") as c:
            a.copy("g/x", c)
    original = json.loads((tmp_path / "a.zarr/g/x/zarr.json").read_text())
    for copy in (tmp_path / "a.zarr/here", tmp_path / "b.zarr/g/x"):
        said = json.loads((copy / "zarr.json").read_text())
        for member in ("shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs"):
            assert said[member] == original[member]
        assert said["attributes"]["u"] == "mm"
        for i in range(3):
            assert (copy / "c" / str(i)).read_bytes() == (tmp_path / "a.zarr/g/x/c" / str(i)).read_bytes()
    with h5py.File(tmp_path / "b.zarr") as b:
        assert b["g/x"].shape == (10,) and b["g/x"].chunks == (4,) and b["g/x"].attrs["u"] == "mm"
        with pytest.raises(OSError, match="nobody.knows"):
            b["g/x"][0]


@pytest.mark.parametrize("source, target", both_ways)
@pytest.mark.parametrize("mounted", KINDS)
@pytest.mark.parametrize("flags", [{}, dict(expand_soft=True)])
def test_a_group_is_copied_with_what_lies_under_a_mounted_file(tmp_path, source, target, mounted, flags):
    with h5py.File(tmp_path / f"m{mounted}", "w") as m:
        m["other"] = 1
        m.create_group("sub/deeper")
    with h5py.File(tmp_path / f"a{source}", "w") as a:
        a["g/at/under"] = np.arange(5)
        a["g/at/sub/x"] = 2
        a["g/last"] = 3
    with h5py.File(tmp_path / f"a{source}", "r+") as a, h5py.File(tmp_path / f"b{target}", "w") as b:
        with h5py.File(tmp_path / f"m{mounted}") as m:
            call("H5Fmount", HID(a.id.id), b"/g/at", HID(m.id.id), HID(0))
            assert list(a["g/at"]) == ["other", "sub"]
            a.copy("g", b, **flags)
            call("H5Funmount", HID(a.id.id), b"/g/at")
    with h5py.File(tmp_path / f"b{target}") as b:
        assert sorted(b["g"]) == ["at", "last"] and sorted(b["g/at"]) == ["sub", "under"]
        assert (b["g/at/under"][:] == np.arange(5)).all() and b["g/at/sub/x"][()] == 2 and b["g/last"][()] == 3


def put_filled(g, value):
    """Datasets of text with a fill value of a program's own, and what a copy brings along."""
    for name, how in {"chunked": dict(chunks=(2,), maxshape=(None,)), "contiguous": {}}.items():
        d = g.create_dataset(name, (5,), dtype=h5py.string_dtype(), fillvalue=value, **how)
        d[1] = "é"
        d.attrs["n"], d.attrs["list"], d.attrs["empty"] = 1.5, ["a", "b"], h5py.Empty("i4")
    g["again"] = g["chunked"]
    g["sub/once more"] = g["chunked"]
    g.create_dataset("unwritten", (3,), dtype=h5py.string_dtype(), fillvalue=value).make_scale("s")
    g["chunked"].dims[0].label = "x"


@pytest.mark.parametrize("value", ["fill", "", "0"])
@pytest.mark.parametrize("source, target", [pair for pair in both_ways if pair != (".h5", ".h5")] + [(".zarr", None)])
def test_fill_values_of_text_are_copied(tmp_path, source, target, value):
    copied = tmp_path / f"copy{target}" if target else tmp_path / f"x{source}"
    with h5py.File(tmp_path / f"x{source}", "w") as f:
        put_filled(f.create_group("g"), value)
        f.flush()
        with h5py.File(copied, "w" if target else "r+") as to:
            f.copy("g", to, "copy")
            f.copy("g/chunked", to, "alone")
            check_filled(to, value)
    with h5py.File(copied, "r+") as to:
        check_filled(to, value)
        to["copy/chunked"].resize((7,))
        assert to["copy/chunked"].asstr()[5:].tolist() == [value, value]


def check_filled(f, value):
    for name in ["chunked", "contiguous", "again", "sub/once more"]:
        d = f["copy"][name]
        assert (d.fillvalue.decode(), d.asstr()[:5].tolist()) == (value, [value, "é", value, value, value])
        assert (d.attrs["n"], list(d.attrs["list"]), d.attrs["empty"].dtype) == (1.5, ["a", "b"], "i4")
    assert f["copy/again"] == f["copy/chunked"] == f["copy/sub/once more"]
    assert f["copy/chunked"].chunks == (2,) and f["copy/chunked"].maxshape == (None,) and f["copy/contiguous"].chunks is None
    assert f["copy/unwritten"].asstr()[()].tolist() == [value] * 3 and f["copy/unwritten"].is_scale
    assert f["alone"].fillvalue.decode() == value and f["alone"].asstr()[:].tolist() == [value, "é", value, value, value]


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("target", KINDS)
def test_fill_values_of_text_in_foreign_stores_are_copied(tmp_path, target, zarr_format):
    import zarr

    root = zarr.open_group(str(tmp_path / "x.zarr"), mode="w", zarr_format=zarr_format)
    root.create_array("a", shape=(4,), chunks=(2,), dtype=str, fill_value="none")[0] = "x"
    with h5py.File(tmp_path / "x.zarr") as f, h5py.File(tmp_path / f"y{target}", "w") as to:
        f.copy("a", to)
    with h5py.File(tmp_path / f"y{target}") as f:
        assert f["a"].fillvalue == b"none" and f["a"].asstr()[:].tolist() == ["x", "none", "none", "none"]


def test_text_of_netcdf_is_copied_by_h5copy(tmp_path):
    netCDF4 = pytest.importorskip("netCDF4", reason="netCDF4 has no wheel for this Python")
    with netCDF4.Dataset(tmp_path / "x.nc", "w") as nc:
        nc.createDimension("x", 3)
        nc.createVariable("s", str, ("x",))[0] = "a"
    done = run([tool("h5copy"), "-i", tmp_path / "x.nc", "-o", tmp_path / "y.zarr", "-s", "/s", "-d", "/s"])
    assert done.returncode == 0, done.stdout + done.stderr
    with h5py.File(tmp_path / "y.zarr") as f:
        assert f["s"].asstr()[:].tolist() == ["a", "", ""] and f["s"].fillvalue == b""
