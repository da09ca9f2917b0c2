"""What the tests share: the peers as plain functions, and programs run in processes of their own."""
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

VARIABLES = ("HDF5_PLUGIN_PATH", "HDF5_VOL_CONNECTOR")


def environment(connector="zarr", plugin=True, **more):
    """The environment of a program that runs under the plugin; connector=None sets only the path."""
    env = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    if plugin:
        env["HDF5_PLUGIN_PATH"] = os.environ["H5ZARR_PLUGIN_DIR"]
    if connector is not None:
        env["HDF5_VOL_CONNECTOR"] = connector
    return env | more


def run(command, cwd=None, timeout=120, **env):
    """Runs a program that must not crash or hang; its outcome is for the caller to judge."""
    done = subprocess.run(
        [str(word) for word in command],
        env=environment(**env),
        cwd=cwd,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode >= 0, f"killed by signal {-done.returncode}:\n{done.stdout}{done.stderr}"
    return done


def run_python(code, *arguments, cwd=None, timeout=120, **env):
    """Runs `code` in a Python of its own, which must end well; returns what it printed."""
    done = run([sys.executable, "-X", "faulthandler", "-c", code, *arguments], cwd=cwd, timeout=timeout, **env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def newest_hdf5():
    """The variables under which h5py runs on the HDF5 that netCDF4's wheel brings, newer than its own."""
    found = importlib.util.find_spec("netCDF4")
    libraries = sorted(Path(found.origin).parents[1].glob("netcdf4.libs/libhdf5-*.so*")) if found else []
    if not libraries:
        pytest.skip("there is no netCDF4 wheel, and so no newer HDF5")
    # Behind what is loaded before already: a sanitizer's runtime must be the first.
    preload = ":".join(filter(None, [os.environ.get("LD_PRELOAD"), str(libraries[0])]))
    return {"LD_PRELOAD": preload, "HDF5_DISABLE_VERSION_CHECK": "2", "PYTHONWARNINGS": "ignore"}


def tool(name):
    """The path of an HDF5 1.14 command line tool."""
    prefix = os.environ.get("H5ZARR_HDF5")
    if not prefix:
        pytest.skip("H5ZARR_HDF5, the prefix of HDF5's tools, is not set (see ./run env)")
    return Path(prefix) / "bin" / name


def read_zarr_python(store, path=""):
    import zarr

    return zarr.open_array(os.path.join(store, path), mode="r")[...]


def read_zarrs(store, path=""):
    import zarr

    pytest.importorskip("zarrs", reason="zarrs has no wheel for this Python")
    with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"}):
        return zarr.open_array(os.path.join(store, path), mode="r")[...]


def tensorstore_spec(store, path=""):
    folder = os.path.join(store, path)
    driver = "zarr3" if os.path.exists(os.path.join(folder, "zarr.json")) else "zarr"
    return {"driver": driver, "kvstore": {"driver": "file", "path": folder}}


def read_tensorstore(store, path=""):
    tensorstore = pytest.importorskip("tensorstore", reason="no tensorstore wheel for this Python")
    return tensorstore.open(tensorstore_spec(store, path), open=True).result().read().result()


READERS = {"zarr-python": read_zarr_python, "tensorstore": read_tensorstore, "zarrs": read_zarrs}


def numbers(shape, dtype):
    """Values that tell every element from its neighbours, whatever the type."""
    dtype = np.dtype(dtype)
    count = np.arange(int(np.prod(shape)))
    if dtype.kind == "b":
        values = count % 3 == 0
    elif dtype.kind == "c":
        values = count - 7.25 + 1j * (count % 11)
    elif dtype.kind == "f":
        values = count % 1000 - 7.25
    else:
        values = count * 7 + 1
    return values.astype(dtype).reshape(shape)


def assert_equal(got, expected):
    """Equal in shape, kind of type and every value; byte order may differ."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype.newbyteorder("=") == expected.dtype.newbyteorder("=")
    np.testing.assert_array_equal(got, expected)


def forget_hdf5(store):
    """Deletes every `_hdf5` attribute and what declares it; data must not depend on them."""
    for document in Path(store).rglob("zarr.json"):
        metadata = json.loads(document.read_text())
        for name in ("_hdf5", "zarr_conventions"):
            metadata.get("attributes", {}).pop(name, None)
        metadata.pop("consolidated_metadata", None)
        document.write_text(json.dumps(metadata))


def documents(store):
    """Every metadata document of a store by its key."""
    return {str(f.relative_to(store)): json.loads(f.read_text()) for f in Path(store).rglob("zarr.json")}


def tree(store):
    """Every file with its time and content: what must not change when a store is only read."""
    return sorted((str(f), f.stat().st_mtime_ns, f.read_bytes())
                  for f in Path(store).rglob("*") if f.is_file())


def read_calls():
    """How often this process has called the kernel to read: what is opened and read shows in it."""
    with open("/proc/self/io") as counters:
        return next(int(line.split()[1]) for line in counters if line.startswith("syscr"))
