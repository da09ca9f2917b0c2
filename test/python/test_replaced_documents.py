"""Documents that we replace stay the user's files: with their permissions and owner, behind symbolic links."""
import os
import stat

import h5py
import numpy as np
import pytest
import zarr

from support import run_python
from test_hostile import let_everybody_in


@pytest.fixture(params=[2, 3], ids=["v2", "v3"])
def stored(request, store):
    root = zarr.open_group(store, mode="w", zarr_format=request.param)
    g = root.create_group("g", attributes={"k": 1})
    g.create_array("a", shape=(4,), chunks=(4,), dtype="i4", fill_value=0)[...] = np.arange(4)
    return store


def documents(store):
    names = [os.path.join(folder, file) for folder, _, files in os.walk(store) for file in files]
    return [name for name in names if name.endswith(("zarr.json", ".zattrs", ".zarray", ".zgroup"))]


def change(store):
    with h5py.File(store, "r+") as f:
        f["g"].attrs["k"] = 2
        f["g/a"].attrs["k"] = 2
        f["g/a"][1] = 100


def test_permissions_and_owner_stay(stored):
    before = {}
    for number, name in enumerate(documents(stored)):
        os.chmod(name, 0o600 | number % 8)
        if os.geteuid() == 0:
            os.chown(name, 1000 + number, 2000 + number)
        info = os.stat(name)
        before[name] = (stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid)
    change(stored)
    for name, expected in before.items():
        info = os.stat(name)
        assert (stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid) == expected, name


def test_what_a_symbolic_link_leads_to_is_written(stored, tmp_path):
    away = tmp_path / "away"
    away.mkdir()
    for number, name in enumerate(documents(stored)):
        os.rename(name, away / str(number))
        os.symlink(os.path.relpath(away / str(number), os.path.dirname(name)), name)
    change(stored)
    for number, name in enumerate(documents(stored)):
        assert os.path.islink(name)
    assert sorted(os.listdir(away)) == sorted(str(i) for i in range(len(documents(stored))))
    assert dict(zarr.open(stored, path="g", mode="r").attrs)["k"] == 2
    assert zarr.open(stored, path="g/a", mode="r")[1] == 100


def other_user(code, *arguments):
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user")
    become = "import h5py, os, sys\nh5py.File(sys.argv[1], 'r').close()\nos.setgid(65534), os.setuid(65534)\n"
    return run_python(become + code, *arguments)


def test_a_group_that_cannot_be_removed_stays_whole(stored):
    let_everybody_in(stored)
    for folder, _, files in os.walk(stored):
        for name in [folder] + [os.path.join(folder, file) for file in files]:
            os.chown(name, 65534, 65534)
    os.chown(stored + "/g", 0, 0)  # what is in it cannot be renamed or removed
    other_user("""
f = h5py.File(sys.argv[1], "r+")
try:
    del f["g/a"]
    raise AssertionError("removed")
except (OSError, KeyError, RuntimeError) as error:
    assert "Permission denied" in str(error) and "g/a'" in str(error), error
assert f["g/a"][1] == 1 and f["g"].attrs["k"] == 1  # as it was
f.close()
""", stored)
    assert zarr.open(stored, path="g/a", mode="r")[1] == 1


def test_what_is_left_of_a_removed_group_is_hidden_and_named(stored):
    let_everybody_in(stored)
    for folder, _, files in os.walk(stored):
        os.chown(folder, 65534, 65534)
    os.chmod(os.path.join(stored, "g/a"), 0o555)
    other_user("""
f = h5py.File(sys.argv[1], "r+")
try:
    del f["g"]
    raise AssertionError("no word of it")
except (OSError, KeyError, RuntimeError) as error:
    assert "is gone, but" in str(error) and ".h5zarr-" in str(error), error
assert "g" not in f and list(f) == []
f.create_group("g").attrs["new"] = 1
f.close()
""", stored)
    assert dict(zarr.open(stored, path="g", mode="r").attrs)["new"] == 1
