"""Memory that whole reads and writes of large arrays take beside the program's own.

    python large_arrays.py [GiB, default 4]

Each case runs in a process of its own, which prints by how much its peak has grown. The environment names the
plugin, as for any HDF5 program. Exit code 1 where a case took more than the setting `memory` allows. The data
compress well, so that little reaches the disk.
"""
import os
import resource
import subprocess
import sys
import tempfile

MIB = 1 << 20
BUDGET_BYTES = 256 * MIB  # the default of `memory`
# Threads and their stacks, codecs' tables, HDF5's own objects, the allocator's leftovers.
ALLOWANCE_BYTES = 48 * MIB
ROW = 1 << 17  # elements of a row: 1 MiB of float64

SHARD = 480
ZSTD = 3 | 1 << 8


def layouts(rows):
    """Creation arguments for (rows, ROW) float64."""
    return {
        "chunks of 1 MiB, gzip": dict(chunks=(1, ROW), compression="gzip", compression_opts=1),
        "chunks across rows, zstd in shards of 64 MiB": dict(
            chunks=(64, ROW), compression=SHARD, compression_opts=(1, 2, 16, ROW // 16, ZSTD)),
        "one shard of all": dict(chunks=(rows, ROW), compression=SHARD, compression_opts=(1, 2, 1, ROW, ZSTD)),
    }


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def worker(path, action, layout, rows):
    """Prints how far the peak rose above the memory of the array itself."""
    import h5py
    import numpy as np

    values = np.empty((rows, ROW), "f4" if action == "convert" else "f8")
    values[...] = 1  # every page is there before anything is measured
    with h5py.File(path, "w" if action == "write" else "r") as f:
        if action == "write":
            dataset = f.create_dataset("d", values.shape, values.dtype, **layouts(rows)[layout])
            before = peak_bytes()
            dataset[...] = values
            f.flush()
        else:
            before = peak_bytes()
            values[...] = 2
            f["d"].read_direct(values)
            if not (values[0] == 1).all() or not (values[-1] == 1).all() or values.sum(dtype="f8") != values.size:
                sys.exit("wrong values")
        print(peak_bytes() - before)


def main():
    rows = int(float(sys.argv[1]) * 1024) if len(sys.argv) > 1 else 4096
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for layout in layouts(rows):
            for action in ("write", "read", "convert"):
                command = [sys.executable, __file__, "worker", os.path.join(folder, "x.zarr"), action, layout, str(rows)]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                grown = int(done.stdout)
                too_much = grown > BUDGET_BYTES + ALLOWANCE_BYTES
                failed = failed or too_much
                print(f"{action:8} {rows} MiB, {layout}: {grown / MIB:.0f} MiB{' TOO MUCH' if too_much else ''}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "worker":
        worker(*sys.argv[2:5], int(sys.argv[5]))
    else:
        sys.exit(main())
