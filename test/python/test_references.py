"""Region references and committed datatypes: each script runs on an HDF5 file and on a store alike."""
import json
import os

import h5py
import numpy as np
import pytest
from h5py import h5i, h5r, h5s

from support import documents, read_calls, read_zarr_python, run, tool, tree


@pytest.fixture(params=["same.zarr", "same.h5"])
def path(request, tmp_path):
    return str(tmp_path / request.param)


def regions_of(dataset):
    """Every kind of selection: a block, regular blocks, rows, all, none, points, irregular blocks."""
    points = h5s.create_simple(dataset.shape)
    points.select_elements(np.array([[0, 0], [3, 5], [1, 2]], "u8"))
    nothing = h5s.create_simple(dataset.shape)
    nothing.select_none()
    irregular = h5s.create_simple(dataset.shape)
    irregular.select_hyperslab((0, 0), (1, 1), block=(2, 2))
    irregular.select_hyperslab((1, 3), (1, 1), block=(3, 2), op=h5s.SELECT_OR)
    low_level = [h5r.create(dataset.id, b".", h5r.DATASET_REGION, space)
                 for space in (points, nothing, irregular)]
    return [dataset.regionref[1:3, 2:5], dataset.regionref[0:4:2, 1::3], dataset.regionref[[0, 2], :],
            dataset.regionref[...], *low_level, h5py.RegionReference()]


def describe(f, ref):
    if not ref:
        return None
    space = h5r.get_region(ref, f.id)
    kind = space.get_select_type()
    said = [h5r.get_name(ref, f.id), space.shape, kind, space.get_select_npoints()]
    if kind == h5s.SEL_HYPERSLABS:
        said.append(space.get_select_hyper_blocklist().tolist())
    elif kind == h5s.SEL_POINTS:
        said.append(space.get_select_elem_pointlist().tolist())
    return said


def test_region_references_come_back_as_they_were(path):
    with h5py.File(path, "w") as f:
        data = f.create_dataset("g/data", data=np.arange(24).reshape(4, 6))
        refs = regions_of(data)
        expected = [describe(f, ref) for ref in refs]
        f.create_dataset("refs", data=np.array(refs, h5py.regionref_dtype))
        f.create_dataset("later", (3,), h5py.regionref_dtype)[1] = refs[0]
        f.attrs.create("refs", np.array(refs, h5py.regionref_dtype))
        data.attrs["own"] = refs[0]
    with h5py.File(path, "r") as f:
        for held in (f["refs"][:], f.attrs["refs"]):
            assert [describe(f, ref) for ref in held] == expected
        assert f["g/data"][f["g/data"].attrs["own"]].tolist() == [[8, 9, 10], [14, 15, 16]]
        assert [bool(ref) for ref in f["later"]] == [False, True, False]


def test_references_of_all_kinds_within_other_types(path):
    row = np.dtype([("number", "i4"), ("object", h5py.ref_dtype), ("region", h5py.regionref_dtype),
                    ("list", h5py.vlen_dtype(np.int16)), ("three", h5py.ref_dtype, (3,))])
    with h5py.File(path, "w") as f:
        data = f.create_dataset("data", data=np.arange(24).reshape(4, 6))
        rows = f.create_dataset("rows", (2,), row)
        rows[0] = (1, data.ref, data.regionref[1], np.array([1, 2], "i2"), (f.ref, None, data.ref))
        lists = f.create_dataset("lists", (2,), h5py.vlen_dtype(h5py.ref_dtype))
        lists[0] = np.array([data.ref, f.ref], h5py.ref_dtype)
        f.attrs.create("rows", rows[:], dtype=row)
    with h5py.File(path, "r") as f:
        for first, second in (f["rows"][:], f.attrs["rows"]):
            assert (first["number"], first["list"].tolist()) == (1, [1, 2])
            assert f[first["object"]].name == "/data"
            assert f["data"][first["region"]].ravel().tolist() == [6, 7, 8, 9, 10, 11]
            assert [bool(ref) and f[ref].name for ref in first["three"]] == ["/", False, "/data"]
            assert not second["object"] and not second["region"]
        assert [f[ref].name for ref in f["lists"][0]] == ["/data", "/"] and len(f["lists"][1]) == 0


def test_a_region_of_a_deleted_dataset_is_a_null_reference_afterwards(store):
    with h5py.File(store, "w") as f:
        f["data"] = np.arange(3)
        f["refs"] = np.array([f["data"].regionref[1:]], h5py.regionref_dtype)
    with h5py.File(store, "r+") as f:
        del f["data"]
    with h5py.File(store, "r") as f:
        assert not f["refs"][0]


def test_regions_are_json_texts_to_other_readers(store):
    with h5py.File(store, "w") as f:
        data = f.create_dataset("data", data=np.arange(24).reshape(4, 6))
        f["refs"] = np.array([data.regionref[1:3, 2:5], data.regionref[::2, :], h5py.RegionReference()],
                             h5py.regionref_dtype)
    block, regular, null = map(json.loads, read_zarr_python(store, "refs"))
    assert block == {"path": "/data", "blocks": [[[1, 2], [2, 4]]]}
    assert regular == {"path": "/data", "start": [0, 0], "stride": [2, 1], "count": [2, 1], "block": [1, 6]}
    assert null == ""


@pytest.mark.parametrize("text", ['{"path": "/data", "blocks": [[[0], [9]]]}', '{"path": "/data"}',
                                  '{"path": "/data", "points": [[1, 2, 3]]}', "7", '["/data"]'])
def test_a_damaged_region_is_an_error(store, text):
    import zarr

    with h5py.File(store, "w") as f:
        data = f.create_dataset("data", data=np.arange(24).reshape(4, 6))
        f["refs"] = np.array([data.regionref[1:3, 2:5]], h5py.regionref_dtype)
    zarr.open_array(os.path.join(store, "refs"))[0] = text
    with h5py.File(store, "r") as f, pytest.raises(OSError):
        f["refs"][0]


def test_h5diff_and_h5dump_see_the_same_references(tmp_path):
    files = [str(tmp_path / name) for name in ("same.h5", "same.zarr", "other.h5")]
    said = []
    for name in files:
        with h5py.File(name, "w") as f:
            data = f.create_dataset("g/data", data=np.arange(24).reshape(4, 6))
            f["refs"] = np.array(regions_of(data), h5py.regionref_dtype)
            f["objects"] = np.array([data.ref, f.ref], h5py.ref_dtype)
            f.attrs["one"] = data.regionref[1]
        said.append(run([tool("h5dump"), name]).stdout.replace(name, ""))
    assert said[0] == said[1]
    # (h5diff has things to say about references between equal HDF5 files, too.)
    expected = run([tool("h5diff"), "-v", files[0], files[2]])
    done = run([tool("h5diff"), "-v", *files[:2]])
    assert (done.returncode, done.stdout) == (0, expected.stdout), done.stdout + done.stderr


def committed(type_id):
    return (bool(type_id.committed()), h5i.get_name(type_id) if type_id.committed() else None)


def test_datasets_and_attributes_keep_their_committed_type(path):
    with h5py.File(path, "w") as f:
        f["types/number"] = np.dtype("<i4")
        f["types/row"] = np.dtype([("x", "<f8"), ("text", h5py.string_dtype())])
        number = f["types/number"]
        data = f.create_dataset("data", data=[1, 2, 3], dtype=number)
        f.create_dataset("rows", (2,), dtype=f["types/row"])
        f.create_dataset("plain", data=np.arange(3, dtype="<i4"))
        f.attrs.create("number", np.arange(2, dtype="i4"), dtype=number)
        number.attrs.create("own", np.int32(7), dtype=number)
        number.attrs["user"] = data.ref  # leads in a circle
    with h5py.File(path, "r+") as f:
        assert committed(f["data"].id.get_type()) == (True, b"/types/number")
        assert committed(f["rows"].id.get_type()) == (True, b"/types/row")
        assert committed(f["plain"].id.get_type()) == (False, None)
        assert committed(f.attrs.get_id("number").get_type()) == (True, b"/types/number")
        assert committed(f["types/number"].attrs.get_id("own").get_type()) == (True, b"/types/number")
        assert f["data"].id.get_type() == f["types/number"].id
        assert f["data"][:].tolist() == [1, 2, 3] and f.attrs["number"].tolist() == [0, 1]
        assert f[f["types/number"].attrs["user"]] == f["data"]
        f.move("types/number", "renamed")
        f["data"].attrs["changed"] = 1
    with h5py.File(path, "r") as f:
        assert committed(f["data"].id.get_type()) == (True, b"/renamed")


def test_a_committed_type_found_through_its_user_alone(path):
    with h5py.File(path, "w") as f:
        f["number"] = np.dtype("<i4")
        f["number"].attrs["user"] = f.create_dataset("data", data=[1, 2], dtype=f["number"]).ref
    with h5py.File(path, "r") as f:
        assert committed(f["data"].id.get_type()) == (True, b"/number")


def test_without_its_committed_type_a_dataset_has_a_type_of_its_own(store):
    with h5py.File(store, "w") as f:
        f["number"] = np.dtype("<i4")
        f.create_dataset("data", data=[1, 2], dtype=f["number"])
    with h5py.File(store, "r+") as f:
        del f["number"]
    with h5py.File(store, "r") as f:
        assert committed(f["data"].id.get_type()) == (False, None)
        assert f["data"][:].tolist() == [1, 2]


# What refers to what, in every form there is: filled by refer(), told again by referred().
ROW = np.dtype([("number", "i4"), ("object", h5py.ref_dtype), ("region", h5py.regionref_dtype)])


def refer(f):
    data = f.create_dataset("g/sub/data", data=np.arange(24).reshape(4, 6))
    f["g/type"] = np.dtype("<i4")
    f["other"] = 1
    targets = [data.ref, f["g"].ref, f["other"].ref, h5py.Reference()]
    f.create_dataset("many", (400, 3), h5py.ref_dtype, chunks=(50, 2))[120:124, 1] = targets
    f["many"][399, 2] = data.ref
    f["regions"] = np.array([data.regionref[1], data.regionref[2:, ::2], h5py.RegionReference()],
                            h5py.regionref_dtype)
    f.create_dataset("rows", (2,), ROW)[0] = (1, data.ref, data.regionref[3])
    f.create_dataset("lists", (2,), h5py.vlen_dtype(h5py.ref_dtype))[1] = np.array(targets, h5py.ref_dtype)
    f.create_dataset("typed", data=[1, 2], dtype=f["g/type"])
    f.attrs["one"] = data.ref
    f.attrs.create("list", np.array(targets, h5py.ref_dtype))
    f.attrs.create("typed", np.arange(2, dtype="i4"), dtype=f["g/type"])
    f["g/sub"].attrs.create("row", f["rows"][:1], dtype=ROW)


def referred(f, sub):
    def name(ref):
        return h5i.get_name(f[ref].id).decode() if ref else None

    row, attribute = f["rows"][0], f[sub].attrs["row"][0]
    return {
        "many": [name(ref) for ref in f["many"][120:124, 1]] +
                [name(f["many"][399, 2]), bool(f["many"][0, 0])],
        "regions": [describe(f, ref) for ref in f["regions"]],
        "row": [name(row["object"]), describe(f, row["region"])],
        "lists": [name(ref) for ref in f["lists"][1]],
        "types": [committed(f["typed"].id.get_type()), committed(f.attrs.get_id("typed").get_type())],
        "attributes": [name(f.attrs["one"]), *map(name, f.attrs["list"])],
        "row attribute": [name(attribute["object"]), describe(f, attribute["region"])],
    }


MOVES = {
    "the target": [("g/sub/data", "data")],
    "a group above it": [("g", "h")],
    "into another group": [("g/sub", "other_group/deep/sub")],
    "and back": [("g/sub/data", "x"), ("x", "g/sub/data")],
    "in turn": [("g", "t"), ("t/sub", "g"), ("g/data", "t/data"), ("t", "g/t"), ("other", "g/other")],
    "what refers": [("many", "g/sub/many"), ("g", "h"), ("h/sub/many", "many")],
}


@pytest.mark.parametrize("when", ["at once", "later", "one by one"])
@pytest.mark.parametrize("moves", MOVES)
def test_references_follow_what_moves(tmp_path, moves, when):
    said = []
    for path in (str(tmp_path / "a.h5"), str(tmp_path / "a.zarr")):
        with h5py.File(path, "w") as f:
            refer(f)
            if when == "at once":
                for source, target in MOVES[moves]:
                    f.move(source, target)
        with h5py.File(path, "r+") as f:
            if when == "later":
                for source, target in MOVES[moves]:
                    f.move(source, target)
        for source, target in MOVES[moves] if when == "one by one" else ():
            with h5py.File(path, "r+") as f:
                f.move(source, target)
                f["rows"][0]  # in use, and moved again
        with h5py.File(path, "r") as f:
            sub = next(name for name in ("g/sub", "h/sub", "other_group/deep/sub", "g") if "row" in
                       getattr(f.get(name), "attrs", ()))
            said.append(referred(f, sub))
    assert said[0] == said[1]


def test_moved_references_are_plain_paths_to_other_readers(store):
    with h5py.File(store, "w") as f:
        refer(f)
    with h5py.File(store, "r+") as f:
        f.move("g", "h")
        assert f[f["many"][120, 1]] == f["h/sub/data"]
    assert read_zarr_python(store, "many")[120:124, 1].tolist() == ["/h/sub/data", "/h", "/other", ""]
    assert json.loads(read_zarr_python(store, "regions")[0])["path"] == "/h/sub/data"
    assert json.loads(read_zarr_python(store, "rows")[0])[1] == "/h/sub/data"
    root = documents(store)["zarr.json"]["attributes"]
    assert root["one"]["_REFERENCE"]["path"] == "/h/sub/data" and root["list"][1] == "/h"
    assert root["_hdf5"]["attrs"]["typed"]["type_ref"] == "/h/type"
    assert documents(store)["typed/zarr.json"]["attributes"]["_hdf5"]["type_ref"] == "/h/type"


def test_chunks_without_references_to_what_moved_are_not_written_again(store):
    with h5py.File(store, "w") as f:
        f["g/a"], f["b"] = 1, 2
        refs = f.create_dataset("refs", (1000000, 100), h5py.ref_dtype, chunks=(10, 10))
        refs[0, 0], refs[500, 50] = f["g/a"].ref, f["b"].ref
    before = {key: mtime for key, mtime, _ in tree(store + "/refs/c")}
    with h5py.File(store, "r+") as f:
        f.move("g", "h")
    after = {key: mtime for key, mtime, _ in tree(store + "/refs/c")}
    assert sorted(before) == sorted(after) and len(after) == 2
    assert [key for key in after if after[key] != before[key]] == [store + "/refs/c/0/0"]
    with h5py.File(store, "r") as f:
        assert f[f["refs"][0, 0]].name == "/h/a" and f[f["refs"][500, 50]].name == "/b"


def test_references_follow_a_node_to_its_other_hard_link(path):
    with h5py.File(path, "w") as f:
        f["a/x"] = np.arange(3)
        f["b/y"] = f["a/x"]
        f["refs"] = np.array([f["a/x"].ref], h5py.ref_dtype)
        f.attrs["ref"] = f["a/x"].ref
    with h5py.File(path, "r+") as f:
        del f["a/x"]
    with h5py.File(path, "r") as f:
        assert f[f["refs"][0]] == f["b/y"] and f[f.attrs["ref"]] == f["b/y"]


def test_stores_without_references_are_not_searched_for_them(store):
    with h5py.File(store, "w") as f:
        for i in range(500):
            f[f"g{i % 10}/a{i}"] = i
    with h5py.File(store, "r+") as f:
        before = read_calls()
        f.move("g0/a0", "g0/moved")
        f.move("g1/a1", "moved")
        f.flush()
        assert read_calls() - before < 250  # the neighbours' documents, for their dimensions
    assert "references" not in documents(store)["zarr.json"]["attributes"].get("_hdf5", {})


def test_a_failed_rewriting_of_references_is_done_by_the_next_close(store):
    with h5py.File(store, "w") as f:
        f["g/a"], f["b"] = 1, 2
        refs = f.create_dataset("refs", (100,), h5py.ref_dtype, chunks=(10,))
        refs[5:96:10] = np.array([f["b"].ref] * 10, h5py.ref_dtype)
    f = h5py.File(store, "r+")
    chunk = store + "/refs/c/4"
    with open(chunk, "rb") as file:
        good = file.read()
    with open(chunk, "wb") as file:
        file.write(b"damaged")
    f.move("g", "h")
    f.move("b", "g")  # a second pass over what became /g would make it /h
    for _ in range(2):
        assert f["refs"].shape == (100,)
        with pytest.raises(OSError):
            f["refs"][0:10]
        with pytest.raises((OSError, RuntimeError)):
            f.close()
    with open(chunk, "wb") as file:
        file.write(good)
    f.close()
    assert read_zarr_python(store, "refs")[5::10].tolist() == ["/g"] * 10
