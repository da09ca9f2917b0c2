"""Links across files: external ones between stores and HDF5 files, in any order."""
import os

import h5py
import numpy as np
import pytest

KINDS = [".zarr", ".h5"]


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


@pytest.mark.parametrize("name", ["circle.h5", "circle.zarr"])
def test_an_external_link_to_itself_is_an_error(tmp_path, name):
    with h5py.File(tmp_path / name, "w") as f:
        f["l"] = h5py.ExternalLink(name, "/l")
    with h5py.File(tmp_path / name, "r") as f, pytest.raises((KeyError, RuntimeError)):
        f["l"]


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
