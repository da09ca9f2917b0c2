"""Names that are no UTF-8 text: JSON has none, so what would be kept there is refused, and nothing is overwritten."""
import h5py
import numpy as np
import pytest

ODD = [b"caf\xe9", b"caf\xe8"]  # Latin-1


def test_attributes_with_other_names_are_refused_when_they_are_made(store):
    with h5py.File(store, "w") as f:
        for name in ODD:
            with pytest.raises((OSError, ValueError, RuntimeError), match="no UTF-8 text"):
                f.attrs[name] = 1
        f.attrs["good"] = 1
        with pytest.raises((OSError, ValueError, RuntimeError), match="no UTF-8 text"):
            h5py.h5a.rename(f.id, b"good", ODD[0])
        f.attrs["caf\u00e9"] = 2
    with h5py.File(store) as f:
        assert dict(f.attrs) == {"good": 1, "caf\u00e9": 2}


def test_a_copy_with_such_attributes_fails_and_leaves_nothing(store, tmp_path):
    with h5py.File(tmp_path / "native.h5", "w") as native, h5py.File(store, "w") as f:
        native.create_group("g/h").attrs[ODD[0]] = 1
        with pytest.raises((OSError, ValueError, RuntimeError), match="no UTF-8 text"):
            native.copy("g", f)
        assert list(f) == []
    with h5py.File(store) as f:
        assert list(f) == []


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
