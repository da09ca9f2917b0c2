"""Collected cases of trouble that others had, where they stand beside the repository (H5ZARR_CASES, or
../shared/cases): each says what to do, and what h5py, the tools and the peers must answer."""
import os
import re
import subprocess
import sys
from pathlib import Path

import h5py
import pytest

from support import environment

CASES = Path(os.environ.get("H5ZARR_CASES", Path(__file__).resolve().parents[3] / "shared" / "cases"))
PASSING = """
dtype-bool-complex-half fault-fork-threads fault-kill-and-full fill-missing-chunk fill-v2-forms
http-flaky http-range-habits
meta-consolidated-stale meta-key-encoding names-odd-and-hostile native-damaged-chunk native-filter-mask
native-selection-zoo order-f-v2 perf-parallel-native plugin-present-bad-files ref-kerchunk-forms
resize-shrink-grow ro-no-trace-and-locks shape-many-chunks shape-zero-length
shard-index-no-crc shard-inner-walk shard-rmw-lost-update shard-truncated-killed shard-whole-write
str-fill-and-null ver-grow-past-chunk ver-rename-strings-mask
""".split()

# Steps that expect what nothing gives, and how that was seen: {case: {step: reason}}.
WRONG = {
    "dtype-bool-complex-half": {
        21: "a step of zarr-python alone: 3.1.6 answers z['f2'][2] with a 0-d array, not the scalar 2.5"},
    "native-selection-zoo": {
        33: "h5repack skips the lzf dataset and h5diff then answers 1 without any plugin, too: "
            "the tools have no lzf"},
    "shape-zero-length": {
        10: "h5py's iter_chunks raises ValueError on a native dataset of shape (3, 0), too"},
}
# Packages that steps import, beside h5py, numpy and the peers.
NEEDED = {"native-damaged-chunk": "hdf5plugin", "native-filter-mask": "hdf5plugin",
          "ver-grow-past-chunk": "versioned_hdf5", "ver-rename-strings-mask": "versioned_hdf5"}


# Of those, the ones about stores that are read; some write in later steps, which the others then miss.
VIEWED = """
dtype-bool-complex-half fill-missing-chunk fill-v2-forms http-flaky http-range-habits meta-consolidated-stale
meta-key-encoding names-odd-and-hostile order-f-v2 plugin-present-bad-files ref-kerchunk-forms ro-no-trace-and-locks
shape-many-chunks shape-zero-length shard-index-no-crc shard-inner-walk shard-truncated-killed str-fill-and-null
""".split()
# Steps that ask for what a view does not say.
UNSAID = {"fill-missing-chunk": {3}}  # how many chunks are stored


def failures(case, **env):
    """The steps of a case that failed, and all that was said."""
    pytest.importorskip("tensorstore", reason="the cases' peer steps need tensorstore")
    if case in NEEDED:
        pytest.importorskip(NEEDED[case], reason=f"steps of this case import {NEEDED[case]}")
    env = environment(PATH=f"{os.environ.get('H5ZARR_HDF5', '/usr')}/bin:{os.environ['PATH']}",
                      PYTHONDONTWRITEBYTECODE="1", **env)
    done = subprocess.run([sys.executable, CASES / "_lib" / "run_check.py", CASES / case], env=env,
                          capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)
    assert re.search(r": \d+/\d+ ok", done.stdout), done.stdout + done.stderr
    failed = {int(step) for step in re.findall(r"^\S+ step (\d+) FAIL", done.stdout, re.MULTILINE)}
    return failed, done.stdout + done.stderr


@pytest.mark.skipif(not CASES.is_dir(), reason=f"no cases at {CASES}")
@pytest.mark.parametrize("case", PASSING)
def test_case(case):
    failed, said = failures(case)
    assert failed <= set(WRONG.get(case, {})), said


@pytest.mark.skipif(not CASES.is_dir(), reason=f"no cases at {CASES}")
@pytest.mark.skipif(h5py.version.hdf5_version_tuple < (2,), reason="HDF5 1.14 opens stores by its probe, also to write")
@pytest.mark.parametrize("case", VIEWED)
def test_case_with_the_plugin_path_alone(case):
    failed, said = failures(case, connector=None)
    failed -= set(WRONG.get(case, {})) | UNSAID.get(case, set())
    if failed:  # the first of them wanted to write, and was told how
        steps = re.split(r"^\S+ step (?=\d+ FAIL)", said, flags=re.MULTILINE)
        first = next(step for step in steps if step.startswith(f"{min(failed)} FAIL"))
        assert "for reading only: set HDF5_VOL_CONNECTOR=zarr" in first, said
