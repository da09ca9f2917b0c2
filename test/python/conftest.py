"""Starts h5py under the plugin: HDF5 reads its variables when it is loaded, so they are set here,
before any test imports h5py. Peers (zarr-python, tensorstore, zarrs) do not use HDF5; they run in the
same process."""
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("H5ZARR_PLUGIN_DIR", str(ROOT / "build/dev/plugin"))
os.environ["HDF5_PLUGIN_PATH"] = os.environ["H5ZARR_PLUGIN_DIR"]
os.environ["HDF5_VOL_CONNECTOR"] = "zarr"


def pytest_configure(config):
    plugin = Path(os.environ["H5ZARR_PLUGIN_DIR"]) / "libh5zarr.so"
    if not plugin.exists():
        pytest.exit(f"{plugin} is missing: ./run build, or set H5ZARR_PLUGIN_DIR", returncode=2)


def pytest_report_header(config):
    import h5py

    return f"h5py {h5py.__version__}, HDF5 {h5py.version.hdf5_version}, {os.environ['HDF5_PLUGIN_PATH']}"


def pytest_runtest_logreport(report):
    """What fails is told at once: the summary at the end may not be reached."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        free_mib = shutil.disk_usage(tempfile.gettempdir()).free >> 20
        print(f"\nfailed: {report.nodeid} ({report.when}), after {report.duration:.0f} s, {free_mib} MiB free",
              file=sys.__stderr__)


@pytest.fixture
def store(tmp_path):
    """The path of a store that is not there yet."""
    return str(tmp_path / "store.zarr")


@pytest.fixture
def crowded_folder(tmp_path):
    """A folder for tens of thousands of files: in memory where there is room, since disks take minutes to remove them."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK) or shutil.disk_usage(memory).free < 1 << 30:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)
