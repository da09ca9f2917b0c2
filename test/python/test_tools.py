"""HDF5 1.14's own command line tools on stores."""
import h5py
import numpy as np
import pytest

from support import numbers, run, tool, tree

DATA = numbers((4, 6), "i4")


@pytest.fixture
def foreign(store):
    import zarr

    root = zarr.open_group(store, mode="w")
    root.create_array("g/h/a", data=DATA, chunks=(2, 2), shards=(4, 4)).attrs["units"] = "mm"
    return store


@pytest.fixture
def same(tmp_path):
    with h5py.File(tmp_path / "same.h5", "w") as f:
        f["g/h/a"] = DATA
        f["g/h/a"].attrs["units"] = "mm"  # h5diff compares attributes too
    return tmp_path / "same.h5"


def text_of(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_h5dump_prints_data_and_attributes(foreign):
    said = text_of(run([tool("h5dump"), foreign]))
    assert ", ".join(map(str, DATA[2])) in said
    assert 'ATTRIBUTE "units"' in said and '"mm"' in said


def test_h5dump_needs_the_plugin_path_alone(foreign):
    said = text_of(run([tool("h5dump"), "-d", "/g/h/a", "-s", "2,3", "-c", "1,2", foreign], connector=None))
    assert f"{DATA[2, 3]}, {DATA[2, 4]}" in said


def test_h5dump_of_a_missing_object_fails(foreign):
    assert run([tool("h5dump"), "-d", "/nothere", foreign]).returncode != 0


def test_h5dump_of_a_missing_store_fails(store):
    assert run([tool("h5dump"), store]).returncode != 0


@pytest.mark.parametrize("options", [["-r"], ["-rv"]])
def test_h5ls_lists_everything(foreign, options):
    said = text_of(run([tool("h5ls"), *options, foreign]))
    assert "/g/h/a" in said
    assert "4" in said and "6" in said


def test_h5diff_of_equal_and_different(foreign, same):
    text_of(run([tool("h5diff"), foreign, same, "/g/h/a", "/g/h/a"]))
    with h5py.File(same, "r+") as f:
        f["g/h/a"][1, 1] += 1
    done = run([tool("h5diff"), foreign, same, "/g/h/a", "/g/h/a"])
    assert done.returncode == 1
    assert "1 differences" in done.stdout


def test_h5stat(foreign):
    assert "# of unique datasets: 1" in text_of(run([tool("h5stat"), foreign]))


@pytest.fixture
def unsharded(store):
    import zarr

    root = zarr.open_group(store, mode="w")
    root.create_array("g/h/a", data=DATA, chunks=(2, 2)).attrs["units"] = "mm"
    return store


@pytest.mark.parametrize("options", [["-f", "GZIP=4"], ["-f", "NONE"]])
def test_h5repack_of_shards_with_other_filters(foreign, tmp_path, options):
    text_of(run([tool("h5repack"), *options, foreign, tmp_path / "out.h5"]))
    with h5py.File(tmp_path / "out.h5", "r") as f:
        assert np.array_equal(f["g/h/a"][...], DATA)
        assert f["g/h/a"].attrs["units"] == "mm"


def test_h5repack_keeps_shards_in_a_native_file(foreign, tmp_path):
    text_of(run([tool("h5repack"), foreign, tmp_path / "out.h5"]))
    with h5py.File(tmp_path / "out.h5", "r") as f:
        assert np.array_equal(f["g/h/a"][...], DATA)
        assert f["g/h/a"].id.get_create_plist().get_filter(0)[0] == 480


@pytest.mark.parametrize("options", [[], ["-f", "GZIP=4"], ["-l", "CHUNK=2x3"]])
def test_h5repack_into_a_native_file(unsharded, tmp_path, options):
    text_of(run([tool("h5repack"), *options, unsharded, tmp_path / "out.h5"]))
    with h5py.File(tmp_path / "out.h5", "r") as f:
        assert np.array_equal(f["g/h/a"][...], DATA)
        assert f["g/h/a"].attrs["units"] == "mm"


def test_h5copy_into_a_native_file(unsharded, tmp_path):
    text_of(run([tool("h5copy"), "-i", unsharded, "-o", tmp_path / "out.h5", "-s", "/g/h/a", "-d", "/b"]))
    with h5py.File(tmp_path / "out.h5", "r") as f:
        assert np.array_equal(f["b"][...], DATA)


def test_reading_tools_leave_no_trace(foreign):
    before = tree(foreign)
    for command in (["h5dump"], ["h5ls", "-rv"], ["h5stat"]):
        text_of(run([tool(command[0]), *command[1:], foreign]))
    assert tree(foreign) == before


@pytest.mark.parametrize("connector", [None, "zarr"])
def test_native_files_read_as_ever(same, connector):
    plain = text_of(run([tool("h5dump"), same], plugin=False, connector=None))
    assert text_of(run([tool("h5dump"), same], connector=connector)) == plain
