"""Names that are no UTF-8 text: JSON has none. Attributes keep theirs beside, links are refused; nothing is overwritten."""
import h5py
import numpy as np
import pytest

ODD = [b"caf\xe9", b"caf\xe8"]  # Latin-1


def attributes_of(item, index_type=h5py.h5.INDEX_NAME):
    """By their names as bytes, in the order of an index."""
    opened = [h5py.h5a.open(item.id, index=i, index_type=index_type) for i in range(h5py.h5a.get_num_attrs(item.id))]
    return [(one.name if isinstance(one.name, bytes) else one.name.encode(), read(one)) for one in opened]


def read(attribute):
    value = np.empty(attribute.shape, attribute.dtype)
    attribute.read(value)
    return value.tolist()


@pytest.mark.parametrize("track_order", [False, True])
def test_attributes_with_other_names_come_back(store, track_order):
    with h5py.File(store, "w", track_order=track_order) as f:
        for item in f, f.create_dataset("d", data=[1, 2], track_order=track_order):
            for number, name in enumerate(ODD):
                item.attrs.create(name, np.array([number, 7], "i2"))
            item.attrs["caf\u00e9"] = 2
            item.attrs["good"] = 1
            h5py.h5a.rename(item.id, b"good", b"\xffrenamed")
            item.attrs[b"\xfegone"] = 3
            del item.attrs[b"\xfegone"]
        index = h5py.h5.INDEX_CRT_ORDER if track_order else h5py.h5.INDEX_NAME
        made = [attributes_of(f, index), attributes_of(f["d"], index)]
    expected = [(ODD[0], [0, 7]), (ODD[1], [1, 7]), ("caf\u00e9".encode(), 2), (b"\xffrenamed", 1)]
    assert made == [expected if track_order else sorted(expected)] * 2
    with h5py.File(store, "r+") as f:
        assert [attributes_of(f, index), attributes_of(f["d"], index)] == made
        f.attrs[ODD[0]] = 5  # its type changes
        h5py.h5a.rename(f.id, b"\xffrenamed", b"good")
    with h5py.File(store) as f:
        assert dict(attributes_of(f)) == {ODD[0]: 5, ODD[1]: [1, 7], "caf\u00e9".encode(): 2, b"good": 1}


def test_plain_zarr_tools_read_a_store_with_such_attributes(store):
    zarr = pytest.importorskip("zarr")
    with h5py.File(store, "w") as f:
        f.create_dataset("d", data=[1, 2]).attrs[ODD[0]] = 1
        f["d"].attrs["good"] = 1
    array = zarr.open_array(store + "/d", mode="r+")
    assert array.attrs["good"] == 1
    array.attrs["more"] = 2
    with h5py.File(store) as f:
        assert dict(attributes_of(f["d"])) == {ODD[0]: 1, b"good": 1, b"more": 2}


def test_such_attributes_go_with_a_copy(store, tmp_path):
    with h5py.File(tmp_path / "native.h5", "w") as native, h5py.File(store, "w") as f:
        native.create_group("g/h").attrs[ODD[0]] = 1
        native.copy("g", f)
        f.copy("g", native, name="back")
        assert attributes_of(native["back/h"]) == [(ODD[0], 1)]
    with h5py.File(store) as f:
        assert attributes_of(f["g/h"]) == [(ODD[0], 1)]


def links(group):
    create = group.id.links
    return {"soft": lambda name: create.create_soft(name, b"/a"), "hard": lambda name: group.id.link(b"a", name),
            "external": lambda name: create.create_external(name, b"x.h5", b"/a"),
            "target": lambda name: create.create_soft(b"fine", name),
            "file": lambda name: create.create_external(b"fine", name, b"/a")}


@pytest.mark.parametrize("kind", ["soft", "hard", "external", "target", "file"])
def test_links_with_other_names_are_refused_when_they_are_made(store, kind):
    with h5py.File(store, "w") as f:
        f["a"] = np.arange(3)
        for name in ODD:
            with pytest.raises((OSError, ValueError, RuntimeError), match="no UTF-8 text"):
                links(f)[kind](name)
        assert list(f) == ["a"]
    with h5py.File(store) as f:
        assert list(f) == ["a"]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_names_that_only_others_give_are_read_as_they_are_listed(store, zarr_format):
    zarr = pytest.importorskip("zarr")
    names = ["...", ".zoo", ".z", ".zattrs2", "__x", ".hidden"]
    group = zarr.open_group(store, mode="w", zarr_format=zarr_format)
    for number, name in enumerate(names):
        group.create_array(name, data=np.array([number, 1]))
        group.create_group("g" + name).create_array(name, data=np.array([2, number]))
    with h5py.File(store, "r+") as f:
        assert sorted(f) == sorted(names + ["g" + name for name in names])
        for number, name in enumerate(names):
            assert name in f and f[name][()].tolist() == [number, 1]
            assert f[f"g{name}/{name}"][()].tolist() == [2, number]
            f[name][1] = 7
            f[name].attrs["a"] = number
        for name in ("..", ".", "x" * 300, "zarr.json", ".zgroup", ".zarray"):
            assert name == "." or name not in f
        for name in ("....", ".zoo2"):
            with pytest.raises(ValueError, match="cannot name a Zarr node"):
                f.create_group(name)
    for number, name in enumerate(names):
        array = zarr.open_array(f"{store}/{name}", mode="r")
        assert array[...].tolist() == [number, 7] and array.attrs["a"] == number
