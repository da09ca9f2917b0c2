"""Makes a Zarr with zarr-python: a group with a sharded, compressed 3-D image, labels, attributes.

    python make_image.py image.zarr [--shape 256 512 1024]
"""
import argparse
import time

import numpy as np
import zarr


def image(shape):
    """A smooth uint16 volume with four noisy bits, about what a camera gives."""
    z, y, x = (np.arange(extent, dtype="f4") for extent in shape)
    smooth = np.sin(z / 40)[:, None, None] + np.sin(y / 50)[None, :, None] + np.cos(x / 60)
    noise = np.random.default_rng(0).integers(0, 16, shape, dtype="u1")
    return (smooth * 300 + 1000 + noise).astype("u2")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("store")
    arguments.add_argument("--shape", type=int, nargs=3, default=[256, 512, 1024])
    options = arguments.parse_args()

    data = image(options.shape)
    root = zarr.open_group(options.store, mode="w", zarr_format=3)
    root.attrs["instrument"] = "light sheet"
    group = root.create_group("image")
    array = group.create_array(
        "raw",
        shape=data.shape,
        dtype=data.dtype,
        chunks=(32, 64, 64),
        shards=(64, 256, 256),
        compressors=zarr.codecs.ZstdCodec(level=3),
        dimension_names=["z", "y", "x"],
    )
    array.attrs["spacing_um"] = [2.0, 0.65, 0.65]
    begin = time.perf_counter()
    array[...] = data
    seconds = time.perf_counter() - begin
    root.create_array("labels", data=np.arange(12, dtype="i4").reshape(3, 4))
    print(f"zarr-python wrote {data.nbytes / 1e6:.0f} MB (decoded) in {seconds:.2f} s")


if __name__ == "__main__":
    main()
