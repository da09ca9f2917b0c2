"""`h5zarr info`, `verify` and `doctor`, on HDF5 files and stores alike."""
import os
import shutil
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from command_support import h5zarr, h5zarr_json, needs_command
from support import run_python, tool

pytestmark = needs_command

WRITE = """
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as f:
    f.create_dataset("g/a", data=np.arange(2000.).reshape(40, 50), chunks=(10, 20), compression="gzip", shuffle=True)
    f["g/a"].attrs["units"] = "m"
    f["g/text"] = np.array(["a", "bb"], dtype=object)
    f["scalar"] = 3.5
    f["empty"] = h5py.Empty("f4")
    f["flag"] = np.array([True, False])
    f["point"] = np.zeros(3, dtype=[("n", "i4"), ("x", ">f8")])
    f["soft"] = h5py.SoftLink("/g/a")
    f["outside"] = h5py.ExternalLink("other.h5", "/x")
    f["again"] = f["g/a"]
    f["type"] = np.dtype("f4")
    f.create_dataset("huge", shape=(10**6, 10**6), maxshape=(None, 10**6), chunks=(100, 100), dtype="f4")[5, 5] = 1
"""


@pytest.fixture(scope="module", params=["x.h5", "x.zarr"])
def written(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("written") / request.param
    run_python(WRITE, path)
    return path


def objects(path):
    return {item.pop("path"): item for item in h5zarr_json("info", path)["objects"]}


def test_info_shows_the_same_of_files_and_stores(written):
    found = objects(written)
    assert list(found) == ["/", "/again", "/empty", "/flag", "/g", "/g/a", "/g/text", "/huge", "/outside", "/point",
                           "/scalar", "/soft", "/type"]
    a = found["/again"]  # the first path to it
    assert (a["type"], a["shape"], a["chunks"], a["bytes"], a["attributes"]) == ("float64", [40, 50], [10, 20], 16000, 1)
    assert 0 < a["stored_bytes"] < 16000
    assert (found["/g/a"]["kind"], found["/g/a"]["target"]) == ("hard link", "/again")
    assert (found["/soft"]["kind"], found["/soft"]["target"]) == ("soft link", "/g/a")
    assert (found["/outside"]["kind"], found["/outside"]["target"]) == ("external link", "other.h5:/x")
    assert found["/huge"]["max_shape"] == [None, 10**6]
    assert [found[f"/{name}"]["type"] for name in ("scalar", "flag", "point", "g/text", "type")] == [
        "float64", "bool", "{n: int32, x: float64 big-endian}", "string", "float32"]
    assert (found["/scalar"]["space"], found["/empty"]["space"]) == ("scalar", "null")
    assert found["/type"]["kind"] == "datatype"


def test_info_names_filters_and_codecs(written):
    expected = ["shuffle", "deflate"] if written.suffix == ".h5" else ["blosc(zlib)"]
    assert objects(written)["/again"]["codecs"] == expected


def test_info_tells_shards_from_chunks(tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(tmp_path / "s.zarr", name="a", shape=(100, 100), chunks=(10, 20), shards=(50, 100), dtype="u2",
                      compressors=zarr.codecs.ZstdCodec())
    zarr.create_array(tmp_path / "one.zarr", shape=(8,), chunks=(4,), dtype="i8", compressors=None)
    a = objects(tmp_path / "s.zarr")["/a"]
    assert (a["type"], a["chunks"], a["shards"], a["codecs"]) == ("uint16", [10, 20], [50, 100], ["zstd"])
    one = objects(tmp_path / "one.zarr")["/one"]
    assert (one["chunks"], one["codecs"]) == ([4], [])


def test_info_in_words_has_a_line_an_object(written):
    lines = h5zarr("info", written).stdout.splitlines()
    assert lines[0].endswith("Zarr v3" if written.suffix == ".zarr" else "HDF5")
    assert len(lines) == 1 + 13
    assert any(line.startswith("/huge ") and "of 3.6 TiB" in line for line in lines)


def test_verify_reads_what_is_stored_and_no_more(written):
    done = h5zarr_json("verify", written)
    assert done["problems"] == []
    assert 16000 < done["bytes"] < 64 << 20  # of the 4 TB of /huge one piece


@pytest.mark.parametrize("suffix", ["h5", "zarr"])
def test_a_thousand_million_chunks_of_which_two_are_stored_cost_those_two(tmp_path, suffix):
    path, other = tmp_path / f"x.{suffix}", tmp_path / "other.zarr"
    run_python("""
import sys, h5py
for name, last in zip(sys.argv[1:], (1, 2)):
    with h5py.File(name, "w") as f:
        d = f.create_dataset("sparse", (10**5, 10**5, 10**5), "f8", chunks=(100, 100, 100), fillvalue=3)
        d[5, 5, 5], d[-1, -1, -1] = 1, last
""", path, other)
    assert h5zarr_json("verify", path)["bytes"] < 64 << 20
    h5zarr("diff", path, path)
    assert "1 of 1000000000000000 elements, the first at (99999, 99999, 99999)" in (
        h5zarr("diff", path, other, expected=1).stdout)


def test_verify_names_each_damaged_chunk_and_goes_on(tmp_path):
    path = tmp_path / "x.zarr"
    run_python(WRITE, path)
    for chunk in ("0/1", "3/2"):
        file = path / "again/c" / chunk
        if not file.exists():
            file = path / "g/a/c" / chunk
        file.write_bytes(file.read_bytes()[:-5])
    problems = h5zarr_json("verify", path, expected=4)["problems"]
    assert [any(chunk in problem for problem in problems) for chunk in ("c/0/1", "c/3/2")] == [True, True]
    assert len(problems) == 2
    assert "DAMAGED" in h5zarr("verify", path, expected=4).stdout


def test_verify_finds_damage_in_hdf5_files(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as f:
        dataset = f.create_dataset("a", data=np.arange(100), chunks=(10,), fletcher32=True)
        offset = dataset.id.get_chunk_info(3).byte_offset
    with open(path, "r+b") as f:
        f.seek(offset + 4)
        f.write(b"\xff")
    problems = h5zarr_json("verify", path, expected=4)["problems"]
    assert len(problems) == 1 and problems[0].startswith("/a: elements from (30)")


def test_a_document_that_cannot_be_read_is_told(tmp_path):
    path = tmp_path / "x.zarr"
    run_python(WRITE, path)
    (path / "flag/zarr.json").write_text("{")
    assert "UNREADABLE" in h5zarr("info", path, expected=4).stdout
    assert any(problem.startswith("/flag") for problem in h5zarr_json("verify", path, expected=4)["problems"])


@pytest.mark.parametrize("command", ["info", "verify"])
@pytest.mark.parametrize("words, code, said", [
    ([], 64, "usage:"), (["a", "b"], 64, "usage:"), (["a", "--what"], 64, "--what"), (["a", "-w"], 64, "-w"),
    (["nothing.zarr"], 4, "is not there"), (["folder"], 4, "folder"), (["text"], 4, "text")])
def test_what_cannot_be_read_is_told_in_the_exit_code(tmp_path, command, words, code, said):
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("no HDF5 file")
    assert said in h5zarr(command, *words, expected=code, cwd=tmp_path).stderr


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["info", "--help"], ["info", "-h"], ["verify", "--help"], ["doctor", "--help"],
                                   ["mirror", "--help"], ["--version"]])
def test_help_is_no_error(words):
    assert "h5zarr" in h5zarr(*words).stdout


def test_no_command_or_an_unknown_one_is_wrong_usage():
    assert "which command?" in h5zarr(expected=64).stderr
    assert "'frobnicate'" in h5zarr("frobnicate", expected=64).stderr


def test_doctor_lets_programs_try_the_plugin():
    path = f"{tool('h5dump').parent}:{os.environ['PATH']}"
    done = h5zarr("doctor", PATH=path, H5ZARR_PYTHON=sys.executable)
    assert "round trip: a store was written and read" in done.stdout
    assert f"h5py {h5py.version.version}" in done.stdout and "reads and writes stores" in done.stdout
    assert "h5dump: Version" in done.stdout
    assert Path(os.environ["H5ZARR_PLUGIN_DIR"]).name in done.stdout


def test_doctor_says_what_it_did_not_find(tmp_path):
    for name in ("sh", "env", "rm"):
        os.symlink(shutil.which(name), tmp_path / name)
    done = h5zarr("doctor", PATH=str(tmp_path), H5ZARR_PYTHON=str(tmp_path / "nopython"))
    assert "All is well" not in done.stdout
    assert "not tried: h5py, h5dump, h5ls." in done.stdout


def test_doctor_says_what_is_wrong(tmp_path):
    done = h5zarr("doctor", expected=4, HDF5_PLUGIN_PATH=str(tmp_path), HDF5_VOL_CONNECTOR="zarr threds=2")
    assert "libh5zarr.so is not in" in done.stdout and "unknown key 'threds'" in done.stdout
