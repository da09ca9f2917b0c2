"""`h5zarr mirror` that is killed, whose writes fail, and that runs beside others: what is visible is exact, and the
next run ends with the same bytes."""
import os
import random
import shutil
import signal
import subprocess
import time

import pytest

from command_support import COMMAND, needs_command
from mirror_support import assert_version_equals, has_versions, mirror, objects, report, run_traced, write
from support import environment, run_python

pytest.importorskip("icechunk", reason="no icechunk in this environment")
pytest.importorskip("versioned_hdf5", reason="no versioned-hdf5 in this environment")

pytestmark = [
    needs_command,
    pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr"),
]

# More of both in the long tier: test/suites/mirror_faults.sh.
KILLS = int(os.environ.get("H5ZARR_MIRROR_KILLS", 16))
# (Of each thread: strace counts so, and none makes more.)
FAILING_CALLS = range(1, 31) if "H5ZARR_MIRROR_KILLS" in os.environ else (1, 2, 4, 7, 11, 20)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A file of four versions; v3's other child is v4."""
    return write(tmp_path_factory.mktemp("source") / "versions.h5", "v1", "v2", "v3", "v4")


def test_killed_at_any_time_what_is_visible_is_exact_and_a_run_converges(source, tmp_path):
    report(source, tmp_path / "whole")
    started = time.monotonic()
    report(source, tmp_path / "timed")
    length = time.monotonic() - started
    folder, rng = tmp_path / "m", random.Random(1)
    killed = 0
    for attempt in range(KILLS):
        run = subprocess.Popen([str(COMMAND), "mirror", source, str(folder), "--quiet"], env=environment())
        time.sleep(rng.random() * length * 0.6)
        if run.poll() is not None:
            length *= 0.8  # a machine that was busy when it was timed
        run.send_signal(signal.SIGKILL)
        killed += run.wait() != 0
        if has_versions(folder):
            mirror("verify", folder)
        if attempt % 4 == 3:
            for tag in (folder / "refs").glob("tag.*"):
                if (tag / "ref.json").exists():
                    assert_version_equals(source, folder, tag.name[4:])
            shutil.rmtree(folder)
    assert killed > KILLS // 5, f"{killed} of {KILLS} runs were killed before their end, each of about {length:.2f} s"
    for _ in range(3):
        run = subprocess.Popen([str(COMMAND), "mirror", source, str(folder), "--quiet"], env=environment())
        time.sleep(rng.random() * length * 0.6)
        run.kill()
        run.wait()
    report(source, folder)
    assert objects(folder) == objects(tmp_path / "whole")


@pytest.mark.parametrize("trace", ["0", "2"])
def test_names_are_made_durable_a_folder_at_once_and_before_a_tag_leads_there(source, tmp_path, trace):
    log, folder = tmp_path / "log", tmp_path / "m"
    done = run_traced("-y", "-o", log, "-e", "trace=fsync,rename,renameat2", COMMAND, "mirror", source, folder, "--quiet",
                      H5ZARR_TRACE=trace)
    assert ("write 'snapshots/" in done.stderr) == (trace == "2")
    calls = [line for line in log.read_text().splitlines() if "resumed>" not in line]
    renamed = lambda name: [i for i, call in enumerate(calls) if "rename" in call and f"/{name}/" in call]
    synced = lambda name: [i for i, call in enumerate(calls) if "fsync(" in call and f"<{folder}{name}>" in call]
    tags = [i for i, call in enumerate(calls) if "rename" in call and "/refs/tag." in call]
    assert len(tags) == 4
    for name in ("chunks", "manifests", "transactions", "snapshots"):
        for tag in tags:
            named = max(i for i in renamed(name) if i < tag)
            times = [i for i in synced(f"/{name}") if named < i < tag]
            assert times and any(times[0] < i < tag for i in synced("")), name
    # Versions whose tags come together (on a busy machine not all of them do) share the calls.
    for name in ("chunks", "manifests", "transactions"):
        times = synced(f"/{name}")
        assert all(any(a < tag < b for tag in tags) for a, b in zip(times, times[1:])), name
        assert len(times) <= len(tags)


@pytest.mark.parametrize("io", ["auto", "pread"])
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_a_write_that_fails_is_told_and_a_run_converges(source, tmp_path, error, io):
    report(source, tmp_path / "whole")
    failed = 0
    for when in FAILING_CALLS:
        folder = tmp_path / f"m{when}"
        calls = "pwrite64,write,pwritev,writev,fsync,fdatasync,rename,renameat2"
        done = run_traced("-o", "/dev/null", "-e", f"inject={calls}:error={error}:when={when}", COMMAND, "mirror",
                          source, folder, "--quiet", H5ZARR_IO=io)
        assert done.returncode in (0, 4), (when, done.stderr)
        failed += done.returncode == 4
        if has_versions(folder):
            mirror("verify", folder)
        report(source, folder)
        assert objects(folder) == objects(tmp_path / "whole"), when
    # (The last ones come when all is done.)
    assert failed >= 4, f"{failed} of {len(FAILING_CALLS)} failing calls were told"


def is_written_past_the_page_cache(folder):
    try:
        os.close(os.open(folder / "probe", os.O_CREAT | os.O_WRONLY | os.O_DIRECT))
    except OSError:
        return False
    return True


@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
@pytest.mark.parametrize("call", ["fallocate", "io_uring_enter", "pwrite64", "ftruncate", "fsync"])
def test_a_failure_of_a_large_pack_is_told_and_a_run_converges(tmp_path, error, call):
    """Packs of several blocks go past the page cache, by other calls than small ones."""
    source = str(tmp_path / "s.h5")
    run_python("""
import sys, h5py, numpy as np
from versioned_hdf5 import VersionedHDF5File
with h5py.File(sys.argv[1], "w") as f:
    with VersionedHDF5File(f).stage_version("v") as new:
        new.create_dataset("a", data=np.random.default_rng(1).integers(0, 1 << 60, 5 << 19), chunks=(1 << 15,))
""", source, plugin=False, connector=None)
    report(source, tmp_path / "whole")
    failed = 0
    for when in (1, 2, 3):
        folder = tmp_path / f"m{when}"
        done = run_traced("-o", "/dev/null", "-e", f"inject={call}:error={error}:when={when}", COMMAND, "mirror",
                          source, folder, "--quiet")
        assert done.returncode in (0, 4), (when, done.stderr)
        failed += done.returncode == 4
        assert done.returncode == 0 or not has_versions(folder)
        report(source, folder)
        assert objects(folder) == objects(tmp_path / "whole"), when
    # (What a file system or a ring refuses is done without; a failure to write is none of that.)
    told = [("fsync", "ENOSPC"), ("fsync", "EIO")]
    if is_written_past_the_page_cache(tmp_path):
        told += [("fallocate", "ENOSPC"), ("ftruncate", "EIO")]
    if (call, error) in told:
        assert failed > 0


def test_runs_at_the_same_time_lose_nothing(source, tmp_path):
    report(source, tmp_path / "whole")
    folder = tmp_path / "m"
    runs = [subprocess.Popen([str(COMMAND), "mirror", source, str(folder), "--quiet"], env=environment())
            for _ in range(4)]
    assert [run.wait(60) for run in runs] == [0] * 4
    assert objects(folder) == objects(tmp_path / "whole")
