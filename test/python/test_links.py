"""Links and names: soft and hard ones, mounted files and references, within a store."""
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
