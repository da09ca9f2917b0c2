"""The cache on disk: a second program gets what it read from there, asks only whether that is still so, and gets
nothing that is old, damaged, or not its to see."""
import json
import os
import stat
import subprocess
import sys
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr

from http_support import fault_server
from support import environment, run, run_python

rng = np.random.default_rng(17)
NOISE = rng.integers(0, 1 << 15, (32, 250, 250), dtype="i2")  # 4 MB that no filter makes much smaller
HASH = """
import h5py, hashlib, sys
for url in sys.argv[1:]:
    with h5py.File(url, "r") as f:
        print(hashlib.sha1(f["a"][()].tobytes()).hexdigest(), f["first"][()].sum())
"""


def write(folder, data):
    with h5py.File(folder / "a.h5", "w") as f:
        f.create_dataset("a", data=data, chunks=(1, 250, 250), compression="gzip", shuffle=True)
        f["first"] = np.arange(10)
    group = zarr.create_group(str(folder / "a.zarr"), overwrite=True)
    group.create_array("a", data=data, chunks=(1, 250, 250))
    group.create_array("first", data=np.arange(10))
    zarr.consolidate_metadata(group.store)
    # kerchunk's references to the chunks of the HDF5 file
    refs = {".zgroup": '{"zarr_format":2}'}
    with h5py.File(folder / "a.h5") as f:
        for name in ("a", "first"):
            d = f[name]
            chunks = d.chunks or d.shape
            refs[f"{name}/.zarray"] = json.dumps(
                {"zarr_format": 2, "shape": d.shape, "chunks": chunks, "dtype": d.dtype.str, "order": "C",
                 "fill_value": 0, "compressor": None,
                 "filters": [{"id": "shuffle", "elementsize": 2}, {"id": "zlib", "level": 4}] if d.chunks else None})
            if d.chunks is None:
                refs[f"{name}/0"] = ["a.h5", d.id.get_offset(), d.id.get_storage_size()]
                continue
            for i in range(d.id.get_num_chunks()):
                chunk = d.id.get_chunk_info(i)
                key = ".".join(str(o // c) for o, c in zip(chunk.chunk_offset, d.chunks))
                refs[f"{name}/{key}"] = ["a.h5", chunk.byte_offset, chunk.size]
    (folder / "a.json").write_text(json.dumps({"version": 1, "refs": refs}))


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    write(folder, NOISE)
    return folder


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "deep" / "cache"


NAMES = ("a.h5", "a.zarr", "a.json")


def read(cache, *urls, settings="", **env):
    return run_python(HASH, *urls, connector=f"zarr cache_dir={cache};{settings}", **env)


def files_in(cache):
    return [path for path in Path(cache).rglob("*") if path.is_file() and path.name != "total"]


@pytest.mark.parametrize("name, questions", [("a.h5", 1), ("a.json", 1 + 2), ("a.zarr", 1 + 32 + 1)])
def test_a_second_program_only_asks_whether_things_have_changed(root, cache, name, questions):
    with fault_server(root) as server:
        first = read(cache, f"{server.url}/{name}")
        asked = [one for one in server.requests() if one["status"] in (200, 206)]
        assert sum(one["bytes"] for one in asked) > NOISE.nbytes / 2
        assert read(cache, f"{server.url}/{name}") == first
        asked = [one for one in server.requests() if one["status"] != 404]
        assert [one["status"] for one in asked] == [304] * len(asked) and len(asked) <= questions
    assert first == read_here(root)


def read_here(root):
    return run_python(HASH, root / "a.h5", plugin=False, connector=None)


def test_other_parts_of_an_object_come_from_what_is_there_and_what_is_not(root, cache):
    code = "import h5py, sys\nwith h5py.File(sys.argv[1]) as f: print(f['a'][{}].astype('i8').sum())"
    with fault_server(root) as server:
        url = f"{server.url}/a.h5"
        for rows in ("2:9", "5:20", "3:20:2"):
            expected = str(NOISE[eval(f"np.s_[{rows}]")].astype("i8").sum())
            assert run_python(code.format(rows), url, connector=f"zarr cache_dir={cache}").strip() == expected
        asked = server.requests()
        # The last rows were all there.
        assert [one["status"] for one in asked][-1] == 304


@pytest.mark.parametrize("name", NAMES)
def test_what_has_changed_is_read_anew_and_the_old_is_gone(root, cache, name):
    with fault_server(root) as server:
        old = read(cache, f"{server.url}/{name}")
        before = set(files_in(cache))
        write(root, NOISE[::-1] + 1)
        new = read(cache, f"{server.url}/{name}")
        assert new != old and new == read_here(root)
        assert not before & set(files_in(cache))
        assert read(cache, f"{server.url}/{name}") == new


def test_eight_programs_at_once_share_it(root, cache):
    expected = read_here(root) * 3
    with fault_server(root) as server:
        urls = [f"{server.url}/{name}" for name in NAMES]
        programs = [subprocess.Popen([sys.executable, "-c", HASH, *urls], text=True, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, env=environment(f"zarr cache_dir={cache}"))
                    for _ in range(8)]
        for program in programs:
            out, err = program.communicate(timeout=120)
            assert program.returncode == 0 and out == expected, err
        server.requests()
        assert read(cache, *urls) == expected
        assert {one["status"] for one in server.requests()} <= {304, 404}
    assert not [path for path in files_in(cache) if path.name.endswith(".tmp")]


def test_programs_that_share_it_while_an_object_is_replaced_read_one_of_its_states(root, cache):
    """And never a mixture of two; one that has the file open meanwhile may be told of it."""
    code = """if True:
        import h5py, sys, zlib
        for _ in range(8):
            try:
                with h5py.File(sys.argv[1]) as f:
                    print(zlib.crc32(f["a"][()].copy()), flush=True)
            except (OSError, KeyError) as error:
                print("replaced" if "replaced meanwhile" in str(error) else error.args, flush=True)
        """
    states = []
    for number in range(2):
        (root / f"state{number}").mkdir()
        write(root / f"state{number}", NOISE + number)
        states.append((root / f"state{number}/a.h5").read_bytes())
    sums = {str(zlib.crc32(NOISE + number)) for number in range(2)}
    with fault_server(root) as server:
        programs = [subprocess.Popen([sys.executable, "-c", code, f"{server.url}/a.h5"], text=True, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, env=environment(f"zarr cache_dir={cache}"))
                    for _ in range(4)]
        said = []
        for number in range(1, 8):  # while the other programs are anywhere
            said.append(programs[0].stdout.readline().strip())
            (root / "next").write_bytes(states[number % 2])
            os.utime(root / "next", (number, number))
            os.replace(root / "next", root / "a.h5")
        for program in programs:
            out, err = program.communicate(timeout=120)
            assert program.returncode == 0, err
            said += out.split()
        assert len(said) == 4 * 8 and set(said) <= sums | {"replaced"}, said
        assert sums & set(said)
        # What is there in the end is what the next one reads.
        last = run_python("import h5py, sys, zlib\nprint(zlib.crc32(h5py.File(sys.argv[1])['a'][()].copy()))",
                          f"{server.url}/a.h5", connector=f"zarr cache_dir={cache}")
        assert last.strip() == str(zlib.crc32(NOISE + number % 2))


def test_it_never_gets_larger_than_it_may_and_what_was_used_last_stays(root, cache):
    used = "cache_dir_bytes=6MiB"
    with fault_server(root) as server:
        read(cache, f"{server.url}/a.h5", settings=used)
        for path in files_in(cache):
            os.utime(path, (1, 1))
        read(cache, f"{server.url}/a.zarr", settings=used)
        assert sum(path.stat().st_size for path in files_in(cache)) <= 6 << 20
        server.requests()
        assert read(cache, f"{server.url}/a.zarr", settings=used) == read_here(root)
        assert {one["status"] for one in server.requests()} <= {304, 404}
        read(cache, f"{server.url}/a.h5", settings=used)
        assert sum(one["bytes"] for one in server.requests()) > 0


@pytest.mark.parametrize("damage", [lambda p, b: p.write_bytes(b[:-1] + bytes([b[-1] ^ 1])),
                                    lambda p, b: p.write_bytes(b[:len(b) // 2]), lambda p, b: p.write_bytes(b""),
                                    lambda p, b: p.write_bytes(b"x" * 8 + b[8:]), lambda p, b: p.unlink()],
                         ids=["a bit", "half", "empty", "other", "gone"])
def test_damaged_files_are_noticed_and_read_anew(root, cache, damage):
    with fault_server(root) as server:
        urls = [f"{server.url}/{name}" for name in NAMES]
        expected = read(cache, *urls)
        sizes = {path: path.stat().st_size for path in files_in(cache)}
        for path in sizes:
            damage(path, path.read_bytes())
        server.requests()
        assert read(cache, *urls) == expected
        assert sum(one["bytes"] for one in server.requests()) > NOISE.nbytes
        assert read(cache, *urls) == expected
        assert {one["status"] for one in server.requests()} <= {304, 404}


def test_it_is_the_users_alone_and_no_secret_is_in_it(root, cache, tmp_path):
    with fault_server(root, redirect="plain") as server:
        url = f"{server.url.replace('//', '//somebody:hush@')}/a.h5?token=hush"
        assert read(cache, url).startswith(read_here(root)[:40])
    assert files_in(cache)
    for folder, _, names in os.walk(cache):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        for name in names:
            path = Path(folder, name)
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert "hush" not in str(path) and b"hush" not in path.read_bytes() and "127.0.0.1" not in str(path)


def test_a_signature_is_no_part_of_an_objects_name(root, cache):
    with fault_server(root) as server:
        read(cache, f"{server.url}/a.h5?X-Amz-Signature=1")
        server.requests()
        read(cache, f"{server.url}/a.h5?X-Amz-Signature=2")
        assert [one["status"] for one in server.requests()] == [304]
        read(cache, f"{server.url}/a.h5?version=2")  # which may be any other object
        assert sum(one["bytes"] for one in server.requests()) > NOISE.nbytes / 2


def test_nobody_reads_from_it_what_the_server_would_not_give(root, cache):
    with fault_server(root) as server:
        for name in NAMES:
            read(cache, f"{server.url}/{name}")
        server.become(token="other")
        for name in NAMES:
            done = run([sys.executable, "-c", HASH, f"{server.url}/{name}"], connector=f"zarr cache_dir={cache}")
            assert done.returncode != 0 and "403" in done.stderr, done.stderr


@pytest.mark.parametrize("habits", [{"tags": "weak"}, {"tags": "none"},
                                    {"more_headers": [["Cache-Control", "private, no-store"]]}])
def test_what_cannot_or_must_not_be_kept_is_not(root, cache, habits):
    with fault_server(root, **habits) as server:
        for name in NAMES:
            assert read(cache, f"{server.url}/{name}") == read_here(root)
    assert files_in(cache) == []


def test_without_a_place_to_write_reads_go_on(root, cache, tmp_path):
    (tmp_path / "file").write_text("no folder")
    with fault_server(root) as server:
        url = f"{server.url}/a.h5"
        assert read(tmp_path / "file" / "cache", url) == read_here(root)
        # A full disk: no file may be longer than a byte.
        full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))\n"
        out = run([sys.executable, "-c", full + HASH, url], connector=f"zarr cache_dir={cache};trace=1")
        assert out.returncode == 0 and out.stdout == read_here(root), out.stderr
        assert "takes no more" in out.stderr and files_in(cache) == []


@pytest.mark.parametrize("mode, message", [(0o777, "others may write in it"), (0o720, "others may write in it")])
def test_a_folder_that_others_may_write_in_is_refused(root, tmp_path, mode, message):
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(mode)
    with fault_server(root) as server:
        done = run([sys.executable, "-c", HASH, f"{server.url}/a.h5"], connector=f"zarr cache_dir={folder}")
        assert done.returncode != 0 and message in done.stderr, done.stderr


def test_a_relative_name_is_refused(root):
    with fault_server(root) as server:
        done = run([sys.executable, "-c", HASH, f"{server.url}/a.h5"], connector="zarr cache_dir=cache")
        assert done.returncode != 0 and "not an absolute path" in done.stderr, done.stderr


@pytest.mark.parametrize("habits", [{"busy_every": 3}, {"cut_every": 4}, {"ranges": "no"}, {"ranges": "no-total"},
                                    {"chunked": True}, {"redirect": "expiring"}])
def test_faults_that_pass_leave_no_trace_in_it(root, cache, habits):
    expected = read_here(root) * 3
    with fault_server(root, **habits) as server:
        for _ in range(2):
            assert read(cache, *(f"{server.url}/{name}" for name in NAMES)) == expected


def test_a_bucket_is_read_from_it_and_written_past_it(root, cache, tmp_path):
    code = """
import h5py, sys
with h5py.File("s3://bucket/w.zarr", sys.argv[1]) as f:
    if sys.argv[1] == "w": f.create_dataset("a", data=range(1000), chunks=(100,))
    if sys.argv[1] == "r+": f["a"][::7] += 1
    print(f["a"][()].sum())
"""
    (tmp_path / "s3" / "bucket").mkdir(parents=True)
    with fault_server(tmp_path / "s3", s3=True) as server:
        def program(mode):
            return run_python(code, mode, connector=f"zarr cache_dir={cache}", AWS_ENDPOINT_URL=server.url,
                              AWS_CONFIG_FILE="/nowhere", AWS_SHARED_CREDENTIALS_FILE="/nowhere").strip()
        assert program("w") == "499500" and not cache.exists()
        assert program("r") == "499500"
        server.requests()
        assert program("r") == "499500"
        chunks = [one["status"] for one in server.requests() if "/c/" in one["path"]]
        assert chunks == [304] * 10
        assert program("r+") == str(499500 + 143)
        assert program("r") == str(499500 + 143)
