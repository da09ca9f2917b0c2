"""Measures the constants that the cost models of the sources name, and prints them beside those places.

    python test/bench/constants.py

They are rough on purpose, and hold for one core: a factor of two changes no decision. The environment names
the plugin, as for any HDF5 program. Everything is CPU time, of one thread, with all files in the page cache.

| Here | In the sources |
|---|---|
| a codec, decode and encode | `CodecCost` in filters/codec/<codec>.cc |
| HDF5 filter | `FilterNsPerByte` in vol/shadow/native_map.cc |
| HDF5, a chunk; the engine, a chunk, an index entry | vol/transfer/native_chunks.cc |
| opening, reading, a byte | vol/store/local_read.cc, vol/zarr/read_windows.cc |
"""
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

MIB = 1 << 20
CODECS = ["gzip:1", "gzip:5", "zstd:1", "zstd:3", "blosc:lz4", "blosc:zstd", "crc32c"]
FILTERS = ["none", "gzip", "shuffle", "fletcher32", "shuffle+lzf"]


def data(count=2 * MIB):
    noise = np.random.default_rng(1).normal(0, 1, count)
    return (np.sin(np.arange(count) / 5000) * 1000 + noise).astype("f4")


def fastest(body, repeats=5):
    """Nanoseconds of CPU, the least of some: what disturbs only adds."""
    best = float("inf")
    for _ in range(repeats):
        begin = time.process_time_ns()
        body()
        best = min(best, time.process_time_ns() - begin)
    return best


def codec(name):
    import zarr.codecs as codecs
    kind, _, option = name.partition(":")
    return {"gzip": lambda: codecs.GzipCodec(level=int(option)), "zstd": lambda: codecs.ZstdCodec(level=int(option)),
            "blosc": lambda: codecs.BloscCodec(cname=option, shuffle="shuffle"),
            "crc32c": lambda: codecs.Crc32cCodec(), "none": lambda: None}[kind]()


def whole(path):
    """Nanoseconds to write and to read all of the dataset at `path`, opened for it."""
    import h5py
    values = data()

    def write():
        with h5py.File(path, "r+") as f:
            f["d"][...] = values

    def read():
        with h5py.File(path) as f:
            f["d"].read_direct(values)
    return fastest(write), fastest(read)


def of_codecs(folder):
    import zarr
    times = {}
    for name in ["none", *CODECS]:
        path = f"{folder}/{name}.zarr"
        zarr.create_array(store=path, name="d", shape=(2 * MIB,), dtype="f4", chunks=(MIB // 4,), filters=None,
                          compressors=codec(name))
        times[name] = whole(path)
    for name in CODECS:
        encode, decode = ((mine - none) / (8 * MIB) for mine, none in zip(times[name], times["none"]))
        print(f"{name:12} decode {decode:6.2f}  encode {encode:6.2f}  ns a byte")


def of_filters(folder):
    """What HDF5 takes to read through its own filters: in processes without the engine."""
    times = {}
    for name in FILTERS:
        code = (f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n"
                f"import constants; print(constants.by_hdf5({folder!r}, {name!r}))")
        out = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True,
                             env=os.environ | {"H5ZARR_ACCELERATE": "off"}).stdout
        times[name] = int(out)
    for name in FILTERS:
        base = 0 if name == "none" else times["none"]
        print(f"HDF5 {name:12} {(times[name] - base) / (8 * MIB):6.2f}  ns a byte")


def by_hdf5(folder, name):
    import h5py
    options = {"none": {}, "gzip": dict(compression="gzip", compression_opts=4), "shuffle+lzf": dict(compression="lzf", shuffle=True),
               "shuffle": dict(shuffle=True), "fletcher32": dict(fletcher32=True)}[name]
    path = f"{folder}/{name}.h5"
    values = data()
    with h5py.File(path, "w") as f:
        f.create_dataset("d", data=values, chunks=(MIB // 4,), **options)

    def read():
        with h5py.File(path) as f:
            f["d"].read_direct(values)
    return fastest(read)


def of_chunks(folder):
    """Nanoseconds a chunk of 100 bytes: of HDF5, and of the engine when it finds the chunks first and then not."""
    import h5py
    path, count = f"{folder}/tiny.h5", 20_000
    with h5py.File(path, "w") as f:
        f.create_dataset("d", data=np.zeros((count, 100), "u1"), chunks=(1, 100))
    code = """
import sys, time, h5py
best = [float("inf")] * 2
for _ in range(5):
    with h5py.File(sys.argv[1]) as f:
        for i in range(2):
            begin = time.process_time_ns()
            f["d"][...]
            best[i] = min(best[i], time.process_time_ns() - begin)
print(*best)
"""
    for accelerate in ("off", "auto"):
        out = subprocess.run([sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True, check=True,
                             env=os.environ | {"H5ZARR_ACCELERATE": accelerate}).stdout
        first, again = (int(word) / count for word in out.split())
        if accelerate == "off":
            print(f"HDF5, a chunk {first:6.0f}  ns")
        else:
            print(f"engine, a chunk {again:6.0f}, an index entry {first - again:6.0f}  ns")


def of_files(folder):
    path = f"{folder}/file"
    with open(path, "wb") as f:
        f.write(b"x" * (8 * MIB))
    buffer = bytearray(4 * MIB)
    view = memoryview(buffer)

    def opens():
        for _ in range(1000):
            os.close(os.open(path, os.O_RDONLY))
    fd = os.open(path, os.O_RDONLY)

    def reads(size, count):
        for i in range(count):
            os.preadv(fd, [view[:size]], i % 2 * 4 * MIB)
    small, large = fastest(lambda: reads(100, 10_000)) / 10_000, fastest(lambda: reads(4 * MIB, 10)) / 10
    print(f"open and close {fastest(opens) / 1000:6.0f}, a read {small:6.0f}  ns (Python's own share included);"
          f" a byte {large / (4 * MIB):.3f}  ns")


def main():
    os.environ["H5ZARR_THREADS"] = "1"
    print(json.dumps({"cpus": os.cpu_count()}))
    with tempfile.TemporaryDirectory() as folder:
        of_codecs(folder)
        of_filters(folder)
        of_chunks(folder)
        of_files(folder)


if __name__ == "__main__":
    main()
