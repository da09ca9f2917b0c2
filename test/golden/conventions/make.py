"""Makes the stores beside this file, each by the program whose conventions it has: one argument, the
name of the store. versions.json says which versions made what is here.

    python make.py lindi     # lindi 0.4 (zarr 2)
    python make.py hdmf      # hdmf-zarr 0.13, pynwb
    python make.py nczarr    # netCDF4 with netcdf-c 4.10
"""
import base64
import importlib.metadata
import json
import os
import sys
import warnings
from datetime import datetime, timezone
from pathlib import Path

warnings.simplefilter("ignore")
HERE = Path(__file__).parent


def make_lindi(out):
    import h5py
    import lindi
    import numpy as np

    source = HERE / "lindi-source.h5"
    with h5py.File(source, "w") as f:
        f.attrs["title"] = "lindi"
        f.attrs["target"] = f.create_group("g").ref
        f["g/a"] = np.arange(12, dtype="f4").reshape(3, 4)
        f["g/a"].attrs["target"] = f["g"].ref
        f["scalar"], f["text"] = 3.5, "hello"
        f["words"] = np.array(["a", "bb", "ü"], dtype=h5py.string_dtype())
        f["fixed"] = np.array([b"ab", b"c"], "S4")
        f["flag"] = np.array([True, False])
        f["refs"] = np.array([f["g"].ref, f["g/a"].ref, f["scalar"].ref], dtype=h5py.ref_dtype)
        table = f.create_dataset("table", (2,), [("start", "i4"), ("count", "u2"), ("target", h5py.ref_dtype)])
        table[0], table[1] = (1, 2, f["g/a"].ref), (3, 4, f["g"].ref)
        f["numbers"] = np.array([(1, 2.5, True), (-3, 4.5, False)], [("x", "i2"), ("y", "f8"), ("z", "?")])
        f["soft"], f["g/up"] = h5py.SoftLink("/g/a"), h5py.SoftLink("/words")
        f.create_dataset("many", (1001,), "i1", chunks=(1,))[...] = np.arange(1001) % 100
    # What lindi makes is a file of references; this is the store it stands for.
    data = source.read_bytes()
    store = lindi.LindiH5ZarrStore.from_file(str(source), url="lindi-source.h5")
    for key, value in store.to_reference_file_system()["refs"].items():
        if isinstance(value, dict):
            value = json.dumps(value, indent=1).encode()
        elif isinstance(value, str):
            is_binary = value.startswith("base64:")
            value = base64.b64decode(value[7:]) if is_binary else value.encode("latin1")
        else:
            value = data[value[1]:value[1] + value[2]]
        os.makedirs((out / key).parent, exist_ok=True)
        (out / key).write_bytes(value)


def make_hdmf(out):
    import numpy as np
    from hdmf_zarr import NWBZarrIO
    from pynwb import NWBFile, TimeSeries
    from pynwb.ecephys import ElectricalSeries

    nwb = NWBFile("a session", "an id", datetime(2020, 1, 1, tzinfo=timezone.utc))
    group = nwb.create_electrode_group("probe", "d", "CA1", nwb.create_device("device"))
    for number in range(3):
        nwb.add_electrode(location=f"CA{number}", group=group)
    region = nwb.create_electrode_table_region([0, 1], "r")
    series = ElectricalSeries("es", np.arange(20, dtype="i2").reshape(10, 2), region, rate=10.0)
    nwb.add_acquisition(series)
    nwb.add_acquisition(TimeSeries("linked", data=series, unit="u", rate=1.0))
    with NWBZarrIO(str(out), "w") as io:
        io.write(nwb, cache_spec=False)


def make_nczarr(out):
    import netCDF4
    import numpy as np

    with netCDF4.Dataset(f"file://{out}#mode=nczarr,file", "w") as f:
        for name, size in (("x", 3), ("time", None), ("bare", 2), ("unused", 4)):
            f.createDimension(name, size)
        f.title = "nc"
        f.createVariable("x", "f8", ("x",))[:] = [1, 2, 3]
        f["x"].units = "m"
        f.createVariable("t", "i4", ("time", "x"), fill_value=-1)[0:2] = np.arange(6).reshape(2, 3) - 1
        f.createVariable("s", "f4", ())[...] = 2.5
        f.createVariable("c", "S1", ("bare",))[:] = np.array([b"a", b"b"])
        g = f.createGroup("g")
        g.createDimension("y", 2)
        g.createVariable("w", "i2", ("y", "x"))[:] = np.arange(6).reshape(2, 3)


PACKAGES = {"lindi": ["lindi", "zarr", "numcodecs", "h5py"], "hdmf": ["hdmf-zarr", "pynwb", "zarr", "numcodecs"],
            "nczarr": ["netCDF4"]}

if __name__ == "__main__":
    kind = sys.argv[1]
    globals()[f"make_{kind}"](HERE / f"{kind}.zarr")
    file = HERE / "versions.json"
    versions = json.loads(file.read_text()) if file.exists() else {}
    versions[kind] = {name: importlib.metadata.version(name) for name in PACKAGES[kind]}
    if kind == "nczarr":
        import netCDF4
        versions[kind]["netcdf-c"] = netCDF4.__netcdf4libversion__
    file.write_text(json.dumps(versions, indent=2, sort_keys=True) + "\n")
