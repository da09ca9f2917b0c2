"""`x.zarr` and `x.zarr/group` open together: what one changes the other sees, and no change is lost."""
import json
import random

import h5py
import numpy as np
import pytest
import zarr

from support import assert_equal


@pytest.fixture
def store(tmp_path):
    return tmp_path / "x.zarr"


@pytest.fixture
def both(store):
    with h5py.File(store, "w") as f:
        g = f.create_group("g")
        g["a"] = np.arange(12, dtype="i4").reshape(3, 4)
        g.create_dataset("grows", (2,), "f8", maxshape=(None,), chunks=(2,))
        g.create_group("sub").attrs["k"] = 1
        f["other"] = 5
    with h5py.File(store, "r+") as outer, h5py.File(store / "g", "r+") as inner:
        yield outer, inner


def test_elements_written_through_one_are_read_through_the_other(both):
    outer, inner = both
    there, here = outer["g/a"], inner["a"]
    for value in range(4):
        here[1, value] = -value
        inner.flush()
        assert there[1, value] == -value
        there[0, value] = 100 + value
        outer.flush()
        assert here[0, value] == 100 + value


def test_attributes_of_one_object_set_through_both_are_all_kept(both, store):
    outer, inner = both
    for i in range(6):
        (outer["g/a"] if i % 2 else inner["a"]).attrs[f"k{i}"] = i
        (outer["g"] if i % 2 else inner).attrs[f"k{i}"] = i
    expected = {f"k{i}": i for i in range(6)}
    outer.flush()
    for object in outer["g/a"], inner["a"], outer["g"], inner:
        assert dict(object.attrs) == expected
    inner.close()
    outer.close()
    assert dict(zarr.open_group(store, mode="r")["g/a"].attrs).items() >= expected.items()


def test_both_write_parts_of_one_chunk(both, store):
    outer, inner = both
    there, here = outer["g/a"], inner["a"]
    for row in range(3):
        there[row, :2] = row
        here[row, 2:] = 10 + row
    outer.close()
    inner.close()
    assert_equal(zarr.open_group(store, mode="r")["g/a"][:], np.array([[r, r, 10 + r, 10 + r] for r in range(3)], "i4"))


def test_new_objects_removed_objects_and_extents_are_seen(both):
    outer, inner = both
    assert "new" not in inner and "new" not in outer["g"]
    inner["new/deep"] = [1, 2]
    inner.flush()
    assert_equal(outer["g/new/deep"][:], np.array([1, 2]))
    assert set(outer["g"]) == {"a", "grows", "new", "sub"}
    grows = inner["grows"]
    outer["g/grows"].resize((5,))
    outer["g/grows"][:] = np.arange(5)
    outer.flush()
    assert grows.shape == (5,)
    assert_equal(grows[:], np.arange(5.0))
    del outer["g/sub"]
    outer.flush()
    assert set(inner) == {"a", "grows", "new"}
    outer.move("g/new", "g/moved")
    outer.flush()
    assert "new" not in inner
    assert_equal(inner["moved/deep"][:], np.array([1, 2]))


def test_links_are_seen(both):
    outer, inner = both
    inner["soft"] = h5py.SoftLink("a")
    inner["external"] = h5py.ExternalLink("x.h5", "/y")
    inner.flush()
    assert outer["g"].get("soft", getlink=True).path == "a"
    assert outer["g/soft"].shape == (3, 4)
    del outer["g/soft"]
    outer["g/soft"] = h5py.SoftLink("grows")
    del outer["g/external"]
    outer.flush()
    assert inner["soft"].shape == (2,)
    assert "external" not in list(inner)


def test_what_is_open_and_was_replaced_is_gone(both):
    outer, inner = both
    here = inner["a"]
    del outer["g/a"]
    outer["g/a"] = np.arange(3.0)
    outer.flush()
    for use in (lambda: here[:], lambda: here.__setitem__(0, 1), lambda: here.attrs.__setitem__("x", 1)):
        with pytest.raises((OSError, KeyError, RuntimeError), match="replaced|removed"):
            use()
    assert_equal(inner["a"][:], np.arange(3.0))


def test_the_inner_group_is_removed(both, store):
    outer, inner = both
    del outer["g"]
    outer.flush()
    with pytest.raises((OSError, KeyError, RuntimeError, ValueError)):
        inner["late"] = 1
    inner.close()
    outer.close()
    assert list(h5py.File(store)) == ["other"]


def test_one_for_reading_sees_what_the_other_writes(both, store):
    outer, inner = both
    inner.close()
    reader = h5py.File(store / "g", "r")
    assert "late" not in reader
    outer["g/late"] = 7
    outer.flush()
    assert reader["late"][()] == 7
    with pytest.raises((OSError, ValueError, KeyError)):
        reader["no"] = 1
    reader.close()


def test_scales_attached_through_one_are_there_through_the_other(both):
    outer, inner = both
    inner["x"] = np.arange(4)
    inner["line"] = np.zeros(4)
    inner.flush()
    there = outer["g/line"]
    assert len(there.dims[0]) == 0
    inner["x"].make_scale("x")
    inner["line"].dims[0].attach_scale(inner["x"])
    inner.flush()
    assert len(there.dims[0]) == 1
    assert_equal(there.dims[0][0][:], np.arange(4))


def test_an_array_that_is_open_as_a_store_of_its_own(both, store):
    outer, inner = both
    with h5py.File(store / "g" / "a", "r+") as single:
        single["a"][0, 0] = 77
        single["a"].attrs["units"] = "mm"
        single.flush()
        assert outer["g/a"][0, 0] == inner["a"][0, 0] == 77
        inner["a"][0, 1] = 78
        inner["a"].attrs["more"] = 1
        inner.flush()
        assert single["a"][0, 1] == 78
        assert dict(single["a"].attrs) == {"units": "mm", "more": 1}


@pytest.mark.parametrize("inner_first", [True, False])
def test_consolidated_metadata_is_never_stale(store, inner_first):
    with h5py.File(store, "w") as f:
        f["g/a"] = 1
        f["h/b"] = 2
    zarr.consolidate_metadata(store)

    def consolidated():
        held = json.loads((store / "zarr.json").read_text()).get("consolidated_metadata")
        return held and {path for path, node in held["metadata"].items() if node["node_type"] == "array"}

    outer, inner = h5py.File(store, "r+"), h5py.File(store / "g", "r+")
    outer["h/c"] = 3
    outer.flush()
    inner["d"] = 4
    inner.flush()
    assert consolidated() is None
    first, second = (inner, outer) if inner_first else (outer, inner)
    first.close()
    (second["g"] if inner_first else second)["e"] = 5
    second.flush()
    assert consolidated() is None
    second.close()
    assert consolidated() == {"g/a", "h/b", "h/c", "g/d", "g/e"}


def test_a_part_is_neither_made_anew_nor_deleted_while_another_is_open(both, store):
    with pytest.raises(OSError, match="part of the same Zarr store"):
        h5py.File(store / "g" / "sub", "w")


def assert_same(ours, native):
    assert sorted(ours) == sorted(native)
    assert dict(ours.attrs) == dict(native.attrs)
    for name in native:
        if isinstance(native[name], h5py.Group):
            assert_same(ours[name], native[name])
        else:
            assert_equal(ours[name][...], native[name][...])
            assert dict(ours[name].attrs) == dict(native[name].attrs)


def change(rng, files, native):
    """One random change, through any of the handles and in the HDF5 file."""
    held, twin = rng.choice(files), native["g"]
    ours = held["g"] if "g" in held else held
    groups = [""] + [n for n in ("p", "q", "p/r") if n in twin and isinstance(twin[n], h5py.Group)]
    at = rng.choice(groups)
    ours, twin = (ours[at], twin[at]) if at else (ours, twin)
    name = rng.choice("pqrst")
    what = rng.randrange(7)
    if what == 0:
        for group in ours, twin:
            group.attrs[f"k{name}"] = what + len(twin)
    elif what == 1 and name in twin:
        for group in ours, twin:
            del group[name]
    elif what == 2 and name not in twin and name in "pqr":
        for group in ours, twin:
            group.create_group(name)
    elif what == 3 and name not in twin:
        extent = rng.randrange(1, 9)
        for group in ours, twin:
            group.create_dataset(name, data=np.arange(extent), maxshape=(None,), chunks=(3,))
    elif name in twin and isinstance(twin[name], h5py.Dataset):
        value, extent = rng.randrange(1000), rng.randrange(1, 12)
        for group in ours, twin:
            if what == 4:
                group[name][value % group[name].shape[0]] = value
            elif what == 5:
                group[name].resize((extent,))
            else:
                group[name].attrs["v"] = value
    return held


@pytest.mark.parametrize("seed", range(8))
def test_any_changes_through_two_handles_are_those_of_one_file(tmp_path, seed):
    rng = random.Random(seed)
    with h5py.File(tmp_path / "x.zarr", "w") as f:
        f.create_group("g")
    with h5py.File(tmp_path / "x.h5", "w") as native:
        native.create_group("g")
        files = [h5py.File(tmp_path / "x.zarr", "r+"), h5py.File(tmp_path / "x.zarr" / "g", "r+")]
        for _ in range(60):
            change(rng, files, native).flush()
            if rng.random() < 0.4:
                assert_same(files[0]["g"], native["g"])
                assert_same(files[1], native["g"])
        for f in rng.sample(files, 2):
            f.close()
        with h5py.File(tmp_path / "x.zarr") as f:
            assert_same(f["g"], native["g"])


def test_a_part_keeps_what_hard_links_from_around_it_lead_to(store):
    with h5py.File(store, "w") as f:
        f["g/a"] = np.arange(3)
        f["out"] = f["g/a"]
    with h5py.File(store / "g", "r+") as part:
        with pytest.raises(KeyError, match="as a whole"):
            del part["a"]
        with pytest.raises(ValueError, match="as a whole"):
            part.move("a", "b")
        assert part["a"][1] == 1
    with h5py.File(store, "r+") as f:
        assert_equal(f["out"][()], np.arange(3))
        del f["g/a"]
        assert_equal(f["out"][()], np.arange(3))


def test_further_hard_links_are_made_in_the_whole_store_only(store):
    with h5py.File(store, "w") as f:
        f["g/a"] = np.arange(3)
    with h5py.File(store / "g", "r+") as part:
        with pytest.raises(Exception, match="as a whole"):
            part["link"] = part["a"]
        assert list(part) == ["a"]
        part["b"] = 1
        del part["b"]
    with h5py.File(store) as f:
        assert list(f["g"]) == ["a"]


def test_a_part_that_is_open_does_not_move(both):
    outer, inner = both
    for name in "g", "g/sub":
        with h5py.File(outer.filename + "/g/sub", "r+"), pytest.raises(ValueError, match="is open"):
            outer.move(name, "elsewhere")
    inner["a"][0, 0] = 7
    inner.flush()
    assert outer["g/a"][0, 0] == 7
    outer.move("g/sub", "g/elsewhere")
    inner.flush()
    assert sorted(inner) == ["a", "elsewhere", "grows"]


def test_a_group_that_is_not_stored_yet_opens_as_a_store(store):
    with h5py.File(store, "w") as outer:
        outer.create_group("g/new")["x"] = 3
        outer["g/new"].attrs["k"] = 1
        with h5py.File(store / "g" / "new") as inner:
            assert inner["x"][()] == 3 and inner.attrs["k"] == 1
        with h5py.File(store / "g", "r+") as inner:
            inner["new/y"] = 4
        assert outer["g/new/y"][()] == 4
        with pytest.raises(FileNotFoundError):
            h5py.File(store / "g" / "no")
