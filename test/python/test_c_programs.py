"""The C programs of test/h5: compiled against HDF5 1.14, each prints `ok` and ends with 0.

H5ZARR_TEST_CFLAGS are more flags for the compiler, H5ZARR_TEST_PROGRAM_PLUGIN_DIR the plugin that the
programs then load: test/suites/threads_of_programs.sh sets both for the thread sanitizer.
"""
import itertools
import json
import os
import shutil
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr

from http_support import fault_server
from s3_support import KEYS, NO_KEYS
from support import run

PROGRAMS = Path(__file__).resolve().parents[1] / "h5"
INCLUDE = Path(__file__).resolve().parents[2] / "include"


def hdf5_flags():
    """How to compile and link with the HDF5 of H5ZARR_HDF5, or with a distribution's."""
    prefix = os.environ.get("H5ZARR_HDF5", "/usr")
    if Path(prefix, "include", "hdf5.h").exists():
        return [f"-I{prefix}/include", f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib", "-lhdf5"]
    found = subprocess.run(["pkg-config", "--cflags", "--libs", "hdf5"], capture_output=True, text=True)
    if found.returncode != 0:
        pytest.skip(f"no HDF5 with headers in H5ZARR_HDF5 ({prefix}), none known to pkg-config")
    return found.stdout.split()


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("programs")

    def compiled(name):
        binary = folder / name
        if not binary.exists():
            flags = os.environ.get("H5ZARR_TEST_CFLAGS", "").split()  # of a sanitizer, say
            subprocess.run([compiler, "-Wall", "-Werror", *flags, f"-I{INCLUDE}", PROGRAMS / f"{name}.c", "-o", binary,
                            *hdf5_flags()], check=True)
        return binary

    return compiled


def run_program(program, *arguments, **more):
    if "H5ZARR_TEST_PROGRAM_PLUGIN_DIR" in os.environ:  # made like the programs; Python cannot load it
        more["HDF5_PLUGIN_PATH"] = os.environ["H5ZARR_TEST_PROGRAM_PLUGIN_DIR"]
    return run([program, *arguments], **more)


def assert_ok(program, *arguments):
    done = run_program(program, *arguments)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stdout + done.stderr


@pytest.mark.parametrize("cycles", [1, 6])
def test_the_library_opens_and_closes_again_and_again(program, store, cycles):
    assert_ok(program("open_close_cycles"), store, cycles)


def test_several_datasets_in_one_call(program, tmp_path):
    assert_ok(program("multi_dataset"), tmp_path / "a.zarr", tmp_path / "b.zarr", tmp_path / "c.zarr")


def test_several_datasets_of_stores_and_files_in_one_call(program, tmp_path):
    assert_ok(program("multi_dataset"), tmp_path / "a.zarr", tmp_path / "b.zarr", tmp_path / "c.h5")


@pytest.mark.parametrize("name", ["x.zarr", "x.h5"])
def test_members_that_a_write_has_no_values_for_stay(program, tmp_path, name):
    assert_ok(program("some_members"), tmp_path / name)


def test_a_failing_close_leaves_the_file_open_and_is_retried(program, store):
    assert_ok(program("failing_close"), store)


def test_raw_chunks_copy_from_dataset_to_dataset(program, store):
    assert_ok(program("raw_chunks"), store)


@pytest.mark.parametrize("name", ["f.zarr", "f.h5"])
def test_a_group_loses_its_links_to_itself(program, tmp_path, name):
    assert_ok(program("self_links"), tmp_path / name)


@pytest.mark.parametrize("name", ["creation_properties", "api_corners"])
def test_a_store_answers_as_a_file_does(program, tmp_path, name):
    for what in ("write", "print"):
        native, ours = (run_program(program(name), tmp_path / file, what) for file in ("f.h5", "f.zarr"))
        assert (native.returncode, native.stderr) == (0, "")
        assert (ours.returncode, ours.stdout) == (0, native.stdout), ours.stderr


@pytest.mark.parametrize("kinds", [*itertools.product([".h5", ".zarr"], repeat=3)], ids="".join)
def test_files_are_mounted_on_one_another(program, tmp_path, kinds):
    native = run_program(program("mounts"), *[tmp_path / f"native{i}.h5" for i in range(3)])
    assert (native.returncode, native.stderr) == (0, "")
    ours = run_program(program("mounts"), *[tmp_path / f"ours{i}{kinds[i]}" for i in range(3)])
    assert (ours.returncode, ours.stdout) == (0, native.stdout), ours.stderr


def test_ending_without_closing_saves(program, store):
    assert_ok(program("exit_without_close"), store, "write")
    assert_ok(program("exit_without_close"), store, "read")


@pytest.mark.parametrize("how", ["exit", "h5close"])
def test_attributes_that_wait_when_the_program_ends_are_saved(program, store, how):
    assert_ok(program("pending_at_exit"), store, how)
    with h5py.File(store, "r") as f:
        assert f["g/d"][()] == 27
        assert f["g/d"].attrs["k"] == 27


@pytest.mark.parametrize("name", ["f.zarr", "f.h5"])
@pytest.mark.parametrize("handles", [1, 3, 4, 30])
@pytest.mark.parametrize("how", ["exit", "h5close"])
def test_a_file_left_open_many_times_is_saved(program, tmp_path, name, handles, how):
    assert_ok(program("many_handles"), tmp_path / name, handles, how)
    assert_ok(program("many_handles"), tmp_path / name, handles, "read")


@pytest.mark.parametrize("name", ["f.zarr", "f.h5"])
@pytest.mark.parametrize("degree", ["weak", "semi", "strong"])
def test_a_file_left_open_many_times_is_saved_at_every_close_degree(program, tmp_path, name, degree):
    assert_ok(program("many_handles"), tmp_path / name, 5, "exit", degree)
    assert_ok(program("many_handles"), tmp_path / name, 5, "read")


def test_transfers_go_on_while_the_program_does_something_else(program, store):
    assert_ok(program("async"), store)


@pytest.mark.parametrize("name", ["refs.zarr", "refs.h5"])
def test_references_of_hdf5_1_12(program, tmp_path, name):
    assert_ok(program("references"), "write", tmp_path / name)
    assert_ok(program("references"), "read", tmp_path / name)


def test_user_defined_links_are_what_they_are_in_a_file(program, tmp_path):
    for what in ("write", "read", "read_unregistered", "change", "read", "read_unregistered"):
        native, ours = (run_program(program("user_links"), what, tmp_path / file) for file in ("f.h5", "f.zarr"))
        assert native.returncode == 0, native.stderr
        assert (ours.returncode, ours.stdout) == (0, native.stdout), ours.stderr
    with open(tmp_path / "f.zarr/g/zarr.json") as document:
        links = {link["name"]: link for link in
                 json.load(document)["attributes"]["_hdf5"]["user_links"]}
    assert links["silent"] == {"name": "silent", "class": 188, "value": "target\0"}
    with h5py.File(tmp_path / "f.zarr", "r+") as f:
        f["g"].attrs["x"] = 1
        f["other"] = 2
    again = run_program(program("user_links"), "read_unregistered", tmp_path / "f.zarr")
    assert again.stdout == native.stdout.replace("root_link", "other 0\nroot_link"), again.stderr


@pytest.mark.parametrize("language", ["c99", "c17", "c++11", "c++20"])
def test_the_public_headers_are_plain_c_and_cxx(tmp_path, language):
    compiler = shutil.which("c++" if "++" in language else "cc")
    if compiler is None:
        pytest.skip("there is no compiler")
    source = tmp_path / ("x.cc" if "++" in language else "x.c")
    source.write_text("#include <h5zarr/filters.h>\n#include <h5zarr/h5zarr.h>\nint main(void) { return 0; }\n")
    isystem = [flag.replace("-I", "-isystem", 1) for flag in hdf5_flags() if flag.startswith("-I")]
    subprocess.run([compiler, f"-std={language}", "-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Werror",
                    "-fsyntax-only", f"-I{INCLUDE}", *isystem, source], check=True)


def test_a_wrong_shard_is_refused_with_the_reason(program, tmp_path):
    done = run_program(program("wrong_shards"), tmp_path / "x.zarr")
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def test_settings_in_an_access_list_hold_for_its_files_alone(program, tmp_path):
    name = tmp_path / "x"
    done = run_program(program("fapl_settings"), name, "create=zarr;codec=gzip", "write", connector=None)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    codecs = json.loads((name / "a" / "zarr.json").read_text())["codecs"]
    assert codecs[-1]["name"] == "gzip"
    assert h5py.is_hdf5(f"{name}.plain")
    done = run_program(program("fapl_settings"), name, "threads=1", "read", connector=None)
    assert done.stdout == "10\n", done.stderr


def test_settings_in_an_access_list_go_before_those_of_the_environment(program, tmp_path):
    for settings, connector, variable, codec in (("codec=zstd", "zarr codec=gzip", "gzip", "zstd"),
                                                 ("", None, "gzip", "gzip")):
        done = run_program(program("fapl_settings"), tmp_path / "x.zarr", settings, "write", connector=connector,
                           H5ZARR_CODEC=variable)
        assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
        codecs = json.loads((tmp_path / "x.zarr" / "a" / "zarr.json").read_text())["codecs"]
        assert codecs[-1]["name"] == codec


def test_a_wrong_key_in_an_access_list_is_told_by_the_open(program, tmp_path):
    done = run_program(program("fapl_settings"), tmp_path / "x.zarr", "s3_regoin=moon-1", "read", connector=None)
    assert done.returncode == 1 and "s3_regoin" in done.stderr and "s3_region" in done.stderr, done.stderr


def test_settings_for_s3_are_taken_from_an_access_list(program, tmp_path):
    zarr.create_array(str(tmp_path / "bucket/x.zarr"), name="a", data=np.arange(10, dtype="i4"))
    with fault_server(tmp_path, s3=True) as server:
        settings = f"s3_endpoint={server.url};s3_region=moon-1;s3_style=path"
        env = NO_KEYS | KEYS | {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
        done = run_program(program("fapl_settings"), "s3://bucket/x.zarr", settings, "read", connector=None, **env)
        assert done.stdout == "45\n", done.stderr
        asked = server.requests()
    assert asked and all(one["path"].startswith("/bucket") for one in asked)
    assert all("/moon-1/s3/" in one["headers"]["authorization"] for one in asked)
