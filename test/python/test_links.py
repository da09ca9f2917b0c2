"""Links and names: soft, hard and external ones, within a store and across stores and HDF5 files."""
import json
import os
import shutil

import h5py
import numpy as np
import pytest
import zarr
from h5py import h5g, h5p, h5t

from support import assert_equal, documents, forget_hdf5, read_zarr_python, tensorstore_spec, tree

KINDS = [".zarr", ".h5"]


def test_soft_links(store):
    with h5py.File(store, "w") as f:
        f["g/a"] = np.arange(3)
        for name, path in {"s": "/g/a", "group": "g", "dangling": "/no", "l1": "l2", "l2": "l1"}.items():
            f[name] = h5py.SoftLink(path)
    with h5py.File(store, "r+") as f:
        assert f["s"][2] == 2 and f["group/a"][1] == 1
        assert f.get("s", getlink=True).path == "/g/a" and f.get("dangling") is None
        with pytest.raises(RuntimeError):
            f["l1"]
        f["s"][0] = 9
        f["group/new"] = 1
        del f["s"]
    with h5py.File(store, "r") as f:
        assert sorted(f) == ["dangling", "g", "group", "l1", "l2"]
        assert f["g/a"][0] == 9 and f["g/new"][()] == 1


def test_links_move(store):
    with h5py.File(store, "w") as f:
        f["x"] = np.arange(4)
        f["s"], f["e"] = h5py.SoftLink("/x"), h5py.ExternalLink("other.h5", "q")
        f.move("s", "t/s2")
        f.move("e", "t/e2")
    with h5py.File(store, "r") as f:
        assert sorted(f) == ["t", "x"] and f["t/s2"][3] == 3
        assert f["t"].get("e2", getlink=True).filename == "other.h5"


def test_hard_links_are_one_object(store):
    with h5py.File(store, "w") as f:
        f["g/x"] = np.arange(4)
        f["h"] = f["g"]
        f["h/new"] = 5
        f["h"].attrs["z"] = 1
    with h5py.File(store, "r") as f:
        assert f["h"] == f["g"] and sorted(f["g"]) == ["new", "x"]
        assert f["g"].attrs["z"] == 1 and f["h/x"][3] == 3


def test_a_group_that_holds_itself_is_visited_once(store):
    with h5py.File(store, "w") as f:
        f["g/x"] = 1
        f["g/self"], f["g/root"] = f["g"], f["/"]
    names = []
    with h5py.File(store, "r") as f:
        assert f["g/self/self/x"][()] == 1 and f["g/root"] == f
        f.visit(names.append)
    assert names == ["g", "g/x"]


@pytest.mark.parametrize("obstacle", ["a file", "a folder", "no group"])
def test_a_move_that_fails_changes_nothing_and_can_be_tried_again(store, obstacle):
    with h5py.File(store, "w") as f:
        f["g/a"], f["t/x"] = np.arange(5), 1
        f["refs"] = np.array([f["g/a"].ref], h5py.ref_dtype)
    with h5py.File(store, "r+") as f:
        a = f["g/a"]
        assert f["t/x"][()] == 1
        way = os.path.join(store, "t" if obstacle == "no group" else "t/b")
        if obstacle == "no group":
            os.rename(way, store + ".away")
        if obstacle == "a folder":
            os.mkdir(way)
        with open(os.path.join(way, "no node") if obstacle == "a folder" else way, "w"):
            pass
        before = tree(store)
        for _ in range(2):
            with pytest.raises((OSError, RuntimeError, ValueError)):
                f.move("g/a", "t/b")
            assert tree(store) == before
            assert list(f["g"]) == ["a"] and list(f["t"]) == ["x"]
            assert a.name == "/g/a" and f[f["refs"][0]] == a
        a[0] = 7
        shutil.rmtree(way) if obstacle == "a folder" else os.remove(way)
        if obstacle == "no group":
            os.rename(store + ".away", way)
        f.move("g/a", "t/b")
        a[1] = 8
    with h5py.File(store, "r") as f:
        assert list(f["g"]) == [] and sorted(f["t"]) == ["b", "x"]
        assert f["t/b"][:3].tolist() == [7, 8, 2] and f[f["refs"][0]] == f["t/b"]


def test_groups_move_with_what_is_open_in_them(store):
    with h5py.File(store, "w") as f:
        f["g/h/a"] = np.arange(50)
    with h5py.File(store, "r+") as f:
        a = f["g/h/a"]
        a[3] = 33
        f.move("g", "q/r")
        a[4] = 44
        f.flush()
        f.move("q/r", "z")
        a[5] = 55
        a.attrs["u"] = 1
        f["z/h"].create_dataset("n", data=1)
        f.move("z/h", "/top")
        a[6] = 66
    with h5py.File(store, "r") as f:
        assert sorted(f) == ["q", "top", "z"] and f["top/n"][()] == 1
        assert f["top/a"][2:8].tolist() == [2, 33, 44, 55, 66, 7] and f["top/a"].attrs["u"] == 1


def test_a_deleted_dataset_lives_while_it_is_open(store):
    with h5py.File(store, "w") as f:
        f.create_dataset("a", data=np.arange(100), chunks=(10,))
    with h5py.File(store, "r+") as f:
        a = f["a"]
        del f["a"]
        f.flush()
        assert a[...].tolist() == list(range(100))
        f["a"] = np.zeros(3)
        a[5] = 8
        assert a[5] == 8 and f["a"][...].tolist() == [0, 0, 0]
    with h5py.File(store, "r") as f:
        assert f["a"][...].tolist() == [0, 0, 0]
    assert sorted(os.listdir(store)) == ["a", "zarr.json"]


def test_a_deleted_dataset_can_be_linked_again(store):
    with h5py.File(store, "w") as f:
        a = f.create_dataset("a", data=np.arange(100), chunks=(10,))
        f.flush()
        del f["a"]
        a[6] = 66
        f["b"] = a
    with h5py.File(store, "r") as f:
        assert list(f) == ["b"] and f["b"][5:8].tolist() == [5, 66, 7]


def test_anonymous_objects_are_stored_once_they_are_linked(store):
    with h5py.File(store, "w") as f:
        a = f.create_dataset(None, data=np.arange(20), chunks=(5,))
        a.attrs["k"] = 2
        f.flush()
        g = f.create_group(None)
        g["in"] = 4
        dropped = f.create_dataset(None, data=np.arange(20))
        assert dropped[3] == 3
        f["later"], f["group"] = a, g
    with h5py.File(store, "r") as f:
        assert sorted(f) == ["group", "later"] and f["later"].attrs["k"] == 2 and f["group/in"][()] == 4
        assert f["later"][...].tolist() == list(range(20))
    assert sorted(os.listdir(store)) == ["group", "later", "zarr.json"]


def test_links_between_files_are_refused_unless_external(store, tmp_path):
    with h5py.File(store, "w") as f, h5py.File(tmp_path / "other.zarr", "w") as g:
        f["x"] = np.arange(6)
        with pytest.raises(OSError, match="interfile"):
            g["y"] = f["x"]
        g["x"] = f["x"][()]
        assert g["x"][5] == 5


@pytest.mark.parametrize("parent", KINDS)
@pytest.mark.parametrize("target", KINDS)
def test_external_links_lead_to_objects(tmp_path, parent, target):
    there, here = str(tmp_path / ("there" + target)), str(tmp_path / ("here" + parent))
    with h5py.File(there, "w") as f:
        f["g/x"] = np.arange(5)
        f["g"].attrs["k"] = 1
    with h5py.File(here, "w") as f:
        f["in/e"] = h5py.ExternalLink("there" + target, "/g/x")
        f["group"] = h5py.ExternalLink("there" + target, "g")
        f["absolute"] = h5py.ExternalLink(there, "/g/x")
        f["no file"] = h5py.ExternalLink("none" + target, "x")
        f["no path"] = h5py.ExternalLink("there" + target, "nope")
    with h5py.File(here, "r") as f:
        assert f["in/e"][3] == 3 and f["absolute"][2] == 2 and f["group"].attrs["k"] == 1
        assert sorted(f["group"]) == ["x"] and f["in/e"].name == "/g/x"
        assert os.path.samefile(f["in/e"].file.filename, there)
        for name in ("no file", "no path"):
            with pytest.raises((KeyError, OSError)):
                f[name]
        names = []
        f.visit(names.append)
        assert names == ["in"]
        kept = f["in/e"]
    assert kept[4] == 4
    del kept
    with h5py.File(here, "r+") as f:
        f["in/e"][0] = 99
        f["group"].attrs["new"] = 2
        f["group"].create_group("made")
    with h5py.File(there, "r") as f:
        assert f["g/x"][0] == 99 and f["g"].attrs["new"] == 2 and "made" in f["g"]


def test_external_links_are_searched_beside_their_file(tmp_path, monkeypatch):
    os.makedirs(tmp_path / "s/t")
    with h5py.File(tmp_path / "s/t/c.zarr", "w") as f:
        f["z"] = 5
    with h5py.File(tmp_path / "s/a.zarr", "w") as f:
        f["x"] = h5py.ExternalLink("t/c.zarr", "z")
        f["y"] = h5py.ExternalLink("../s/t/c.zarr/", "z")
    monkeypatch.chdir("/")
    with h5py.File(tmp_path / "s/a.zarr", "r") as f:
        assert f["x"][()] == 5 and f["y"][()] == 5


def test_chains_of_external_links(tmp_path):
    for name, target in {"a.zarr": "b.h5", "b.h5": "c.zarr"}.items():
        with h5py.File(tmp_path / name, "w") as f:
            f["x"] = h5py.ExternalLink(target, "x")
    with h5py.File(tmp_path / "c.zarr", "w") as f:
        f["x"] = 5
    with h5py.File(tmp_path / "a.zarr", "r") as f:
        assert f["x"][()] == 5


def test_an_external_link_into_its_own_store(store):
    with h5py.File(store, "w") as f:
        f["v"] = 3
        f["x"] = h5py.ExternalLink(os.path.basename(store), "/v")
        f["x"][()] = 4
        assert f["x"] == f["v"]
    with h5py.File(store, "r") as f:
        assert f["x"][()] == 4


@pytest.mark.parametrize("kinds", [(".zarr", ".h5"), (".h5", ".zarr"), (".zarr", ".zarr"), (".h5", ".h5")],
                         ids=" on ".join)
def test_a_file_is_mounted(tmp_path, kinds):
    child, parent = (tmp_path / (name + kind) for name, kind in zip("cp", kinds))
    with h5py.File(parent, "w") as p, h5py.File(child, "w") as c:
        p["m/hidden"] = 1
        c["g/x"] = np.arange(4)
    with h5py.File(parent, "r+") as p:
        with h5py.File(child, "r+") as c:
            h5py.h5f.mount(p.id, b"m", c.id)
        # The child stays for as long as it is mounted.
        names = []
        p.visit(names.append)
        assert sorted(names) == ["m", "m/g", "m/g/x"]
        again = h5py.File(child, "r+")
        x = p["m/g/x"]
        assert x[3] == 3 and x.name == "/m/g/x" and x.file.filename == str(child)
        assert "m/hidden" not in p and list(p["m"]) == ["g"]
        p.create_dataset("m/g/new", data=[7], compression="gzip")
        x.attrs["a"] = 1
        x[0] = 5
        h5py.h5f.unmount(p.id, b"m")
        assert p["m/hidden"][()] == 1 and "m/g" not in p
        assert x.name == "/g/x" and x[0] == 5
        again.close()
    with h5py.File(parent, "r") as p, h5py.File(child, "r") as c:
        assert list(p["m"]) == ["hidden"] and c["g/new"][0] == 7
        assert c["g/x"][0] == 5 and c["g/x"].attrs["a"] == 1


def test_what_is_mounted_is_closed_with_the_file(tmp_path):
    with h5py.File(tmp_path / "c.zarr", "w") as c:
        c["x"] = 1
    with h5py.File(tmp_path / "p.zarr", "w") as p:
        p.create_group("m")
        with h5py.File(tmp_path / "c.zarr", "r+") as c:
            h5py.h5f.mount(p.id, b"m", c.id)
        p["m"]["y"] = 2
    # Both can be made anew: nobody holds them.
    with h5py.File(tmp_path / "c.zarr", "r") as c:
        assert c["x"][()] == 1 and c["y"][()] == 2
    with h5py.File(tmp_path / "p.zarr", "w"), h5py.File(tmp_path / "c.zarr", "w"):
        pass


def test_names(store):
    names = ["-x", ".hid", "0", "a%2Fb", "c", "c.0", "dot.name", 'q"\\x', "sp ace", "uni_é😀", "zattrs"]
    with h5py.File(store, "w") as f:
        for i, name in enumerate(names):
            f[name] = i
    forget_hdf5(store)
    with h5py.File(store, "r") as f:
        assert sorted(f) == sorted(names)
        assert [f[name][()] for name in names] == list(range(len(names)))
    assert read_zarr_python(store, "sp ace") == 8


def test_deep_groups_move_and_copy(store):
    path = "/".join(f"d{i}" for i in range(100))
    with h5py.File(store, "w") as f:
        f[path + "/x"] = 1
    with h5py.File(store, "r+") as f:
        f.move("d0", "e0")
        f.copy("e0", "k")
    with h5py.File(store, "r") as f:
        assert sorted(f) == ["e0", "k"] and f["k" + path[2:] + "/x"][()] == 1


@pytest.mark.parametrize("kind", KINDS)
def test_object_references(tmp_path, kind):
    path = tmp_path / ("f" + kind)
    with h5py.File(path, "w") as f:
        f["g/x"] = np.arange(5)
        refs = [f["g/x"].ref, f["g"].ref, f.ref]
        f.create_dataset("refs", data=refs, dtype=h5py.ref_dtype)
        f.create_dataset("null", (3,), dtype=h5py.ref_dtype)
        f.attrs["one"] = f["g"].ref
        f.attrs.create("two", refs[:2], dtype=h5py.ref_dtype)
        rows = np.empty(2, dtype=[("ref", h5py.ref_dtype), ("i", "i4")])
        rows["ref"], rows["i"] = refs[:2], [1, 2]
        f["rows"] = rows
    with h5py.File(path, "r") as f:
        assert [f[ref].name for ref in f["refs"][:]] == ["/g/x", "/g", "/"]
        assert f[f.attrs["one"]].name == "/g" and [f[ref].name for ref in f.attrs["two"]] == ["/g/x", "/g"]
        assert f[f["rows"][0]["ref"]][3] == 3 and f["rows"][1]["i"] == 2
        assert not f["null"][0]


def linked_twice(store, second="b"):
    with h5py.File(store, "w") as f:
        f["g/a"] = np.arange(5)
        f[second] = f["g/a"]


@pytest.mark.parametrize("doomed", ["g/a", "g"])
def test_data_stays_under_the_second_hard_link_when_the_first_goes(store, doomed):
    linked_twice(store)
    with h5py.File(store, "r+") as f:
        del f[doomed]
    with h5py.File(store, "r") as f:
        assert "g/a" not in f
        assert f["b"][...].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("source, target", [("g/a", "g/c"), ("g", "h")])
def test_a_second_hard_link_follows_a_move(store, source, target):
    linked_twice(store)
    with h5py.File(store, "r+") as f:
        f.move(source, target)
    with h5py.File(store, "r") as f:
        assert f["b"][...].tolist() == [0, 1, 2, 3, 4]
        assert f["g/c" if source == "g/a" else "h/a"] == f["b"]


def test_a_group_that_only_itself_links_to_can_go(store):
    with h5py.File(store, "w") as f:
        f["g/x"] = 1
        f["g/self"] = f["g"]
        del f["g"]
    with h5py.File(store, "r") as f:
        assert list(f) == []


@pytest.mark.parametrize("name", ["circle.h5", "circle.zarr"])
def test_an_external_link_to_itself_is_an_error(tmp_path, name):
    with h5py.File(tmp_path / name, "w") as f:
        f["l"] = h5py.ExternalLink(name, "/l")
    with h5py.File(tmp_path / name, "r") as f, pytest.raises((KeyError, RuntimeError)):
        f["l"]


def test_damaged_and_circular_links_take_nothing_else_along(store):
    with h5py.File(store, "w") as f:
        f["a"] = 1
    document = os.path.join(store, "zarr.json")
    with open(document) as file:
        root = json.load(file)
    hard = [{"name": name, "source": ".", "path": path, "kind": "hard"}
            for name, path in (("l", "/l"), ("x", "/y"), ("y", "/x"))]
    root["attributes"] = {"_LINKS": hard + [{"name": 5}, {"name": "n", "path": None}, "text",
                                           {"name": "ok", "source": ".", "path": "/a"}]}
    with open(document, "w") as file:
        json.dump(root, file)
    with h5py.File(store, "r") as f:
        assert list(f) == ["a", "ok"]
        assert f["ok"][()] == 1


def test_creation_order_survives_being_reopened(store):
    with h5py.File(store, "w", track_order=True) as f:
        for name in "zay":
            f[name] = 1
    with h5py.File(store, "r+") as f:
        f["a"][()]
        f["b"] = 2
    with h5py.File(store, "r") as f:
        assert list(f) == ["z", "a", "y", "b"]


def test_creation_order_of_links_is_kept_whatever_leads_to_them(store):
    """Soft links among objects; objects that an earlier one's attribute or dimension refers to."""
    def fill(group):
        group["first"] = 1
        group["soft"] = h5py.SoftLink("/late")
        group.create_dataset("uses", data=np.arange(3.0))
        group["external"] = h5py.ExternalLink("other.zarr", "/x")
        group["late"] = np.arange(3)
        group["scale"] = np.arange(3)
        group["scale"].make_scale("x")
        group["uses"].dims[0].attach_scale(group["scale"])
        group["uses"].attrs["refers"] = group["late"].ref
        group.create_group("sub")["uses"] = np.arange(3.0)
        group["sub/uses"].dims[0].attach_scale(group["scale"])

    names = ["first", "soft", "uses", "external", "late", "scale", "sub"]
    with h5py.File(store, "w", track_order=True) as f:
        fill(f)
        fill(f.create_group("inner", track_order=True))
    for mode in "r", "r+", "r":
        with h5py.File(store, mode) as f:
            assert f["inner/uses"].dims[0][0].name == "/inner/scale"
            assert f["inner/sub/uses"].dims[0][0].name == "/inner/scale"
            assert f["uses"].dims[0][0].name == "/scale"
            assert f[f["uses"].attrs["refers"]].name == "/late"
            assert list(f) == [*names, "inner"]
            assert list(f["inner"]) == names
            if mode == "r+":
                f["inner"].attrs["changed"] = 1
                f["inner/new"] = 1
                names = [*names, "new"]
                assert list(f["inner"]) == names
                f["new"] = 1
                del f["new"], f["inner/new"]
                names = names[:-1]


def outcome(action):
    """What an action gives, or the kind of error it fails with."""
    try:
        return action()
    except Exception as error:
        return type(error).__name__


def linked_files(folder, parent, target):
    """`here` links to `/g` of `there`; both are reopened before anything is asked."""
    there, here = str(folder / ("there" + target)), str(folder / ("here" + parent))
    with h5py.File(there, "w") as f:
        f["g/x"] = np.arange(5)
        f["g/sub/y"] = np.arange(3.0)
        f["g"].attrs["k"], f["g/x"].attrs["u"] = 1, "mm"
        f["g/soft"] = h5py.SoftLink("/g/sub")
        f["g/t"] = np.dtype("f4")
    with h5py.File(here, "w") as f:
        f["in/link"] = h5py.ExternalLink("there" + target, "/g")
        f["soft"] = h5py.SoftLink("/in/link/sub")
        f["dead"] = h5py.ExternalLink("none" + target, "/g")
    return here, there


def read_behind_links(here):
    results = []
    for path in ("in/link/x", "in/link/sub/y", "/in/link/soft/y", "soft/y", "in/link/none", "in/link/x/below", "dead/x"):
        for question in (lambda f: f[path][...].tolist(), lambda f: path in f, lambda f: f.get(path) is None,
                         lambda f: f.get(path, getclass=True).__name__,
                         lambda f: type(f.get(path, getlink=True)).__name__,
                         lambda f: h5py.h5o.get_info(f.id, path.encode()).type if "dead" not in path else None,
                         lambda f: h5py.h5o.exists_by_name(f.id, path.encode())):
            with h5py.File(here, "r") as f:
                results.append((path, outcome(lambda: question(f))))
    with h5py.File(here, "r") as f:
        names = []
        f["in/link"].visit(names.append)
        results += [sorted(names), sorted(f["soft"]), len(f["in/link"]), f["in/link/t"].dtype.str, f["in/link/x"].name]
    with h5py.File(here, "r") as f:
        results += [h5py.h5a.exists(f.id, b"k", obj_name=b"in/link"), h5py.h5a.exists(f.id, b"u", obj_name=b"in/link/x"),
                    h5py.h5a.get_num_attrs(f["in/link/x"].id), h5py.h5a.get_info(f.id, b"u", obj_name=b"in/link/x").data_size > 0]
        names = []
        h5py.h5a.iterate(h5py.h5o.open(f.id, b"in/link/x"), lambda name, *_: names.append(name))
        results.append(names)
    return results


@pytest.mark.parametrize("parent, target", [(a, b) for a in KINDS for b in KINDS if (a, b) != (".h5", ".h5")])
def test_paths_go_on_behind_external_links_as_in_hdf5(tmp_path, parent, target):
    expected = linked_files(tmp_path, ".h5", ".h5")[0]
    assert read_behind_links(linked_files(tmp_path, parent, target)[0]) == read_behind_links(expected)


def write_behind_links(here, there):
    results = []
    with h5py.File(here, "r+") as f:
        f.create_dataset("in/link/new", data=np.arange(7), chunks=(2,))
        results.append(outcome(lambda: f.__setitem__("in/link/p/q/z", 5)))  # made here first, then linked
        f.create_dataset("in/link/p/q/z", data=5)
        f.create_group("in/link/made").attrs["m"] = 1
        h5py.h5t.py_create(np.dtype("i2")).commit(f.id, b"in/link/type")
        f["in/link/s2"] = h5py.SoftLink("/g/x")
        f["in/link/e2"] = h5py.ExternalLink("other", "/o")
        f.create_dataset("soft/deep", data=8)
        results.append(outcome(lambda: f.create_group("in/link/made")))
        results.append(outcome(lambda: f.create_group("in/link/x/y")))
        results.append(outcome(lambda: f.create_group("dead/y")))
        results.append(outcome(lambda: f.create_group("in/link")))
    with h5py.File(here, "r+") as f:
        f.move("in/link/x", "in/link/moved")
        results.append(outcome(lambda: f.move("in/link/sub/y", "y here")))
        f["in/link/hard"] = f["in/link/new"]
        results.append(outcome(lambda: f.__setitem__("hard here", f["in/link/new"])))
        f.copy("in/link/moved", "copied")
        del f["in/link/t"]
        results.append(outcome(lambda: f.__delitem__("in/link/none")))
        space, kind = h5py.h5s.create(h5py.h5s.SCALAR), h5py.h5t.NATIVE_INT32
        h5py.h5a.create(f.id, b"by name", kind, space, obj_name=b"in/link/moved").write(np.array(3, "i4"))
        h5py.h5a.create(f.id, b"on link", kind, space, obj_name=b"in/link").write(np.array(4, "i4"))
        h5py.h5a.rename(f.id, b"u", b"v", obj_name=b"in/link/moved")
        h5py.h5a.delete(f.id, b"k", obj_name=b"in/link")
        results.append(sorted(f))
    with h5py.File(here, "r") as f:
        results.append(outcome(lambda: f.create_group("in/link/w")))
        results.append((sorted(f), f["copied"][...].tolist()))
    with h5py.File(there, "r") as f:
        f.visititems(lambda name, item: results.append((name, sorted(item.attrs.items()), type(item).__name__,
                                                        item[()].tolist() if isinstance(item, h5py.Dataset) else None)))
        results.append((sorted(f["g"]), sorted(f["g"].attrs.items()), f["g/hard"] == f["g/new"]))
    return results


@pytest.mark.parametrize("parent, target", [(a, b) for a in KINDS for b in KINDS if (a, b) != (".h5", ".h5")])
def test_what_is_made_behind_external_links_is_made_there_as_in_hdf5(tmp_path, parent, target):
    expected = write_behind_links(*linked_files(tmp_path, ".h5", ".h5"))
    assert write_behind_links(*linked_files(tmp_path, parent, target)) == expected


@pytest.mark.parametrize("kinds", [(".h5", ".zarr", ".h5"), (".zarr", ".h5", ".zarr"), (".zarr", ".zarr", ".zarr"), (".h5", ".h5", ".zarr")])
def test_paths_through_chains_of_external_links(tmp_path, kinds):
    names = [f"{i}{kind}" for i, kind in enumerate(kinds)]
    for name, following in zip(names, names[1:]):
        with h5py.File(tmp_path / name, "w") as f:
            f["to"] = h5py.ExternalLink(following, "/")
    with h5py.File(tmp_path / names[-1], "w") as f:
        f["a/b"] = np.arange(4)
    with h5py.File(tmp_path / names[0], "r+") as f:
        assert f["to/to/a/b"][3] == 3 and "to/to/a/none" not in f
        f.create_dataset("to/to/new/n", data=6)
    with h5py.File(tmp_path / names[-1], "r") as f:
        assert f["new/n"][()] == 6


@pytest.mark.parametrize("kind", KINDS)
def test_a_link_access_prefix_says_where_linked_files_are(tmp_path, kind):
    os.makedirs(tmp_path / "far")
    with h5py.File(tmp_path / "far" / ("t" + kind), "w") as f:
        f["g/x"] = np.arange(3)
    with h5py.File(tmp_path / "s.zarr", "w") as f:
        f["e"] = h5py.ExternalLink("t" + kind, "/g")
    lapl = h5py.h5p.create(h5py.h5p.LINK_ACCESS)
    lapl.set_elink_prefix(str(tmp_path / "far").encode())
    with h5py.File(tmp_path / "s.zarr", "r") as f:
        with pytest.raises(KeyError):
            f["e/x"]
        assert h5py.Dataset(h5py.h5o.open(f.id, b"e/x", lapl=lapl))[2] == 2


def test_names_keep_their_character_set(tmp_path):
    def creation(cset):
        lcpl = h5p.create(h5p.LINK_CREATE)
        lcpl.set_char_encoding(cset)
        return lcpl

    def csets(f):
        found = {}
        f.visit(lambda name: found.__setitem__(name, None))
        for name in [*found, "soft", "soft_utf8", "external"]:
            found[name] = f.id.links.get_info(name.encode()).cset
        return found

    ascii_name, utf8_name = creation(h5t.CSET_ASCII), creation(h5t.CSET_UTF8)
    said = []
    for path in (tmp_path / "a.h5", tmp_path / "a.zarr"):
        with h5py.File(path, "w") as f:
            for name in ("plain", "plain_utf8", "\xe9", "\xe9_ascii", "gone", "moving", "g", "again"):
                h5g.create(f.id, name.encode(), utf8_name if name in ("plain_utf8", "\xe9", "gone") else ascii_name)
            f.create_group("g/h")
            f.id.links.create_soft("soft".encode(), b"/g", ascii_name)
            f.id.links.create_soft("soft_utf8".encode(), b"/g", utf8_name)
            f.id.links.create_external(b"external", b"no.h5", b"/x", utf8_name)
        for change in (True, False):
            with h5py.File(path, "r+") as f:
                f["g"].attrs["x"] = 1
                if change:
                    del f["gone"]
                    h5g.create(f.id, b"gone")
                    f.id.links.move(b"moving", f["g"].id, b"moved", lcpl=utf8_name)
                    f.id.links.move(b"again", f.id, b"again2", lcpl=ascii_name)
        with h5py.File(path, "r") as f:
            said.append(csets(f))
    assert said[0] == said[1]
    assert {h5t.CSET_ASCII, h5t.CSET_UTF8} == set(said[0].values())
    root = documents(tmp_path / "a.zarr")["zarr.json"]["attributes"]["_hdf5"]
    assert root["link_csets"] == {"external": "utf8", "plain_utf8": "utf8", "soft_utf8": "utf8",
                                  "\xe9_ascii": "ascii"}


def test_names_of_others_have_the_character_set_of_their_letters(store):
    import zarr

    zarr.open_group(store, mode="w").create_group("plain").create_group("\xe9")
    with h5py.File(store, "r") as f:
        assert f.id.links.get_info(b"plain").cset == h5t.CSET_ASCII
        assert f["plain"].id.links.get_info("\xe9".encode()).cset == h5t.CSET_UTF8


def failure(attempt):
    try:
        return attempt()
    except Exception as error:  # what kind of one is what is asked
        return type(error)


def test_circular_links_fail_as_in_a_file(tmp_path):
    said = []
    for path in (tmp_path / "a.h5", tmp_path / "a.zarr"):
        with h5py.File(path, "w") as f:
            f["l1"], f["l2"] = h5py.SoftLink("/l2"), h5py.SoftLink("l1")
            f["self"] = h5py.SoftLink("self")
            f["g/up"] = h5py.SoftLink("/g/up/x")
            f["e"] = h5py.ExternalLink(path.name, "/e")
        with h5py.File(path, "r+") as f:
            said.append([failure(attempt) for name in ("l1", "self", "g/up", "l1/x", "e", "e/x") for attempt in (
                lambda: f[name], lambda: f.get(name), lambda: name in f, lambda: f.create_group(name + "/new"),
                lambda: f.get(name, getlink=True).path, lambda: f.move(name, name + "/x"))])
    assert said[0] == said[1] and RuntimeError in said[0]


def test_names_with_two_underscores_are_names(store):
    with h5py.File(store, "w") as f:
        f["__first_version__/__a"] = np.arange(3)
    with h5py.File(store, "r") as f:
        assert list(f) == ["__first_version__"]
        assert_equal(f["__first_version__/__a"][...], np.arange(3))
    assert_equal(zarr.open_group(store, mode="r")["__first_version__/__a"][...], np.arange(3))
    path = os.path.join(store, "__first_version__", "__a")
    tensorstore = pytest.importorskip("tensorstore", reason="no tensorstore wheel for this Python")
    assert_equal(tensorstore.open(tensorstore_spec(path)).result().read().result(), np.arange(3))


def test_links_keep_their_order_where_a_child_needs_a_later_one(store):
    with h5py.File(store, "w", track_order=True) as f:
        f["type"] = np.dtype("<i4")
        f.create_dataset("data", (3,), dtype=f["type"])
        f["hard"] = f.create_group("last", track_order=True)
        f["last/inner"] = np.arange(3)
        f["far"] = f["last/inner"]
        f["soft"], f["elsewhere"] = h5py.SoftLink("/last"), h5py.ExternalLink("other.h5", "/x")
        for name in ("type", "last", "elsewhere"):
            f.move(name, name + " again")
        expected = ["data", "hard", "far", "soft", "type again", "last again", "elsewhere again"]
        assert list(f) == expected
    for mode in ("r", "r+", "r"):
        with h5py.File(store, mode) as f:
            assert list(f) == expected and f["data"].id.get_type().committed()
            assert [f.id.links.get_info(name.encode()).corder for name in expected[:7]] == list(range(7))
            assert f["hard"] == f["last again"] and f["far"] == f["hard/inner"] and f["far"][2] == 2
            if mode == "r+":
                f["new"] = 1
                expected = [*expected, "new"]


def test_a_group_that_tracks_order_and_whose_members_need_one_another_in_turn(store):
    """Each type is needed by the one before it, through an attribute or as a dataset's type."""
    with h5py.File(store, "w") as f:
        g = f.create_group("g", track_order=True)
        for i in reversed(range(5)):
            f[f"t{i}"] = np.dtype([("x", "<i4"), (f"y{i}", "<f8")])
            f[f"t{i}"].attrs.create("next", np.zeros((), f[f"t{i}"].dtype), dtype=f[f"t{min(i + 1, 4)}"] if i < 4 else None)
            f.create_dataset(f"d{i}", (2,), dtype=f[f"t{i}"])
        for i in range(5):
            f.move(f"d{i}", f"g/d{i}")
            f.move(f"t{i}", f"g/t{i}")
        expected = list(g)
    with h5py.File(store) as f:
        assert list(f["g"]) == expected and len(expected) == 10
        for i in range(5):
            assert h5py.h5i.get_name(f[f"g/d{i}"].id.get_type()) == f"/g/t{i}".encode()


def test_hard_links_are_counted_before_all_of_them_were_followed(store):
    with h5py.File(store, "w") as f:
        f["a/x"] = 1
        f["b/y"] = f["a/x"]
        f["b/root"] = f["/"]
        f["c/d/x"] = f["a/x"]
    with h5py.File(store) as f:
        assert h5py.h5o.get_info(f["a/x"].id).rc == 3
    with h5py.File(store, "r+") as f:
        assert h5py.h5o.get_info(f.id).rc == 2
        del f["c"]
        assert h5py.h5o.get_info(f["b/y"].id).rc == 2
    with h5py.File(store, "r") as f:
        counts = {}
        h5py.h5o.visit(f.id, lambda name, info: counts.update({name: info.rc}), info=True)
        assert counts[b"a"] == 1 and counts[b"a/x"] == 2
