"""HDF5's whole model: everything.py makes one of each natively and in a store, and each is described by a
process of its own. Both descriptions are equal but for what README.md lists."""
import json
import sys
from pathlib import Path

import h5py
import pytest

from support import run

SCRIPT = Path(__file__).with_name("everything.py")
pytestmark = pytest.mark.skipif(h5py.version.hdf5_version_tuple < (2,), reason="it needs HDF5 2's types")

# Fill values of several numbers that differ: Zarr has one number for them.
REFUSED_FILLS = {"long_double", "type_array", "type_array_of_array", "type_complex_native_half", "type_float24",
                 "type_long_double"}
# HDF5 itself puts members in the order of their offsets when it converts them.
REORDERED = "compound_backwards"


def script(action, path, **env):
    done = run([sys.executable, SCRIPT, action, path], **env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    folder = tmp_path_factory.mktemp("everything")
    files = {"native": (folder / "all.h5", {"connector": None, "plugin": False}), "zarr": (folder / "all.zarr", {})}
    said = {}
    for name, (path, env) in files.items():
        script("write", path, **env)
        said[name] = json.loads(script("describe", path, **env))
    return folder, said["native"], said["zarr"]


def without_limits(said):
    said = {path: dict(object) for path, object in said.items() if REORDERED not in path}
    for path, description in said.items():
        description.pop("track times", None)
        for name, link in description.get("links", {}).items():
            link.pop("cset")
    return said


def test_all_objects_are_there_but_those_with_refused_fill_values(described):
    _, native, stored = described
    assert set(native) - set(stored) == {f"/fills/{name}" for name in REFUSED_FILLS}
    assert set(stored) <= set(native)


def test_every_property_is_as_in_an_hdf5_file(described):
    _, native, stored = described
    native, stored = without_limits(native), without_limits(stored)
    for name in REFUSED_FILLS:
        del native["/fills"]["links"][repr(name.encode())]
    different = {path: {key: (native[path].get(key), stored[path].get(key))
                        for key in native[path] if native[path][key] != stored[path].get(key)}
                 for path in stored if native[path] != stored[path]}
    assert different == {}
