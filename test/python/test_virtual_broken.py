"""Virtual datasets whose sources lie behind external links into a store that is damaged, or gone."""
import shutil

import h5py
import numpy as np
import pytest

# What is wrong with the array `x` of the store far.zarr; "missing" is nothing wrong to HDF5.
FAULTS = {
    "document": lambda folder: (folder / "far.zarr/g/x/zarr.json").write_text("{"),
    "type": lambda folder: (folder / "far.zarr/g/x/zarr.json").write_text(
        (folder / "far.zarr/g/x/zarr.json").read_text().replace('"int32"', '"unheard_of"')),
    "group": lambda folder: (folder / "far.zarr/g/zarr.json").write_text("[]"),
    "root": lambda folder: (folder / "far.zarr/zarr.json").write_text("{}"),
    "missing array": lambda folder: shutil.rmtree(folder / "far.zarr/g/x"),
    "missing group": lambda folder: shutil.rmtree(folder / "far.zarr/g"),
    "missing store": lambda folder: shutil.rmtree(folder / "far.zarr"),
}


def make_linked(folder, vds, grows):
    """far.zarr, to whose array /g/x links lead in one step and in two; `v` is made of the array behind both."""
    with h5py.File(folder / "far.zarr", "w") as f:
        f.create_dataset("g/x", data=np.arange(10, dtype="i4"), maxshape=(None,), chunks=(4,))
    with h5py.File(folder / "near.h5", "w") as f:
        f["x"] = h5py.ExternalLink("far.zarr", "/g/x")
        f["g"] = h5py.ExternalLink("far.zarr", "/g")
    with h5py.File(folder / "nearer.h5", "w") as f:
        f["y"] = h5py.ExternalLink("near.h5", "/x")
    for i, (file, name) in enumerate((("near.h5", "x"), ("near.h5", "g/x"), ("nearer.h5", "y"))):
        layout = h5py.VirtualLayout((10,), "i4", maxshape=(None,) if grows else None)
        if grows:
            layout[:h5py.h5s.UNLIMITED] = h5py.VirtualSource(file, name, (10,), maxshape=(None,))[:h5py.h5s.UNLIMITED]
        else:
            layout[:] = h5py.VirtualSource(file, name, (10,))
        with h5py.File(folder / vds, "a") as f:
            f.create_virtual_dataset(f"v{i}", layout, fillvalue=-1)


@pytest.mark.parametrize("grows", [False, True])
@pytest.mark.parametrize("vds", ["vds.h5", "vds.zarr"])
@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_broken_behind_an_external_link_is_an_error_and_what_is_missing_is_fill(tmp_path, vds, fault, grows):
    make_linked(tmp_path, vds, grows)
    for broken in (False, True):
        if broken:
            FAULTS[fault](tmp_path)
        with h5py.File(tmp_path / vds) as f:
            for name in ("v0", "v1", "v2"):
                if not broken:
                    assert (f[name][...] == np.arange(10)).all()
                elif fault in ("missing group", "missing store") and name == "v1":
                    continue  # an error or fill, as HDF5's version has it
                elif fault.startswith("missing"):
                    assert (f[name][...] == (-1 if not grows else np.arange(0))).all()
                else:
                    with pytest.raises((OSError, RuntimeError), match="far.zarr"):
                        f[name][...]
