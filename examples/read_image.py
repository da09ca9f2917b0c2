"""An ordinary h5py script: it knows HDF5 files only.

    python read_image.py image.h5

With HDF5_PLUGIN_PATH and HDF5_VOL_CONNECTOR=zarr set it takes image.zarr just as well.
"""
import sys
import time
import zlib

import h5py

with h5py.File(sys.argv[1], "r") as f:
    print("instrument:", f.attrs["instrument"])
    f.visititems(lambda name, node: print(" ", name, node))
    raw = f["image/raw"]
    print("spacing_um:", raw.attrs["spacing_um"], " chunks:", raw.chunks)
    begin = time.perf_counter()
    corner = raw[:4, :4, :4]
    small = time.perf_counter() - begin
    begin = time.perf_counter()
    data = raw[...]
    whole = time.perf_counter() - begin
    print(f"corner mean: {corner.mean():.2f}, read in {1e3 * small:.1f} ms")
    print(f"whole image: {data.nbytes / 1e6:.0f} MB in {whole:.2f} s, crc {zlib.crc32(data):08x}")
