"""When objects were made and changed: H5Pset_obj_track_times, H5Oget_info's times."""
import os
import time

import h5py
import pytest

from support import run

KINDS = [".h5", ".zarr"]
TOOLS = os.path.join(os.environ.get("H5ZARR_HDF5", "/usr"), "bin")


def make(path, libver):
    with h5py.File(path, "w", libver=libver) as f:
        for tracks in (False, True):
            f.create_dataset(f"d{tracks}", data=[1, 2], track_times=tracks)
            gcpl = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
            gcpl.set_obj_track_times(tracks)
            h5py.h5g.create(f.id, f"g{tracks}".encode(), gcpl=gcpl)
        f.create_dataset("default", data=[3])
        f["t"] = h5py.string_dtype()


def times(path):
    """The time of the last change of every object, and whether it says that it tracks it."""
    with h5py.File(path, "r") as f:
        names = []
        f.visit(names.append)
        return {name: (h5py.h5g.get_objinfo(f[name].id).mtime,
                       name == "t" or f[name].id.get_create_plist().get_obj_track_times()) for name in names}


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_times_are_kept_where_a_file_keeps_them(tmp_path, libver):
    before = int(time.time())
    shown = []
    for kind in KINDS:
        make(tmp_path / ("f" + kind), libver)
        shown.append(times(tmp_path / ("f" + kind)))
    native, ours = ({name: (when > 0, tracks) for name, (when, tracks) in one.items()} for one in shown)
    assert native == ours
    assert all(when == 0 or before <= when <= time.time() for when, _ in shown[1].values())
    assert shown[1]["dTrue"][0] > 0 and shown[1]["dFalse"][0] == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_a_dataset_made_like_another_tracks_as_it_does(tmp_path, libver, kind):
    with h5py.File(tmp_path / ("f" + kind), "w", libver=libver) as f:
        for tracks in (False, True):
            d = f.create_dataset(f"d{tracks}", data=[1, 2], track_times=tracks)
            like = f.create_dataset_like(f"like{tracks}", d)
            assert d.id.get_create_plist().get_obj_track_times() == tracks
            assert (h5py.h5g.get_objinfo(like.id).mtime > 0) == tracks


def test_times_stay_until_an_object_changes(tmp_path):
    make(tmp_path / "f.zarr", "latest")
    made = times(tmp_path / "f.zarr")
    time.sleep(1.1)
    assert times(tmp_path / "f.zarr") == made
    with h5py.File(tmp_path / "f.zarr", "r+") as f:
        for name in ("dTrue", "dFalse", "gTrue"):
            f[name].attrs["a"] = 1
    changed = times(tmp_path / "f.zarr")
    assert {name for name in made if changed[name] != made[name]} == {"dTrue", "gTrue"}
    assert changed["dTrue"][0] > made["dTrue"][0]


def test_times_go_with_a_copy(tmp_path):
    for kind in KINDS:
        with h5py.File(tmp_path / ("f" + kind), "w") as f:
            f.create_dataset("d", data=[1, 2], track_times=True)
            f.create_dataset("untracked", data=[1, 2])
    made = {kind: times(tmp_path / ("f" + kind)) for kind in KINDS}
    time.sleep(1.1)
    for kind in KINDS:
        with h5py.File(tmp_path / f"copy{kind}.zarr", "w") as f, h5py.File(tmp_path / ("f" + kind)) as source:
            for name in source:
                source.copy(name, f)
        assert times(tmp_path / f"copy{kind}.zarr") == made[kind]


def test_a_store_of_others_has_no_times(tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(tmp_path / "f.zarr", name="a", shape=(3,), dtype="i4")
    assert times(tmp_path / "f.zarr") == {"a": (0, True)}
    listed = run([os.path.join(TOOLS, "h5ls"), "-v", tmp_path / "f.zarr"])
    assert listed.returncode == 0 and "Modified" not in listed.stdout
