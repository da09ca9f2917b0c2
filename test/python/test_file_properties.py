"""What a program asks of a file's container: answered as HDF5 does for a file of its own, though a
store has none."""
import tempfile

import h5py
import pytest

from support import documents, run_python

CREATION = """
import ctypes, sys, h5py
from ctypes import byref, c_int64, c_uint
hdf5 = ctypes.CDLL(h5py.h5p.__file__)  # finds the libhdf5 it is linked with
fcpl = h5py.h5p.create(h5py.h5p.FILE_CREATE)
fcpl.set_userblock(8192)
fcpl.set_sizes(4, 8)
fcpl.set_file_space_strategy(h5py.h5f.FSPACE_STRATEGY_PAGE, True, 100)
fcpl.set_file_space_page_size(8192)
id = c_int64(fcpl.id)
assert hdf5.H5Pset_sym_k(id, 40, 8) >= 0 and hdf5.H5Pset_istore_k(id, 64) >= 0
assert hdf5.H5Pset_shared_mesg_nindexes(id, 1) >= 0
assert hdf5.H5Pset_shared_mesg_index(id, 0, 2, 77) >= 0
assert hdf5.H5Pset_shared_mesg_phase_change(id, 30, 20) >= 0
def show(fid):
    got = fid.get_create_plist()
    id = c_int64(got.id)
    a, b, c, d, e, f, g, h = (c_uint() for _ in range(8))
    hdf5.H5Pget_sym_k(id, byref(a), byref(b))
    hdf5.H5Pget_istore_k(id, byref(c))
    hdf5.H5Pget_shared_mesg_nindexes(id, byref(d))
    hdf5.H5Pget_shared_mesg_index(id, 0, byref(e), byref(f))
    hdf5.H5Pget_shared_mesg_phase_change(id, byref(g), byref(h))
    print(got.get_userblock(), got.get_sizes(), got.get_file_space_strategy(),
          got.get_file_space_page_size(), [x.value for x in (a, b, c, d, e, f, g, h)])
fid = h5py.h5f.create(sys.argv[1].encode(), h5py.h5f.ACC_TRUNC, fcpl)
show(fid)
h5py.File(fid).create_dataset("a", data=range(5))
h5py.File(fid).close()
fid = h5py.h5f.open(sys.argv[1].encode(), h5py.h5f.ACC_RDONLY)
show(fid)
print(h5py.File(fid)["a"][...])
"""


def test_creation_properties_are_those_asked_for_also_later(tmp_path):
    native = run_python(CREATION, tmp_path / "x.h5")
    assert run_python(CREATION, tmp_path / "x.zarr") == native
    assert native.startswith("8192 (4, 8) (1, ") and "[40, 8, 64, 1, 2, 77, 30, 20]" in native


def test_usual_properties_are_not_recorded(store):
    h5py.File(store, "w").close()
    assert documents(store)["zarr.json"].get("attributes", {}) == {}


@pytest.mark.parametrize("asked", [None, "earliest", "latest", ("v108", "v110"), ("earliest", "v112")])
def test_format_bounds_are_those_asked_for(store, tmp_path, asked):
    with h5py.File(tmp_path / "x.h5", "w", libver=asked) as native, h5py.File(store, "w", libver=asked) as f:
        assert f.libver == native.libver


@pytest.mark.parametrize("pages", [None, 4096, 16384])
@pytest.mark.parametrize("buffer", [0, 5000, 40000])
def test_page_buffers_fit_the_pages(store, tmp_path, pages, buffer):
    sizes = []
    for name in (tmp_path / "x.h5", store):
        how = {"fs_strategy": "page", "fs_page_size": pages} if pages else {}
        h5py.File(name, "w", **how).close()
        with h5py.File(name, "r", page_buf_size=buffer) as f:
            sizes.append(f.id.get_access_plist().get_page_buffer_size())
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("pages, buffer", [(None, 16384), (16384, 4096)])
def test_a_new_file_gets_a_page_buffer_only_with_pages(store, tmp_path, pages, buffer):
    how = {"fs_strategy": "page", "fs_page_size": pages} if pages else {}
    for name in (tmp_path / "x.h5", store):
        with pytest.raises(OSError):
            h5py.File(name, "w", page_buf_size=buffer, **how)


def test_an_empty_file_in_the_way_is_a_reserved_name(tmp_path):
    with tempfile.NamedTemporaryFile(dir=tmp_path, suffix=".zarr", delete=False) as reserved:
        pass
    with h5py.File(reserved.name, "w") as f:
        f["a"] = 1
    with h5py.File(reserved.name) as f:
        assert f["a"][()] == 1


def test_a_file_with_content_is_not_replaced(tmp_path):
    (tmp_path / "x.zarr").write_text("precious")
    with pytest.raises(OSError):
        h5py.File(tmp_path / "x.zarr", "w")
    assert (tmp_path / "x.zarr").read_text() == "precious"


def test_a_store_has_no_descriptor_to_hand_out(store):
    with h5py.File(store, "w") as f, pytest.raises(RuntimeError, match="no one file"):
        f.id.get_vfd_handle()


@pytest.mark.parametrize("locking", [True, False, "best-effort"])
@pytest.mark.parametrize("again", [True, False, "best-effort"])
def test_a_second_open_must_ask_for_the_same_locking(store, tmp_path, locking, again, monkeypatch):
    monkeypatch.delenv("HDF5_USE_FILE_LOCKING", raising=False)
    allowed = []
    for name in (tmp_path / "x.h5", store):
        with h5py.File(name, "w", locking=locking):
            try:
                h5py.File(name, "r", locking=again).close()
                allowed.append(True)
            except OSError:
                allowed.append(False)
    assert allowed[0] == allowed[1]
