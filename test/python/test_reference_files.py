"""Reference files of kerchunk and LINDI: JSON that says which bytes of which files are the chunks of a Zarr store."""
import base64
import gzip
import json
import os
import zlib

import h5py
import numcodecs
import numpy as np
import pytest

from http_support import fault_server
from support import assert_equal, run, run_python, tool

DATA = np.arange(48, dtype="<i4")


def array(shape, chunks, dtype="<i4", fill=-1, compressor=None, filters=None):
    return {"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": dtype, "fill_value": fill,
            "compressor": compressor, "filters": filters, "order": "C"}


def write(path, refs, **more):
    document = {"version": 1, "refs": refs} | more if more.pop("v1", True) else refs
    path.write_text(json.dumps(document))
    return str(path)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data.bin").write_bytes(b"HEAD" + DATA.tobytes() + b"TAIL")
    return tmp_path


GROUP = {".zgroup": {"zarr_format": 2}}
SPANS = GROUP | {"a/.zarray": array([40], [16]), "a/0": ["data.bin", 4, 64], "a/1": ["data.bin", 68, 64]}
EXPECTED = np.concatenate([DATA[:32], np.full(8, -1, "<i4")])


@pytest.mark.parametrize("v1", [True, False])
def test_both_versions_of_kerchunk_are_read(folder, v1):
    with h5py.File(write(folder / "x.json", SPANS, v1=v1), "r") as f:
        assert list(f) == ["a"]
        assert_equal(f["a"][()], EXPECTED)
        assert_equal(f["a"][14:20], EXPECTED[14:20])


def test_the_name_does_not_matter(folder):
    with h5py.File(write(folder / "anything.at.all", SPANS), "r") as f:
        assert_equal(f["a"][()], EXPECTED)


@pytest.mark.parametrize("text", ['{"a": 1}', "[]", "{", "", '{"refs are": "nice"}', "x" * 100])
def test_other_json_files_are_refused_as_hdf5_does(folder, text):
    (folder / "other.json").write_text(text)
    with pytest.raises(OSError, match="file signature not found|truncated file"):
        h5py.File(folder / "other.json", "r")


def test_a_mark_of_utf_8_at_the_beginning_is_passed_over(folder):
    path = write(folder / "x.json", SPANS | {"a/2": "abc"})
    text = (folder / "x.json").read_bytes()
    (folder / "x.json").write_bytes(b"\xef\xbb\xbf" + text)
    with h5py.File(path, "r") as f:
        assert_equal(f["a"][:32], EXPECTED[:32])


PACKERS = {"gzip": gzip.compress, "zstd": lambda text: bytes(numcodecs.Zstd(3).encode(text))}


def pack(path, packer, refs):
    """As many keep them, for they become a twentieth so."""
    path.write_bytes(PACKERS[packer](json.dumps({"version": 1, "refs": refs}).encode()))
    return str(path)


@pytest.mark.parametrize("connector", ["zarr", None])
@pytest.mark.parametrize("packer", PACKERS)
def test_a_reference_file_may_be_packed(folder, packer, connector):
    if connector is None and h5py.version.hdf5_version_tuple < (2,):
        pytest.skip("HDF5 1.14 opens stores by its probe")
    refs = SPANS | {f"a/{i}": ["no such file", 0, i] for i in range(10, 200_000)}  # several MB
    code = "import h5py, sys\nfor name in sys.argv[1:]: print(h5py.File(name)['a'][:32].sum())"
    names = [pack(folder / name, packer, refs) for name in ("x.json.packed", "y.json")]  # whatever the name
    with fault_server(folder) as server:
        names += [f"{server.url}/x.json.packed", f"{server.url}/y.json"]
        assert run_python(code, *names, connector=connector).split() == 4 * [str(DATA[:32].sum())]


def test_a_reference_file_may_be_packed_in_several_parts(folder):
    text = json.dumps({"version": 1, "refs": SPANS}).encode()
    for name, packer in PACKERS.items():
        (folder / name).write_bytes(packer(text[:20]) + packer(text[20:]))
        with h5py.File(folder / name) as f:
            assert_equal(f["a"][()], EXPECTED)


@pytest.mark.parametrize("packer", PACKERS)
def test_a_packed_reference_file_that_is_damaged_is_refused(folder, packer):
    refs = SPANS | {f"a/{i}": ["no such file", i * 7919 % 104729, i] for i in range(10, 30_000)}
    path = folder / "x.json"
    pack(path, packer, refs)
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(OSError, match=f"x.json': {packer}: cut off"):
        h5py.File(path)
    path.write_bytes(whole[:-3000] + bytes(1000) + whole[-2000:])
    with pytest.raises(OSError, match="x.json'"):
        h5py.File(path)
    path.write_bytes(PACKERS[packer](b"some text that is packed"))
    with pytest.raises(OSError, match="signature not found"):
        h5py.File(path)


def test_a_target_without_a_range_is_the_whole_file(folder):
    (folder / "whole.bin").write_bytes(DATA[:16].tobytes())
    for target in (["whole.bin"], ["whole.bin", None, None]):
        with h5py.File(write(folder / "x.json", SPANS | {"a/0": target}), "r") as f:
            assert_equal(f["a"][:16], DATA[:16])


def test_relative_targets_lie_beside_the_reference_file(folder, monkeypatch):
    monkeypatch.chdir("/")
    (folder / "deep").mkdir()
    refs = SPANS | {"a/0": ["../data.bin", 4, 64], "a/1": [f"file://{folder}/data.bin", 68, 64]}
    with h5py.File(write(folder / "deep" / "x.json", refs), "r") as f:
        assert_equal(f["a"][()], EXPECTED)


def test_inline_values(folder):
    raw = DATA[:4].tobytes()
    refs = GROUP | {
        ".zattrs": '{"title": "r\\u00e9f", "nan": "NaN"}',
        "text/.zarray": json.dumps(array([6], [6], "|S1", "")), "text/0": "h\u00e9llo",
        "base64/.zarray": array([4], [4]), "base64/0": "base64:" + base64.b64encode(raw).decode(),
        "controls/.zarray": array([4], [4]), "controls/0": raw.decode("ascii"),
        "zlib/.zarray": array([48], [48], compressor={"id": "zlib", "level": 1}),
        "zlib/0": "base64:" + base64.b64encode(zlib.compress(DATA.tobytes())).decode()}
    with h5py.File(write(folder / "x.json", refs), "r") as f:
        assert f.attrs["title"] == "réf"
        assert b"".join(f["text"][()]) == "h\u00e9llo".encode()
        for name in ("base64", "controls"):
            assert_equal(f[name][()], DATA[:4])
        assert_equal(f["zlib"][()], DATA)


def test_templates_and_generated_references(folder):
    refs = GROUP | {"a/.zarray": array([4, 12], [1, 4])}
    gen = [{"key": "a/{{i}}.{{j}}", "url": "{{dir}}{{ name }}.bin", "offset": "{{4 + (i * 3 + j) * 16}}",
            "length": "{{ 2 * 8 }}", "dimensions": {"i": {"stop": 4}, "j": [0, 1, 2]}}]
    path = write(folder / "x.json", refs, gen=gen, templates={"dir": "", "name": "data"})
    with h5py.File(path, "r") as f:
        assert_equal(f["a"][()], DATA.reshape(4, 12))


def test_templates_that_need_jinja_are_refused(folder):
    gen = [{"key": "a/{{i}}", "url": "data.bin", "offset": "{{i|int}}", "length": "1",
            "dimensions": {"i": {"start": 0, "stop": 2}}}]
    with pytest.raises(OSError, match="i|int"):
        h5py.File(write(folder / "x.json", SPANS, gen=gen), "r")
    with h5py.File(write(folder / "y.json", SPANS | {"a/0": ["{{u('x')}}", 4, 64]}), "r") as f:
        with pytest.raises(OSError, match="template"):
            f["a"][0]
        assert f["a"][16] == 16


def test_a_cut_off_last_chunk_is_whole_if_all_its_elements_are_there(folder):
    refs = GROUP | {"a/.zarray": array([10], [8]), "a/0": ["data.bin", 4, 32], "a/1": ["data.bin", 36, 8],
                    "b/.zarray": array([10], [8]), "b/0": ["data.bin", 4, 32], "b/1": ["data.bin", 36, 7]}
    with h5py.File(write(folder / "x.json", refs), "r") as f:
        assert_equal(f["a"][()], DATA[:10])
        assert_equal(f["a"][9:], DATA[9:10])
        with pytest.raises(OSError, match="has 7 bytes, expected"):
            f["b"][()]


@pytest.mark.parametrize("reference, message", [
    (["gone.bin", 0, 64], "is not there"),
    (["data.bin", 190, 64], "data.bin"),
    (["data.bin", 4, 60], "has 60 bytes, expected"),
    (["gs://bucket/key", 0, 64], "gs://"),
    (["http://127.0.0.1:9/x", 0, 64], "127.0.0.1:9"),
    ("base64:!!!!", "base64"),
])
def test_what_cannot_be_read_is_an_error_and_never_fill(folder, reference, message):
    with h5py.File(write(folder / "x.json", SPANS | {"a/0": reference}), "r") as f:
        assert_equal(f["a"][16:32], DATA[16:32])
        with pytest.raises(OSError, match=message):
            f["a"][:16]


@pytest.mark.parametrize("reference", [5, [], ["data.bin", 4], ["data.bin", -4, 5], [None, 0, 5], ["data.bin", 1, 2, 3],
                                       ["data.bin", 1 << 63, 1 << 62], ["data.bin", 4.0, 5], ["data.bin", "4", "5"],
                                       ["data.bin", None, 5], [["data.bin", 4, 5]], True, None])
def test_damaged_references_are_refused(folder, reference):
    with pytest.raises(OSError, match="reference 'a/0' is neither|reference 'a/0' has no URL"):
        h5py.File(write(folder / "x.json", SPANS | {"a/0": reference}), "r")


def test_later_versions_are_refused(folder):
    (folder / "x.json").write_text(json.dumps({"version": 2, "refs": SPANS}))
    with pytest.raises(OSError, match="version 2"):
        h5py.File(folder / "x.json", "r")


@pytest.mark.parametrize("mode", ["r+", "a"])
def test_references_are_read_only(folder, mode):
    path = write(folder / "x.json", SPANS)
    with pytest.raises(OSError, match="can only be read"):
        h5py.File(path, mode)
    with h5py.File(path, "r") as f, pytest.raises((OSError, TypeError, ValueError)):
        f["a"][0] = 1


def test_parts_of_an_hdf5_file_read_as_h5py_reads_them(tmp_path):
    rng = np.random.default_rng(3)
    values = rng.integers(0, 1000, (60, 50), dtype="<i4")
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f.create_dataset("d", data=values, chunks=(20, 25), compression="gzip", shuffle=True)
        dataset = f["d"]
        refs = GROUP | {"d/.zarray": array([60, 50], [20, 25], compressor=None, filters=[
            {"id": "shuffle", "elementsize": 4}, {"id": "zlib", "level": 4}])}
        for i in range(dataset.id.get_num_chunks()):
            chunk = dataset.id.get_chunk_info(i)
            key = ".".join(str(o // c) for o, c in zip(chunk.chunk_offset, dataset.chunks))
            refs[f"d/{key}"] = ["x.h5", chunk.byte_offset, chunk.size]
    with h5py.File(write(tmp_path / "x.json", refs), "r") as f:
        assert_equal(f["d"][()], values)
        assert_equal(f["d"][::7, 20:30], values[::7, 20:30])


def test_targets_behind_a_server(folder):
    values = np.arange(4096, dtype="<i4")
    (folder / "big.bin").write_bytes(values.tobytes())
    with fault_server(folder, latency_ms=10) as server:
        refs = GROUP | {"a/.zarray": array([4096], [64])}
        refs |= {f"a/{i}": [f"{server.url}/big.bin", i * 256, 256] for i in range(64)}
        with h5py.File(write(folder / "x.json", refs), "r") as f:
            assert_equal(f["a"][()], values)
            asked = server.requests()
            assert len(asked) == 1 and asked[0]["bytes"] == values.nbytes
        refs |= {f"a/{i}": ["big.bin", i * 256, 256] for i in range(64)}
        write(folder / "y.json", refs)
        with h5py.File(f"{server.url}/y.json", "r") as f:
            assert_equal(f["a"][()], values)
        assert len(server.requests()) == 2


@pytest.mark.parametrize("target", ["/etc/hostname", "file:///etc/hostname"])
def test_a_remote_reference_file_names_no_file_of_this_machine(folder, target):
    refs = GROUP | {"a/.zarray": array([4], [4], "|S1", ""), "a/0": [target, 0, 4]}
    write(folder / "x.json", refs)
    with fault_server(folder) as server, h5py.File(f"{server.url}/x.json", "r") as f:
        with pytest.raises(OSError, match="is not there|of this machine"):
            f["a"][()]


def test_tools_read_reference_files(folder):
    done = run([tool("h5dump"), "-d", "/a", write(folder / "x.json", SPANS)])
    assert done.returncode == 0 and "30, 31, -1, -1" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("chunks, template", [
    (1_000_000, "{{u}}/some/folder/of/files/that/is/there/part-%05d.nc"), (1_400_000, "s3://bucket/short-%05d.nc")])
def test_a_large_reference_file_opens_soon_and_in_little_memory(tmp_path, chunks, template):
    path = tmp_path / "large.json"
    with open(path, "w") as file:
        file.write(json.dumps({"version": 1, "templates": {"u": "data.bin"}, "refs": GROUP | {
            "variable/temperature/.zarray": array([chunks * 4], [4])}})[:-2])
        for i in range(chunks):
            file.write(f', "variable/temperature/{i}": ["{template % (i % 50)}", {4 + i * 16}, 16]')
        file.write("}}")
    code = """if True:
        import h5py, os, resource, sys, time
        h5py.File(sys.argv[2], "r").close()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begin = time.process_time()
        with h5py.File(sys.argv[1], "r") as f:
            f["variable/temperature"]
            print(time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        """
    small = write(tmp_path / "small.json", SPANS)
    seconds, kib = map(float, run_python(code, str(path), small).split())
    size = os.path.getsize(path)
    assert size > 100e6
    assert kib * 1024 <= 2 * size, (kib, size)
    assert seconds < 4, seconds  # of processor time: 1 s and less where nothing else runs


def test_scalars_of_more_than_64_kib_are_read(folder):
    text = "long text " * 2000
    refs = GROUP | {"a/.zarray": array([1], [1], f"<U{len(text)}", ""), "a/.zattrs": {"_SCALAR": True},
                    "a/0": "base64:" + base64.b64encode(text.encode("utf-32-le")).decode()}
    with h5py.File(write(folder / "x.json", refs), "r") as f:
        assert f["a"].shape == () and f["a"][()].decode() == text


def test_references_in_parquet_files_are_refused_with_the_command_that_converts_them(tmp_path):
    (tmp_path / "x.parq").mkdir()
    (tmp_path / "x.parq" / ".zmetadata").write_text('{"metadata": {".zgroup": {"zarr_format": 2}}, "record_size": 10}')
    with pytest.raises(OSError, match="python3 -c .*LazyReferenceMapper"):
        h5py.File(tmp_path / "x.parq", "r")


def test_references_in_parquet_files_behind_a_server_are_refused_and_no_fill(tmp_path):
    (tmp_path / "x.parq").mkdir()
    metadata = {".zgroup": {"zarr_format": 2}, "a/.zarray": array([4], [4])}
    (tmp_path / "x.parq" / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": 10}))
    with fault_server(tmp_path) as server, pytest.raises(OSError, match=r"LazyReferenceMapper.*filesystem\('http'\)"):
        h5py.File(f"{server.url}/x.parq", "r")
