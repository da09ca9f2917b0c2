"""Virtual datasets of native HDF5 files, those of versioned-hdf5 among them: what the engine reads is what HDF5 reads."""
import shutil

import h5py
import numpy as np
import pytest

from native_support import calls, random_selections, read, same_as_hdf5
from support import run_python

VERSIONED = """
import sys, warnings
import h5py, numpy as np
warnings.simplefilter("ignore")
from versioned_hdf5 import VersionedHDF5File
rng = np.random.default_rng(3)
with h5py.File(sys.argv[1], "w") as f:
    history = VersionedHDF5File(f)
    with history.stage_version("r0") as v:
        v.create_dataset("n/cube", data=rng.integers(0, 9, (61, 70, 33)).astype("<i4"), chunks=(20, 11, 9),
                         compression="gzip", fillvalue=3)
        v.create_dataset("raw", data=rng.random((300, 400)), chunks=(37, 41), maxshape=(None, None))
        v.create_dataset("words", data=np.array(["w%d" % i for i in range(9000)], object),
                         dtype=h5py.string_dtype(), chunks=(500,))
        v.create_dataset("sparse", shape=(300, 400), dtype="<f8", chunks=(50, 50), data=None, fillvalue=7.0)
    with history.stage_version("r1") as v:
        v["n/cube"].resize((75, 66, 40))
        v["n/cube"][30:50, ::3] = 5
        v["raw"].resize((500, 380))
        v["raw"][480:] = 1
        v["sparse"][70:90, 10:333] = 2
    with history.stage_version("r2") as v:
        v["raw"].resize((120, 380))
        v["raw"][7] = -1
        v["n/cube"][...] = 3
"""


@pytest.fixture(scope="module")
def versioned(tmp_path_factory):
    pytest.importorskip("versioned_hdf5")
    path = tmp_path_factory.mktemp("native") / "versioned.h5"
    run_python(VERSIONED, str(path), connector=None)
    return path


VERSIONED_NAMES = [f"_version_data/versions/{version}/{name}" for version in ("r0", "r1", "r2")
                   for name in ("n/cube", "raw", "sparse")]


def test_every_version_is_what_hdf5_reads(versioned):
    rng = np.random.default_rng(11)
    jobs = []
    with h5py.File(versioned) as f:
        for name in VERSIONED_NAMES:
            for selection in ([[None]], *random_selections(rng, f[name].shape, 8)):
                jobs += [[name, selection, None], [name, [1, 2], None], [name, [-1], "<f4"]]
    same_as_hdf5(versioned, jobs)


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_a_version_is_read_by_the_engine(versioned):
    code = "import h5py, sys; h5py.File(sys.argv[1])['_version_data/versions/r1/raw'][:]"
    assert calls(versioned, "zarr", code) > 0
    assert calls(versioned, "zarr accelerate=off", code) == 0


def test_strings_of_a_version_are_what_hdf5_reads(versioned):
    code = "import h5py, sys; print(h5py.File(sys.argv[1])['_version_data/versions/r2/words'][::100])"
    assert run_python(code, str(versioned)) == run_python(code, str(versioned), connector=None)


def test_datasets_that_only_look_versioned_are_read_as_hdf5_reads_them(tmp_path):
    path = tmp_path / "alike.h5"
    raw = np.arange(20 * 30 * 50, dtype="<i4").reshape(600, 50)
    with h5py.File(path, "w") as f:
        f.create_dataset("_version_data/x/raw_data", data=raw, chunks=(30, 50), fillvalue=5)
        for version, shift, size, fill in (("shifted", 7, 30, 5), ("halves", 0, 15, 5),
                                           ("overlapping", 0, 30, 5), ("filled", 0, 30, 6)):
            layout = h5py.VirtualLayout((200, 100), "<i4")
            source = h5py.VirtualSource(".", "/_version_data/x/raw_data", raw.shape)
            step = 20 if version == "overlapping" else size
            for i in range(5):
                row = i * step
                layout[row:row + size, 50:] = source[shift + 30 * i:shift + 30 * i + size]
            made = f.create_virtual_dataset(f"_version_data/versions/{version}/x", layout, fillvalue=fill)
            made.attrs["raw_data"] = "/_version_data/x/raw_data"
            made.attrs["chunks"] = np.array([30, 50])
    jobs = [[f"_version_data/versions/{v}/x", [s], None]
            for v in ("shifted", "halves", "overlapping", "filled") for s in ([None], [1, 199, 2], 35)]
    same_as_hdf5(path, jobs * 2)


def test_committing_leaves_the_same_file_and_versions_read_at_once(tmp_path):
    pytest.importorskip("versioned_hdf5")
    ours, theirs = tmp_path / "ours.h5", tmp_path / "theirs.h5"
    more = """
with h5py.File(sys.argv[1], "r+") as f:
    with VersionedHDF5File(f).stage_version("r3") as v:
        v["raw"][5, 5] = 77
    print(f["_version_data/versions/r3/raw"][:].sum(), f["_version_data/versions/r3/raw"][5, 5])
with h5py.File(sys.argv[1]) as f:
    print(f["_version_data/versions/r3/raw"][:].sum(), VersionedHDF5File(f)["r3"]["raw"][5, 5])
"""
    assert run_python(VERSIONED + more, str(ours)) == run_python(VERSIONED + more, str(theirs), connector=None)
    jobs = [[name, [[None]], None] for name in VERSIONED_NAMES]
    assert read(ours, jobs, connector=None) == read(theirs, jobs, connector=None)
    # (Time stamps differ.)
    assert ours.stat().st_size == theirs.stat().st_size


def test_the_extent_of_a_versioned_dataset_is_hdf5s_however_often_it_is_opened(versioned, tmp_path):
    code = """
import h5py, sys
with h5py.File(sys.argv[1]) as f:
    for _ in range(3):
        for name in sys.argv[2:]:
            d = f[name]
            print(d.shape, d.maxshape, d[-1, -1], d.shape, d.id.get_space().get_select_npoints())
"""
    assert run_python(code, str(versioned), *VERSIONED_NAMES) == \
        run_python(code, str(versioned), *VERSIONED_NAMES, connector=None)
    # One that grows with its source, at a place where only versioned-hdf5 has some.
    growing = tmp_path / "growing.h5"
    with h5py.File(growing, "w") as f:
        f.create_dataset("source", data=np.arange(40), maxshape=(None,), chunks=(10,))
        layout = h5py.VirtualLayout((40,), "i8", maxshape=(None,))
        source = h5py.VirtualSource(f["source"])
        layout[0:h5py.h5s.UNLIMITED] = source[0:h5py.h5s.UNLIMITED]
        made = f.create_virtual_dataset("_version_data/versions/r0/x", layout)
        made.attrs["raw_data"], made.attrs["chunks"] = "/_version_data/x/raw_data", np.array([10])
        f["source"].resize((55,))
    code = code.replace("d[-1, -1]", "d[-1]")
    name = "_version_data/versions/r0/x"
    assert run_python(code, str(growing), name) == run_python(code, str(growing), name, connector=None)


def test_a_versioned_dataset_is_not_kept_open_behind_the_program(versioned):
    code = """
import h5py, os, sys
f = h5py.File(sys.argv[1])
d = f["_version_data/versions/r1/raw"]
d[0, 0], d[:]
print(h5py.h5f.get_obj_count(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_ALL))
f.close()
with h5py.File(sys.argv[1], "r+") as g:
    print(g["_version_data/versions/r1/raw"][0, 0])
f = h5py.File(sys.argv[1])
d = f["_version_data/versions/r1/raw"]
f.close(); print(bool(d)); del d
h5py.File(sys.argv[1], "r+").close()
"""
    assert run_python(code, str(versioned)) == run_python(code, str(versioned), connector=None)


WHOLE = """
import sys, time, h5py
f = h5py.File(sys.argv[1])
f["other"][:]  # what every process has to load
d = f[sys.argv[2]]
begin = time.process_time()
values = d[:]
print(time.process_time() - begin, values.sum())
"""


def many_mappings(path, chunk=16, chunks=8000):
    """A version of a dataset of many chunks; its name."""
    name = "_version_data/versions/r0/x"
    with h5py.File(path, "w") as f:
        f["other"] = np.arange(50000)
        f.create_dataset("_version_data/x/raw_data", data=np.arange(chunk * chunks), chunks=(chunk,), maxshape=(None,))
        layout = h5py.VirtualLayout((chunk * chunks,), "i8")
        source = h5py.VirtualSource(".", "/_version_data/x/raw_data", (chunk * chunks,))
        for i in range(0, chunk * chunks, chunk):
            layout[i : i + chunk] = source[i : i + chunk]
        made = f.create_virtual_dataset(name, layout)
        made.attrs["raw_data"], made.attrs["chunks"] = "/_version_data/x/raw_data", np.array([chunk])
    return name


def test_the_first_whole_read_of_a_version_asks_hdf5_for_no_mapping(tmp_path):
    """Which takes it longer than all else."""
    path = tmp_path / "many.h5"
    name = many_mappings(path)

    def seconds(**env):
        took, total = run_python(WHOLE, str(path), name, **env).split()
        assert int(total) == 128000 * 127999 // 2
        return float(took)

    assert min(seconds() for _ in range(3)) < min(seconds(connector=None) for _ in range(3)) / 2


def test_a_damaged_list_of_mappings_is_the_error_it_is_to_hdf5(tmp_path):
    path = tmp_path / "damaged.h5"
    name = many_mappings(path, chunks=4)
    content = bytearray(path.read_bytes())
    at = content.index(b"/_version_data/x/raw_data\0")
    content[at + 40] ^= 1
    path.write_bytes(content)
    code = """
import h5py, sys
try:
    print(h5py.File(sys.argv[1])[sys.argv[2]][...])
except Exception as error:
    print(type(error).__name__)
"""
    said = run_python(code, str(path), name)
    assert said == run_python(code, str(path), name, connector=None) and "[" not in said


@pytest.fixture
def virtual(tmp_path):
    """A dataset over sources in its own file and in others, with gaps, overlaps and one that is missing."""
    data = np.arange(600 * 700, dtype="<f4").reshape(600, 700)
    for i in range(3):
        with h5py.File(tmp_path / f"part{i}.h5", "w") as f:
            f.create_dataset("d", data=data + i, chunks=(50, 70), compression="gzip")
    path = tmp_path / "virtual.h5"
    with h5py.File(path, "w") as f:
        f.create_dataset("own", data=-data, chunks=(40, 60), compression="lzf")
        f.create_dataset("contiguous", data=data.astype("<f8"))
        layout = h5py.VirtualLayout((2500, 1400), "<f4")
        for i, at in enumerate((0, 650, 1100)):  # the last two overlap
            layout[at:at + 600, i * 10:i * 10 + 700] = h5py.VirtualSource(f"part{i}.h5", "d", data.shape)
        layout[:600, 700:] = h5py.VirtualSource(".", "own", data.shape)
        layout[700:1300:1, 700:] = h5py.VirtualSource(".", "contiguous", data.shape, "<f8")
        layout[1800:2400, :700] = h5py.VirtualSource("missing.h5", "d", data.shape)
        layout[1800:2400:2, 700:1400] = h5py.VirtualSource("part1.h5", "d", data.shape)[::2]
        f.create_virtual_dataset("all", layout, fillvalue=-7)
        outer = h5py.VirtualLayout((2500, 1400), "<f4")
        outer[:] = h5py.VirtualSource(".", "all", (2500, 1400))
        f.create_virtual_dataset("outer", outer)
        rows = h5py.VirtualLayout((600, 700), "<f4")
        for row in range(600):
            rows[row] = h5py.VirtualSource("part0.h5", "d", data.shape)[599 - row]
        f.create_virtual_dataset("rows", rows)
    return path


def test_virtual_datasets_of_files_are_what_hdf5_reads(virtual):
    rng = np.random.default_rng(17)
    jobs = []
    for name, shape in (("all", (2500, 1400)), ("outer", (2500, 1400)), ("rows", (600, 700))):
        jobs += [[name, [[None]], None], [name, [[None]], "<f8"], [name, [3, 5], None]]
        jobs += [[name, selection, None] for selection in random_selections(rng, shape, 8)]
    same_as_hdf5(virtual, jobs)


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_sources_of_a_virtual_dataset_are_read_by_the_engine(virtual):
    code = "import h5py, sys; h5py.File(sys.argv[1])['all'][:]"
    assert calls(virtual, "zarr", code) > 0


def with_source(folder, make):
    """A virtual dataset half of which is dataset `d` in source.h5, as `make` makes that."""
    with h5py.File(folder / "own.h5", "w") as f:
        f["d"] = np.arange(300000, dtype="<i4")
    make(folder / "source.h5")
    path = folder / "virtual.h5"
    with h5py.File(path, "w", libver=("v110", "v114")) as f:
        for name, elems in (("large", 300000), ("small", 50)):
            layout = h5py.VirtualLayout((2 * elems,), "<i4")
            layout[:elems] = h5py.VirtualSource("own.h5", "d", (300000,))[:elems]
            layout[elems:] = h5py.VirtualSource("source.h5", "d", (300000,))[:elems]
            f.create_virtual_dataset(name, layout, fillvalue=-7)
    return path


def a_folder(path):
    path.mkdir()


def a_group(path):
    with h5py.File(path, "w") as f:
        f.create_group("d")


def a_loop_of_links(path):
    path.symlink_to(path.name)


READ_SUM = """
import h5py, sys
with h5py.File(sys.argv[1], sys.argv[2]) as f:
    for name in ("large", "small"):
        try:
            print(int(f[name][()].astype("i8").sum()))
        except OSError as error:
            print(error)
"""


@pytest.mark.parametrize("make", [a_folder, a_group, a_loop_of_links])
def test_sources_that_cannot_be_opened_are_what_they_are_to_hdf5(tmp_path, make):
    path = with_source(tmp_path, make)
    expected = run_python(READ_SUM, path, "r+", connector=None, plugin=False)
    assert run_python(READ_SUM, path, "r+") == expected


def test_a_source_of_other_dimensions_is_an_error_and_no_crash(tmp_path):
    def of_two_dimensions(source):
        with h5py.File(source, "w") as f:
            f["d"] = np.arange(300000, dtype="<i4").reshape(2, -1)

    path = with_source(tmp_path, of_two_dimensions)
    with h5py.File(path) as f:
        for name in ("large", "small"):
            with pytest.raises(OSError, match="source 'd' in 'source.h5': its mapping selects in 1 dimensions, it has 2"):
                f[name][()]
