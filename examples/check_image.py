"""Reads with zarr-python what the other programs read and wrote.

    python check_image.py image.zarr          times and checks /image/raw (see make_image.py)
    python check_image.py --written new.zarr  checks /volume/density (see write_sharded.c)
"""
import sys
import time
import zlib

import numpy as np
import zarr


def read(array):
    begin = time.perf_counter()
    data = array[...]
    seconds = time.perf_counter() - begin
    size, crc = data.nbytes / 1e6, zlib.crc32(data)
    print(f"zarr-python read {size:.0f} MB in {seconds:.2f} s, crc {crc:08x}")
    return data


def check_written(store):
    array = zarr.open_array(f"{store}/volume/density", mode="r")
    plane, row, column = np.ogrid[tuple(slice(extent) for extent in array.shape)]
    expected = (plane + row + 0.25 * (column % 64)).astype("f4")
    assert np.array_equal(read(array), expected), "the volume differs"
    assert array.attrs["spacing"] == [2.0, 0.5, 0.5]
    print("every element is right:", array.shape, array.dtype, end=", ")
    print("shards", array.shards, "chunks", array.chunks)


if sys.argv[1] == "--written":
    check_written(sys.argv[2])
else:
    read(zarr.open_array(f"{sys.argv[1]}/image/raw", mode="r"))
