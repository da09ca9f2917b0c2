"""H5Ocopy within and between stores and HDF5 files: every kind of object arrives with its values."""
import h5py
import numpy as np
import pytest

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


@pytest.mark.parametrize("source", ["s.h5", "s.zarr"])
@pytest.mark.parametrize("target", ["t.h5", "t.zarr"])
def test_a_copy_that_would_lose_data_behind_an_external_link_is_refused(tmp_path, source, target):
    with h5py.File(tmp_path / "other.zarr", "w") as f:
        f["d"] = np.arange(9)
    with h5py.File(tmp_path / source, "w") as f:
        f["g/ext"] = h5py.ExternalLink("other.zarr", "/d")
    with h5py.File(tmp_path / source, "r") as f, h5py.File(tmp_path / target, "w") as t:
        with pytest.raises(Exception, match="external link"):
            f.copy("g", t, expand_external=True)
        assert "g" not in t
