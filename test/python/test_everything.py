"""HDF5's whole model: everything.py makes one of each natively and in a store, and each is described by a
process of its own. Both descriptions are equal but for what README.md lists."""
import json
import sys
from pathlib import Path

import h5py
import pytest

from support import run

SCRIPT = Path(__file__).with_name("everything.py")
BESIDE = {"HDF5_EXTFILE_PREFIX": "${ORIGIN}"}  # files of external storage
NATIVE = {"connector": None, **BESIDE}  # filters 480 and 32015 are the plugin folder's, too
WORDS = ["1.14"] if h5py.version.hdf5_version_tuple < (2,) else []
# Filters that keep more words for themselves: HDF5 1.14 leaves some of them as they were in memory.
OWN_WORDS = {5: 0, 6: 2}


def script(action, path, *words, **env):
    done = run([sys.executable, SCRIPT, action, path, *words], **env)
    assert done.returncode == 0, done.stderr
    return done.stdout


# Zarr v2 has one NaN for fill values.
ANOTHER_NAN = {2: {"/fills/nan_payload"}, 3: set()}


@pytest.fixture(scope="module", params=[3, 2])
def described(request, tmp_path_factory):
    """Zarr's format; what the HDF5 file and what the store is like."""
    folder = tmp_path_factory.mktemp("everything")
    words = WORDS + ["v2"] * (request.param == 2)
    stored = {"connector": f"zarr zarr_format={request.param}", **BESIDE}
    said = []
    for name, env in (("native/all.h5", NATIVE), ("zarr/all.zarr", stored)):
        (folder / name).parent.mkdir()
        script("write", folder / name, *words, **env)
        said.append(json.loads(script("describe", folder / name, **env)))
    return request.param, *said


def with_empty_strings(value):
    """Strings of variable length that were never written are no strings in HDF5, empty ones in Zarr."""
    if isinstance(value, list):
        return [with_empty_strings(one) for one in value]
    return "b''" if value is None else value


def without_limits(said):
    said = {path: dict(object) for path, object in said.items()}
    for path, description in said.items():
        description.pop("track times", None)
        if "value" in description:
            description["value"] = with_empty_strings(description["value"])
        for one in description.get("filters", []):
            one[2] = one[2][: OWN_WORDS.get(one[0])]
    return said


def differences(native, stored):
    return {path: {key: (native[path].get(key), stored[path].get(key))
                   for key in native[path] if native[path][key] != stored[path].get(key)}
            for path in stored if native[path] != stored[path]}


def test_all_objects_are_there(described):
    _, native, stored = described
    assert set(native) == set(stored)


def test_every_property_is_as_in_an_hdf5_file(described):
    zarr_format, native, stored = described
    native, stored = without_limits(native), without_limits(stored)
    different = differences(native, stored)
    assert set(different) == ANOTHER_NAN[zarr_format], different
