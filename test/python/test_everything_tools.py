"""HDF5 1.14's tools on a store with one of everything, beside the same file as HDF5: everything.py writes both
without what the tools cannot do with HDF5 files either, so that they must say the same."""
import re
import shutil
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

import h5py
import pytest

from support import run, tool

SCRIPT = Path(__file__).with_name("everything.py")
BESIDE = {"HDF5_EXTFILE_PREFIX": "${ORIGIN}"}  # files of external storage
NATIVE = {"connector": None, **BESIDE}  # filters 480 and 32015 are the plugin folder's, too


def write(path, *words, **env):
    path.parent.mkdir()
    done = run([sys.executable, SCRIPT, "write", path, "1.14", *words], **env)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The HDF5 file, a second one made the same way, and the store."""
    folder = tmp_path_factory.mktemp("tools")
    return {"native": write(folder / "native" / "all.h5", "tools", **NATIVE),
            "again": write(folder / "again" / "all.h5", "tools", **NATIVE),
            "zarr": write(folder / "zarr" / "all.zarr", "tools", **BESIDE)}


def diff(*arguments, **env):
    return run([tool("h5diff"), *arguments], **(env or BESIDE))


# It compares no dataset of which nothing is stored, and says so; every one is compared by test_everything.
SKIPPED = ["-" * 32, "Some objects are not comparable", "-" * 32, "Use -c for a list of objects."]


def assert_no_difference(one, other, *objects, **env):
    done = diff(one, other, *objects, **env)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert done.stdout.splitlines() in ([], SKIPPED)


def test_h5diff_compares_all_of_it(files):
    assert_no_difference(files["native"], files["again"], **NATIVE)


def test_h5diff_finds_no_difference_to_the_hdf5_file(files):
    assert_no_difference(files["native"], files["zarr"])
    assert_no_difference(files["zarr"], files["native"])


def test_h5diff_finds_what_differs(files, tmp_path):
    subprocess.run(["cp", "-r", files["zarr"].parent, tmp_path / "copy"], check=True)
    copy = tmp_path / "copy" / "all.zarr"
    with h5py.File(copy, "r+") as f:
        f["filters/shuffle_deflate"][3, 3] += 1
        f["attributes"].attrs["text"] = "other"
        del f["links/hard"]
    # The virtual datasets' own files lie elsewhere now, their sources do not.
    done = diff(files["native"], copy)
    assert done.returncode == 1
    for said in ("dataset: </filters/shuffle_deflate>", "attribute: <text of </attributes>>"):
        assert said in done.stdout


# What the tools cannot do with HDF5 files: why this file is written without it.
BEYOND_H5DIFF = {"/types/time32": 2, "/fills/type_time32_be": 2, "/attributes": 2, "/filters/unknown": 2, "/filters/lzf": 2}


def test_h5diff_fails_on_the_rest_as_with_hdf5_files(tmp_path):
    native = write(tmp_path / "native" / "all.h5", **NATIVE)
    again = write(tmp_path / "again" / "all.h5", **NATIVE)
    stored = write(tmp_path / "zarr" / "all.zarr", **BESIDE)
    for name, code in BEYOND_H5DIFF.items():
        told = diff(native, again, name, **NATIVE)
        assert told.returncode == code, name
        done = diff(native, stored, name)
        assert (done.returncode, done.stdout) == (told.returncode, told.stdout), name


def assert_same_text(files, name, *options, replace=(), keep=lambda line: True):
    """A tool says of the store what it says of the HDF5 file, but for what is about where bytes lie."""
    said = []
    for kind, env in (("native", NATIVE), ("zarr", BESIDE)):
        path = files[kind]
        done = run([tool(name), *options, path.name], cwd=path.parent, **env)
        assert done.returncode == 0, done.stderr
        text = done.stdout.replace(path.name, "FILE")
        for pattern, other in replace:
            text = re.sub(pattern, other, text, flags=re.M)
        said.append([line for line in text.splitlines() if keep(line)])
    assert len(said[0]) > 50
    different = [pair for pair in zip_longest(*said) if pair[0] != pair[1]]
    assert different[:10] == []


# Addresses of objects; strings of variable length that were never written: a store has empty ones.
IN_DUMPS = [(r"\b(GROUP|DATASET|DATATYPE) \d+ (?=\")", r"\1 "), (r"\bNULL\b(?! *;)", '""')]
OF_STORAGE = [(r"^ *OFFSET \S+$", ""), (r"^ *SIZE \d+( \(.*COMPRESSION\))?$", "")]


@pytest.mark.parametrize("options", [[], ["-p", "-B"], ["-H", "-A", "0"], ["-n", "1"], ["-r", "-y", "-w", "0"]])
def test_h5dump_prints_what_it_prints_of_the_hdf5_file(files, options):
    assert_same_text(files, "h5dump", *options, replace=IN_DUMPS + OF_STORAGE)


@pytest.mark.parametrize("options", [["-r"], ["-rv"], ["-rd"], ["-rvS"]])
def test_h5ls_lists_what_it_lists_of_the_hdf5_file(files, options):
    assert_same_text(files, "h5ls", *options, replace=[
        (r"^ +Modified: .*\n", ""), (r"^( +Location:) .*", r"\1"), (r"shared-\d+:\d+", "shared"),
        (r"\d+ allocated bytes.*", ""), (r"\b(GROUP|DATASET|DATATYPE)-\d+:\d+", r"\1"), (r"\bNULL\b", '""')])


def test_h5stat_counts_the_same_objects(files):
    counted = re.compile(r"# of|dataset|Dataset|attribute|[Ff]ilter|link|groups|Count|SHUFFLE|GZIP|NBIT|FLETCHER")
    sized = re.compile(r"bytes|size:|Group|\(exclude")
    assert_same_text(files, "h5stat", keep=lambda line: counted.search(line) and not sized.search(line))


@pytest.fixture(scope="module")
def packable(tmp_path_factory):
    """Less what h5repack cannot do with an HDF5 file; and that file as h5repack leaves it. -L: attributes above
    64 KiB need the newest format."""
    folder = tmp_path_factory.mktemp("repack")
    native = write(folder / "native" / "all.h5", "repack", **NATIVE)
    repack(native, folder / "native" / "packed.h5", **NATIVE)
    return native, folder / "native" / "packed.h5"


def repack(source, target, *options, **env):
    done = run([tool("h5repack"), "-L", *options, source, target], **(env or BESIDE))
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
    return target


def test_h5repack_into_a_store_and_back_keeps_everything(packable):
    native, packed = packable
    stored = repack(native, native.with_name("packed.zarr"))
    back = repack(stored, native.with_name("back.h5"))
    assert (stored / "zarr.json").exists() and back.is_file()
    told = diff(native, packed, **NATIVE)
    for one, other in ((native, stored), (native, back)):
        done = diff(one, other)
        assert (done.returncode, done.stdout) == (told.returncode, told.stdout)
    assert_no_difference(packed, stored)
    assert_no_difference(packed, back)


@pytest.mark.parametrize("options", [["-f", "types/float64,layouts/layout2_alloc3_True:GZIP=2"],
                                     ["-l", "types/float64,types/enum:CHUNK=2"], ["-f", "filters/all_three:NONE"]])
def test_h5repack_changes_filters_and_layout_as_in_hdf5_files(packable, tmp_path, options):
    native, _ = packable
    expected = repack(native, native.with_name("expected.h5"), *options, **NATIVE)
    stored = repack(native, native.with_name("changed.zarr"), *options)
    assert_no_difference(expected, stored)
    for name in ("types/float64", "types/enum", "layouts/layout2_alloc3_True", "filters/all_three"):
        with h5py.File(expected, "r") as one, h5py.File(stored, "r") as other:
            assert other[name].chunks == one[name].chunks and other[name]._filters == one[name]._filters
    shutil.rmtree(stored)
    expected.unlink()


def copy(source, target, name, **env):
    done = run([tool("h5copy"), "-i", source, "-o", target, "-s", f"/{name}", "-d", f"/{name}"], **(env or BESIDE))
    assert (done.returncode, done.stdout) == (0, ""), (name, done.stdout, done.stderr)


# H5Ocopy empties references, but for those among members and in sequences: these then lead anywhere in the
# new file. In a store, and out of one, they are empty, too.
AMONG_OTHERS = {"/lists/nested", "same type of </lists/nested>", "rows of </references>", "/references/lists",
                "/references/rows"}


def test_h5copy_of_every_object_in_every_direction(files):
    """Into the same folder: external storage is beside."""
    with h5py.File(files["native"], "r") as f:
        names = list(f)
    expected = files["native"].with_name("copy.h5")
    for name in names:
        copy(files["native"], expected, name, **NATIVE)
    for source, target in (("native", "copy.zarr"), ("zarr", "copy.h5"), ("zarr", "copy.zarr")):
        target = files[source].with_name(target if source == "native" else f"other_{target}")
        for name in names:
            copy(files[source], target, name)
        done = diff(expected, target)
        different = set(re.findall(r"^(?:dataset|attribute): <(.*)> and", done.stdout, re.M))
        assert different <= AMONG_OTHERS and done.returncode < 2 + bool(different), done.stdout + done.stderr


def test_h5mkgrp_makes_groups_as_in_an_hdf5_file(tmp_path):
    for name, env in (("a.h5", NATIVE), ("a.zarr", BESIDE)):
        for options in (["/x"], ["-p", "/p/q/r"], ["-l", "/latest"]):
            done = run([tool("h5mkgrp"), *options[:-1], tmp_path / name, options[-1]], **env)
            assert done.returncode == 0, done.stderr
        assert run([tool("h5mkgrp"), tmp_path / name, "/x"], **env).returncode != 0
        assert run([tool("h5mkgrp"), tmp_path / name, "/no/parent"], **env).returncode != 0
    assert_no_difference(tmp_path / "a.h5", tmp_path / "a.zarr")
    assert (tmp_path / "a.zarr" / "p" / "q" / "r" / "zarr.json").exists()
