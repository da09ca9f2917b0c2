"""Stores in one file: ZIP archives as zarr-python writes them, and LINDI's archives."""
import io
import json
import tarfile
import zipfile

import h5py
import numpy as np
import pytest
import zarr

from http_support import fault_server
from support import assert_equal, run_python

DATA = np.arange(60 * 70, dtype="i4").reshape(60, 70)


def make(path, zarr_format=3, compression=zipfile.ZIP_STORED):
    store = zarr.storage.ZipStore(path, mode="w", compression=compression)
    group = zarr.create_group(store, zarr_format=zarr_format)
    group.attrs["title"] = "packed"
    group.create_array("deep/a", shape=DATA.shape, chunks=(20, 30), dtype="i4", fill_value=-1)[...] = DATA
    group.create_array("raw", shape=DATA.shape, chunks=(60, 70), dtype="i4", compressors=None)[...] = DATA
    if zarr_format == 3:
        group.create_array("s", shape=DATA.shape, shards=(60, 70), chunks=(20, 10), dtype="i4")[...] = DATA
    hole = group.create_array("hole", shape=DATA.shape, chunks=(30, 70), dtype="i4", fill_value=-1)
    hole[:30] = DATA[:30]
    store.close()
    return str(path)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_zip_of_zarr_python_is_read(tmp_path, zarr_format, compression):
    with h5py.File(make(tmp_path / "x.zarr.zip", zarr_format, compression), "r") as f:
        assert f.attrs["title"] == "packed"
        assert set(f) == {"deep", "raw", "hole"} | ({"s"} if zarr_format == 3 else set())
        for name in set(f) - {"deep", "hole"}:
            assert_equal(f[name][()], DATA)
            assert_equal(f[name][5:50:7, 3:60], DATA[5:50:7, 3:60])
        assert_equal(f["deep/a"][()], DATA)
        assert_equal(f["hole"][()], np.where(np.arange(60)[:, None] < 30, DATA, -1))


def test_the_later_of_two_members_counts(tmp_path):
    path = make(tmp_path / "x.zarr.zip")
    with pytest.warns(UserWarning), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("raw/c/0/0", (DATA + 1).tobytes())
    with h5py.File(path, "r") as f:
        assert_equal(f["raw"][()], DATA + 1)


def test_members_whose_folders_end_in_backslashes_are_read(tmp_path):
    """As .NET and others have made them."""
    with zipfile.ZipFile(make(tmp_path / "x.zarr.zip")) as good, zipfile.ZipFile(tmp_path / "y.zarr.zip", "w") as bad:
        for name in good.namelist():
            member = zipfile.ZipInfo()
            member.filename = name.replace("/", "\\")
            bad.writestr(member, good.read(name))
        folder = zipfile.ZipInfo()
        folder.filename = "empty\\"
        bad.writestr(folder, b"")
    with h5py.File(tmp_path / "x.zarr.zip") as good, h5py.File(tmp_path / "y.zarr.zip") as bad:
        assert list(good) == list(bad)
        assert_equal(bad["raw"][()], good["raw"][()])


def test_backslashes_are_letters_where_slashes_separate(tmp_path):
    with h5py.File(tmp_path / "s.zarr", "w") as f:
        f["a\\b"] = DATA
    with zipfile.ZipFile(tmp_path / "s.zip", "w") as archive:
        for path in (tmp_path / "s.zarr").rglob("*"):
            archive.write(path, path.relative_to(tmp_path / "s.zarr"))
    with h5py.File(tmp_path / "s.zip") as f:
        assert list(f) == ["a\\b"]
        assert_equal(f["a\\b"][()], DATA)


@pytest.mark.parametrize("mode", ["r+", "a"])
def test_archives_are_read_only(tmp_path, mode):
    path = make(tmp_path / "x.zarr.zip")
    with pytest.raises(OSError, match="can only be read"):
        h5py.File(path, mode)


def test_a_damaged_member_is_an_error(tmp_path):
    path = make(tmp_path / "x.zarr.zip")
    content = bytearray(open(path, "rb").read())
    at = content.find(DATA.tobytes()[400:500])
    content[at] ^= 1
    open(path, "wb").write(content)
    with h5py.File(path, "r") as f, pytest.raises(OSError, match="raw/c/0/0"):
        f["raw"][()]


def test_a_zip_that_is_no_store_is_refused_with_the_reason(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("../evil/zarr.json", "{}")
        archive.writestr("a/b", "text")
    with pytest.raises(OSError, match="ZIP archive, but no Zarr store"):
        h5py.File(tmp_path / "x.zip", "r")
    (tmp_path / "cut.zip").write_bytes((tmp_path / "x.zip").read_bytes()[:40])
    with pytest.raises(OSError, match="cut.zip': .*archive"):
        h5py.File(tmp_path / "cut.zip", "r")
    with zipfile.ZipFile(tmp_path / "lzma.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("zarr.json", '{"zarr_format": 3, "node_type": "group"}')
    with pytest.raises(OSError, match="lzma.zip.*zarr.json"):
        h5py.File(tmp_path / "lzma.zip", "r")
    with pytest.raises(FileNotFoundError):
        h5py.File(tmp_path / "none.zip", "r")


def test_an_hdf5_file_may_be_named_like_an_archive(tmp_path):
    with h5py.File(tmp_path / "x.zip", "w", userblock_size=512) as f:
        f["a"] = 1
    with h5py.File(tmp_path / "x.zip", "r") as f:
        assert f["a"][()] == 1


def test_many_threads_read_one_archive(tmp_path):
    code = """if True:
        import h5py, sys
        with h5py.File(sys.argv[1], "r") as f:
            print(int(f["deep/a"][()].sum()))
        """
    path = make(tmp_path / "x.zarr.zip", compression=zipfile.ZIP_DEFLATED)
    assert int(run_python(code, path, connector="zarr threads=8")) == DATA.sum()


LINDI = {"generationMetadata": {"generatedBy": "test"}, "version": 1, "refs": {
    ".zgroup": {"zarr_format": 2},
    "a/.zarray": {"zarr_format": 2, "shape": [60, 70], "chunks": [30, 70], "dtype": "<i4", "fill_value": 0,
                  "compressor": None, "filters": None, "order": "C"},
    "a/0.0": ["./blobs/a/0.0", 0, 8400], "a/1.0": ["./blobs/a/1.0"]}}


def test_lindi_archives_are_read(tmp_path):
    document = json.dumps(LINDI)
    blobs = {"blobs/a/0.0": DATA[:30].tobytes(), "blobs/a/1.0": DATA[30:].tobytes()}
    with tarfile.open(tmp_path / "x.lindi.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
        entry = json.dumps({"index": {}}).ljust(1024)
        for name, content in [(".tar_entry.json", entry.encode()), *blobs.items(),
                              ("lindi.json", document.ljust(5000).encode())]:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    folder = tmp_path / "x.lindi.d"
    (folder / "blobs/a").mkdir(parents=True)
    (folder / "lindi.json").write_text(document)
    for name, content in blobs.items():
        (folder / name).write_bytes(content)
    for path in (tmp_path / "x.lindi.tar", folder):
        with h5py.File(path, "r") as f:
            assert_equal(f["a"][()], DATA)
            assert_equal(f["a"][29:31, 5], DATA[29:31, 5])
    (folder / "blobs/a/1.0").unlink()
    with h5py.File(folder, "r") as f, pytest.raises(OSError, match="is not there"):
        f["a"][()]


def bytes_of(requests):
    return sum(request["bytes"] for request in requests)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("habits", [{}, {"busy_every": 3}, {"cut_every": 2}, {"ranges": "no"}], ids=str)
def test_a_zip_behind_a_server_is_read(tmp_path, zarr_format, compression, habits):
    make(tmp_path / "x.zarr.zip", zarr_format, compression)
    with fault_server(tmp_path, **habits) as server, h5py.File(f"{server.url}/x.zarr.zip", "r") as f:
        assert f.attrs["title"] == "packed"
        assert_equal(f["deep/a"][()], DATA)
        assert_equal(f["raw"][5:50:7, 3:60], DATA[5:50:7, 3:60])
        assert_equal(f["hole"][()], np.where(np.arange(60)[:, None] < 30, DATA, np.full_like(DATA, -1)))
        if zarr_format == 3:
            assert_equal(f["s"][7:9, 11:13], DATA[7:9, 11:13])


@pytest.mark.parametrize("force_zip64", [False, True])
def test_members_of_a_zip_behind_a_server_are_asked_for_together(tmp_path, force_zip64):
    noise = np.random.default_rng(1).integers(0, 255, (40, 100_000), dtype="u1")
    document = {"zarr_format": 3, "node_type": "array", "shape": list(noise.shape), "data_type": "uint8",
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 100_000]}},
                "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("zarr.json", json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}))
        archive.writestr("a/zarr.json", json.dumps(document))
        for i, row in enumerate(noise):
            with archive.open(f"a/c/{i}/0", "w", force_zip64=force_zip64) as member:
                member.write(row.tobytes())
    with fault_server(tmp_path) as server, h5py.File(f"{server.url}/x.zip", "r") as f:
        assert list(f) == ["a"]
        assert len(server.requests()) <= 3
        assert_equal(f["a"][20:], noise[20:])
        asked = server.requests()
        assert len(asked) <= 4 and bytes_of(asked) <= 1.1 * noise[20:].nbytes
        assert_equal(f["a"][12, 500:600], noise[12, 500:600])
        assert bytes_of(server.requests()) <= 1 << 18


def test_an_archive_that_is_replaced_meanwhile_is_an_error(tmp_path):
    noise = np.random.default_rng(1).integers(0, 255, (4, 1_000_000), dtype="u1")
    for name in ("x.zarr.zip", "y.zarr.zip"):
        store = zarr.storage.ZipStore(tmp_path / name, mode="w")
        zarr.create_array(store, name="a", data=noise, chunks=(1, 1_000_000))
        store.close()
    with fault_server(tmp_path) as server, h5py.File(f"{server.url}/x.zarr.zip", "r") as f:
        assert list(f) == ["a"]
        (tmp_path / "y.zarr.zip").replace(tmp_path / "x.zarr.zip")
        # (All of it: any one member may have come along with what was asked for so far.)
        with pytest.raises(OSError, match="replaced meanwhile"):
            f["a"][:]


@pytest.mark.parametrize("has_index", [True, False])
def test_lindi_archives_behind_a_server_are_read(tmp_path, has_index):
    contents = {"blobs/a/0.0": DATA[:30].tobytes(), "blobs/a/1.0": DATA[30:].tobytes(),
                "lindi.json": json.dumps(LINDI).ljust(5000).encode()}
    places, at = [], 512 + 1024 + 512 + 4096
    for name, content in contents.items():
        places.append({"n": name, "o": at, "d": at + 512, "s": len(content)})
        at += 512 + -(-len(content) // 512) * 512
    entry = {"index": {"n": ".tar_index.json", "o": 1536, "d": 2048, "s": 4096}} if has_index else {"index": {}}
    with tarfile.open(tmp_path / "x.lindi.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in [(".tar_entry.json", json.dumps(entry).ljust(1024).encode()),
                              (".tar_index.json", json.dumps({"files": places}).ljust(4096).encode()),
                              *contents.items()]:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    with fault_server(tmp_path) as server:
        with h5py.File(f"{server.url}/x.lindi.tar", "r") as f:
            server.requests()
            assert_equal(f["a"][()], DATA)
            assert_equal(f["a"][29:31, 5], DATA[29:31, 5])
            assert bytes_of(server.requests()) <= 2.2 * DATA.nbytes  # (read twice)
        with pytest.raises(OSError):
            h5py.File(f"{server.url}/nothing.lindi.tar", "r")


def test_a_tar_without_references_is_refused_as_hdf5_does(tmp_path):
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("empty"))
    with pytest.raises(OSError, match="signature"):
        h5py.File(tmp_path / "x.tar", "r")
