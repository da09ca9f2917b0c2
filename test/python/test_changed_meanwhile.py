"""What another program stores in a store that we have open for writing is kept, and so is what we store: attribute by
attribute, link by link. Where both changed the same, nothing is overwritten, and the error says what it is."""
import contextlib
import json
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest
import zarr

import s3_support
from http_support import fault_server
from s3_support import KEYS
from support import environment
from test_s3 import use

LOOP = """
import json, sys, traceback
names = {}
for line in sys.stdin:
    asked = json.loads(line)
    names.update(asked["values"])
    try:
        exec(asked["code"], names)
        said = "done"
    except Exception:
        said = traceback.format_exc()
    print(json.dumps([said, names.pop("answer", None)]), flush=True)
"""


class Other:
    """A process of its own that does what it is told."""

    def __init__(self, connector="zarr"):
        self.process = subprocess.Popen([sys.executable, "-c", LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment(connector=connector))

    def run(self, code, fails=None, **values):
        """Runs `code` with these names; what it leaves in `answer`. With `fails`, a failure that says so is expected."""
        self.process.stdin.write(json.dumps({"code": code, "values": values}) + "\n")
        self.process.stdin.flush()
        said, answer = json.loads(self.process.stdout.readline())
        if fails is None:
            assert said == "done", said
        else:
            assert said != "done" and fails in said, said
        return answer

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0


@pytest.fixture(scope="module")
def other():
    process = Other()
    process.run("import h5py, zarr, numpy as np, json, os")
    yield process
    process.end()


@pytest.fixture(params=[2, 3], ids=["v2", "v3"])
def stored(request, store):
    """A store with a group and an array, made by zarr-python."""
    root = zarr.open_group(store, mode="w", zarr_format=request.param)
    root.attrs["k"] = "root"
    g = root.create_group("g", attributes={"mine": 1, "yours": 1, "gone": 1})
    a = g.create_array("a", shape=(4, 4), chunks=(2, 2), dtype="i4", fill_value=0)
    a[...] = np.arange(16).reshape(4, 4)
    a.attrs.update({"mine": 1, "yours": 1})
    return store


def attributes(store, path):
    return dict(zarr.open(store, path=path, mode="r").attrs)


def shown(attributes):
    return {name: value for name, value in attributes.items() if name != "_hdf5"}


ZARR_SETS = "zarr.open(store, path=path, mode='r+').attrs.update(changes)"
ZARR_DELETES = "del zarr.open(store, path=path, mode='r+').attrs[name]"


@pytest.mark.parametrize("path", ["g", "g/a", ""])
def test_attributes_of_zarr_python_stay_beside_ours(stored, other, path):
    with h5py.File(stored, "r+") as f:
        node = f[path or "/"]
        node.attrs["mine"] = 2
        node.attrs["added"] = [1, 2]
        other.run(ZARR_SETS, store=stored, path=path, changes={"yours": 2, "theirs": {"a": [1.5]}})
    kept = attributes(stored, path)
    assert kept["mine"] == 2 and kept["added"] == [1, 2]
    assert kept["yours"] == 2 and kept["theirs"] == {"a": [1.5]}


def test_deleted_attributes_stay_deleted_on_both_sides(stored, other):
    with h5py.File(stored, "r+") as f:
        del f["g"].attrs["mine"]
        other.run(ZARR_DELETES, store=stored, path="g", name="gone")
    assert shown(attributes(stored, "g")) == {"yours": 1}


def test_after_a_flush_the_program_sees_what_the_other_stored(stored, other):
    with h5py.File(stored, "r+") as f:
        g, a = f["g"], f["g/a"]
        for node, path in (g, "g"), (a, "g/a"):
            node.attrs["mine"] = 2
            other.run(ZARR_SETS, store=stored, path=path, changes={"yours": 5, "new": "x"})
        other.run("zarr.open(store, path='g/a', mode='r+').resize((6, 4))", store=stored)
        other.run("zarr.open(store, path='g', mode='r+').create_group('sub')", store=stored)
        f.flush()
        for node in g, a:
            assert node.attrs["mine"] == 2 and node.attrs["yours"] == 5 and node.attrs["new"] == "x"
        assert a.shape == (6, 4)
        assert "sub" in g


@pytest.mark.parametrize("path", ["g", "g/a"])
def test_what_both_changed_is_an_error_that_names_it_and_overwrites_nothing(stored, other, path):
    f = h5py.File(stored, "r+")
    f[path].attrs["mine"] = 2
    f[path].attrs["added"] = 7
    other.run(ZARR_SETS, store=stored, path=path, changes={"mine": 3})
    document = ".zattrs" if os.path.exists(f"{stored}/{path}/.zattrs") else "zarr.json"
    with pytest.raises((OSError, RuntimeError)) as failed:
        f.flush()
    for word in stored, f"{path}/{document}", "'mine'", "2", "3":
        assert word in str(failed.value)
    assert attributes(stored, path)["mine"] == 3 and "added" not in attributes(stored, path)
    assert f[path].attrs["mine"] == 2  # still ours to store
    f[path].attrs["mine"] = 3  # they agree now
    f.close()
    assert attributes(stored, path)["mine"] == 3 and attributes(stored, path)["added"] == 7


def test_the_same_change_on_both_sides_is_no_conflict(stored, other):
    with h5py.File(stored, "r+") as f:
        f["g"].attrs["mine"] = 2
        del f["g"].attrs["gone"]
        other.run(ZARR_SETS, store=stored, path="g", changes={"mine": 2})
        other.run(ZARR_DELETES, store=stored, path="g", name="gone")
    assert shown(attributes(stored, "g")) == {"mine": 2, "yours": 1}


def test_a_deleted_attribute_that_the_other_changed_is_an_error(stored, other):
    f = h5py.File(stored, "r+")
    del f["g"].attrs["mine"]
    other.run(ZARR_SETS, store=stored, path="g", changes={"mine": 3})
    with pytest.raises((OSError, RuntimeError), match="'mine'"):
        f.flush()
    f["g"].attrs["mine"] = 3
    f.close()
    assert attributes(stored, "g")["mine"] == 3


def test_a_kind_of_number_that_the_other_changed_is_kept(stored, other):
    with h5py.File(stored, "r+") as f:
        f["g"].attrs["mine"] = 2
        other.run(ZARR_SETS, store=stored, path="g", changes={"yours": 1.0})
    assert isinstance(attributes(stored, "g")["yours"], float)


def test_an_extent_that_zarr_python_changed_stays(stored, other):
    with h5py.File(stored, "r+") as f:
        f["g/a"].attrs["mine"] = 2
        f["g/a"][0, 0] = 100
        other.run("a = zarr.open(store, path='g/a', mode='r+'); a.resize((6, 4)); a[4:] = 9", store=stored)
    a = zarr.open(stored, path="g/a", mode="r")
    assert a.shape == (6, 4) and a[0, 0] == 100 and (a[4:] == 9).all() and a.attrs["mine"] == 2


def test_elements_written_where_the_other_cut_the_array_are_gone(stored, other):
    with h5py.File(stored, "r+") as f:
        f["g/a"].attrs["mine"] = 2
        f["g/a"][3, 3] = 100  # a part of a chunk: it waits
        f["g/a"][0, 0] = 5
        other.run("zarr.open(store, path='g/a', mode='r+').resize((2, 2))", store=stored)
        f.flush()
        assert f["g/a"].shape == (2, 2) and f["g/a"][0, 0] == 5
    a = zarr.open(stored, path="g/a", mode="r+")
    a.resize((4, 4))
    assert a[3, 3] == 0


def test_extents_changed_on_both_sides_are_an_error(store, other):
    with h5py.File(store, "w") as f:
        f.create_dataset("a", (4,), "i4", maxshape=(None,), chunks=(2,))
    f = h5py.File(store, "r+")
    f["a"].resize((6,))
    other.run("zarr.open(store, path='a', mode='r+').resize((8,))", store=store)
    with pytest.raises((OSError, RuntimeError), match=r"a/zarr.json.*shape.*\[8\].*\[6\]"):
        f.flush()
    assert zarr.open(store, path="a", mode="r").shape == (8,)
    f["a"].resize((8,))
    f.close()
    assert zarr.open(store, path="a", mode="r").shape == (8,)


def test_growing_from_an_extent_that_the_other_changed_loses_no_elements(store, other):
    with h5py.File(store, "w") as f:
        f.create_dataset("a", data=np.arange(5, dtype="i4"), maxshape=(None,), chunks=(4,))
    with h5py.File(store, "r+") as f:
        a = f["a"]
        assert a.shape == (5,)
        other.run("a = zarr.open(store, path='a', mode='r+'); a.resize((7,)); a[5:] = 9", store=store)
        a.resize((9,))
        a[7:] = 8
    assert zarr.open(store, path="a", mode="r")[...].tolist() == [0, 1, 2, 3, 4, 9, 9, 8, 8]


def test_an_array_replaced_by_another_is_an_error_and_stays(stored, other):
    f = h5py.File(stored, "r+")
    f["g/a"].attrs["mine"] = 2
    other.run("""
g = zarr.open(store, path='g', mode='r+')
g.create_array('a', shape=(4, 4), chunks=(4, 4), dtype='f8', overwrite=True, fill_value=1.5)
""", store=stored)
    with pytest.raises((OSError, RuntimeError), match="was replaced"):
        f.flush()
    a = zarr.open(stored, path="g/a", mode="r")
    assert a.dtype == "f8" and "mine" not in a.attrs
    other.run("zarr.open(store, path='g', mode='r+')", store=stored)
    with pytest.raises((OSError, RuntimeError)):
        f.close()
    other.run("import shutil, os; shutil.rmtree(os.path.join(store, 'g'))", store=stored)
    f.close()  # what is gone is let go of


def test_groups_that_zarr_python_adds_and_ours_are_all_there(stored, other):
    with h5py.File(stored, "r+") as f:
        f.create_group("g/ours").attrs["k"] = 1
        f["g"].attrs["mine"] = 2
        other.run("zarr.open(store, path='g', mode='r+').create_group('theirs').attrs['k'] = 2", store=stored)
    g = zarr.open_group(stored, path="g", mode="r")
    assert g["ours"].attrs["k"] == 1 and g["theirs"].attrs["k"] == 2


WAITING = "f = h5py.File(store, 'r+'); g = f['g']"


def test_two_of_ours_add_attributes_and_links_to_one_group(stored, other):
    f = h5py.File(stored, "r+")
    other.run(WAITING, store=stored)
    f["g"].attrs["ours"] = np.float32(1.5)
    f["g/soft1"] = h5py.SoftLink("/g/a")
    f["g/out1"] = h5py.ExternalLink("x.h5", "/y")
    f["g/hard1"] = f["g/a"]
    other.run("""
g.attrs['theirs'] = np.int16(7)
g['soft2'] = h5py.SoftLink('/g/a')
g['out2'] = h5py.ExternalLink('z.h5', '/y')
g['hard2'] = f['g/a']
""")
    f.close()
    other.run("f.close()")
    with h5py.File(stored, "r") as f:
        g = f["g"]
        assert g.attrs["ours"].dtype == "f4" and g.attrs["theirs"].dtype == "i2"
        assert set(g) == {"a", "soft1", "soft2", "out1", "out2", "hard1", "hard2"}
        assert g["hard1"] == g["a"] == g["hard2"] and g["soft2"] == g["a"]
        assert g.get("out2", getlink=True).filename == "z.h5"


def test_links_removed_on_one_side_and_added_on_the_other(stored, other):
    with h5py.File(stored, "r+") as f:
        f["g/s"], f["g/t"] = h5py.SoftLink("/g/a"), h5py.SoftLink("/g/a")
    f = h5py.File(stored, "r+")
    other.run(WAITING + "; list(g)", store=stored)
    del f["g/s"]
    f["g/u"] = h5py.SoftLink("/")
    f.flush()
    other.run("del g['t']; g['v'] = h5py.SoftLink('/'); f.close()")
    f.close()
    with h5py.File(stored, "r") as f:
        assert set(f["g"]) == {"a", "u", "v"}


def test_a_link_made_by_both_that_leads_elsewhere_is_an_error(stored, other):
    f = h5py.File(stored, "r+")
    other.run(WAITING, store=stored)
    f["g/s"] = h5py.SoftLink("/g/a")
    f.flush()
    other.run("g['s'] = h5py.SoftLink('/')")
    other.run("f.flush()", fails="link 's'")
    other.run("del g['s']; f.close()")
    f.close()
    with h5py.File(stored, "r") as f:
        assert f["g"].get("s", getlink=True).path == "/g/a"


@pytest.mark.parametrize("connector", ["zarr", "zarr zarr_format=2"])
def test_creation_orders_of_both_are_joined(store, connector):
    first, second = Other(connector), Other(connector)
    first.run("import h5py; h5py.File(store, 'w', track_order=True).create_group('a', track_order=True)", store=store)
    first.run("import gc; gc.collect()")
    for process in first, second:
        process.run("import h5py; f = h5py.File(store, 'r+'); list(f), list(f['a'])", store=store)
    first.run("f.create_group('z'); f['a'].create_group('q'); f['a'].attrs['t'] = 1")
    second.run("f.create_group('b'); f['a'].create_group('c'); f['a'].attrs['s'] = 1")
    first.run("f.close()")
    second.run("f.close()")
    with h5py.File(store, "r") as f:
        assert list(f) == ["a", "z", "b"] and list(f["a"]) == ["q", "c"] and list(f["a"].attrs) == ["t", "s"]
    for process in first, second:
        process.end()


def test_both_change_one_attribute_and_the_second_is_told(stored, other):
    f = h5py.File(stored, "r+")
    other.run(WAITING, store=stored)
    f["g"].attrs["mine"] = 5
    other.run("g.attrs['mine'] = 6")
    f.close()
    other.run("f.flush()", fails="'mine'")
    assert attributes(stored, "g")["mine"] == 5
    other.run("g.attrs['mine'] = 5; f.close()")


def test_a_type_changed_on_both_sides_is_an_error_though_the_value_is_the_same(stored, other):
    f = h5py.File(stored, "r+")
    other.run(WAITING, store=stored)
    f["g"].attrs["mine"] = np.int8(1)
    other.run("g.attrs['mine'] = np.float32(1)")
    f.close()
    other.run("f.flush()", fails="'mine'")
    other.run("g.attrs['mine'] = np.int8(1); f.close()")


def test_groups_made_by_both_are_one(stored, other):
    f = h5py.File(stored, "r+")
    other.run(WAITING, store=stored)
    f.create_group("g/n").attrs["ours"] = 1
    other.run("g.create_group('n').attrs['theirs'] = 2")
    f.close()
    other.run("f.close()")
    assert shown(attributes(stored, "g/n")) == {"ours": 1, "theirs": 2}


def test_an_array_made_by_both_is_the_first_ones(stored, other):
    f = h5py.File(stored, "r+")
    other.run(WAITING, store=stored)
    f["g"].create_dataset("n", (3,), "i4")
    other.run("g.create_dataset('n', (5,), 'f8')")
    f.close()
    other.run("f.flush()", fails="'g/n'")
    assert zarr.open(stored, path="g/n", mode="r").shape == (3,)
    other.run("del g['n']; f.close()")
    assert zarr.open(stored, path="g/n", mode="r").shape == (3,)


def test_a_node_that_waits_for_a_conflict_keeps_no_other_from_being_stored(stored, other):
    f = h5py.File(stored, "r+")
    f["g"].attrs["mine"] = 2
    f["g/a"].attrs["mine"] = 2
    f["g/a"][0, 0] = 77
    other.run(ZARR_SETS, store=stored, path="g", changes={"mine": 3})
    with pytest.raises((OSError, RuntimeError)):
        f.flush()
    assert attributes(stored, "g/a")["mine"] == 2 and zarr.open(stored, path="g/a", mode="r")[0, 0] == 77
    f["g"].attrs["mine"] = 3
    f.close()


@pytest.mark.parametrize("again", [False, True], ids=["at close", "at flush"])
def test_consolidated_metadata_that_another_wrote_meanwhile_is_true_at_the_end(stored, other, again):
    with h5py.File(stored, "r+") as f:
        f["g"].attrs["mine"] = 2
        f.flush()
        other.run("zarr.consolidate_metadata(store)", store=stored)
        f["g/a"].attrs["mine"] = 3
        if again:
            f.flush()
            group = zarr.open_group(stored, mode="r")  # with what is there: none, or what is true
            assert group["g/a"].attrs["mine"] == 3
            f["g/a"].attrs["mine"] = 4
    expected = 4 if again else 3
    group = zarr.open_consolidated(stored)
    assert group["g/a"].attrs["mine"] == expected and group["g"].attrs["mine"] == 2


def test_members_of_documents_that_others_add_stay(stored, other):
    is_v3 = os.path.exists(f"{stored}/zarr.json")
    key = "g/zarr.json" if is_v3 else "g/.zgroup"
    with h5py.File(stored, "r+") as f:
        f["g"].attrs["mine"] = 2
        with open(f"{stored}/{key}") as file:
            document = json.load(file)
        document["extra"] = {"must_understand": False, "x": 1}
        with open(f"{stored}/{key}.new", "w") as file:
            json.dump(document, file)
        os.rename(f"{stored}/{key}.new", f"{stored}/{key}")
    with open(f"{stored}/{key}") as file:
        assert json.load(file)["extra"] == {"must_understand": False, "x": 1}
    with h5py.File(stored, "r") as f:
        assert f["g"].attrs["mine"] == 2


def test_dimension_names_that_the_other_gives_stay(stored, other):
    with h5py.File(stored, "r+") as f:
        f["g/a"].attrs["mine"] = 2
        f.flush()
        other.run("""
path = os.path.join(store, 'g/a')
key = os.path.join(path, 'zarr.json')
if os.path.exists(key):
    d = json.load(open(key)); d['dimension_names'] = ['p', 'q']
else:
    key = os.path.join(path, '.zattrs')
    d = json.load(open(key)); d['_ARRAY_DIMENSIONS'] = ['p', 'q']
json.dump(d, open(key, 'w'))
""", store=stored)
        f["g/a"].attrs["mine"] = 3
    a = zarr.open(stored, path="g/a", mode="r")
    names = a.attrs["_ARRAY_DIMENSIONS"] if a.metadata.zarr_format == 2 else a.metadata.dimension_names
    assert list(names) == ["p", "q"] and a.attrs["mine"] == 3


@contextlib.contextmanager
def served_bucket(kind, folder):
    (folder / "bucket").mkdir()
    if kind == "moto":
        with s3_support.moto(folder) as url:
            yield url
        return
    with fault_server(folder, s3=True, no_conditions=kind == "no conditions") as server:
        yield server.url


@pytest.mark.parametrize("connector", ["zarr", "zarr zarr_format=2"], ids=["v3", "v2"])
@pytest.mark.parametrize("kind", ["conditions", "no conditions", "moto"])
def test_in_a_bucket_two_of_ours_keep_what_the_other_stored(tmp_path, monkeypatch, kind, connector):
    with served_bucket(kind, tmp_path) as url:
        use(monkeypatch, url, **KEYS)
        store = "s3://bucket/x.zarr"
        first, second = Other(connector), Other(connector)
        first.run("""
import h5py
with h5py.File(store, "w") as f:
    f.create_group("g").attrs["mine"] = 1
    f.create_dataset("a", (4,), "i4", maxshape=(None,), chunks=(2,))
f = h5py.File(store, "r+")
""", store=store)
        second.run("import h5py; f = h5py.File(store, 'r+'); f['g'], f['a']", store=store)
        first.run("for name in 'ga': f[name].attrs['ours'] = 1")
        second.run("for name in 'ga': f[name].attrs['theirs'] = 2")
        second.run("f['a'].resize((6,)); f['g'].attrs['mine'] = 5")
        first.run("f.close()")
        second.run("f.close()")
        first.run("""
f = h5py.File(store, "r+")
for name in "ga":
    assert f[name].attrs["ours"] == 1 and f[name].attrs["theirs"] == 2
assert f["a"].shape == (6,) and f["g"].attrs["mine"] == 5
""")
        second.run("f = h5py.File(store, 'r+'); f['g'].attrs['mine'] = 6; f.close()")
        first.run("f['g'].attrs['mine'] = 7")
        first.run("f.flush()", fails="'mine'")
        first.run("f['g'].attrs['mine'] = 6; f.close()")
        first.end()
        second.end()


def test_in_a_bucket_a_change_costs_no_more_requests_than_a_write(tmp_path, monkeypatch):
    (tmp_path / "bucket").mkdir()
    with fault_server(tmp_path, s3=True) as server:
        use(monkeypatch, server.url)
        with h5py.File("s3://bucket/x.zarr", "w") as f:
            f.create_group("g")
        with h5py.File("s3://bucket/x.zarr", "r+") as f:
            g = f["g"]
            g.attrs["k"] = 0
            f.flush()
            server.requests()
            for i in range(5):
                g.attrs["k"] = 1 + i
                f.flush()
            asked = [one for one in server.requests() if one["path"].endswith("/g/zarr.json")]
            assert len(asked) == 5 and all("if-match" in one["headers"] for one in asked)
