"""How much memory a mirror takes, whatever the size of what is mirrored."""
import subprocess
import sys

import h5py
import numpy as np
import pytest

from command_support import COMMAND, h5zarr, needs_command
from support import environment

pytestmark = needs_command

SIDE_MIB = 384
BUDGET_MIB = 256  # the default of `memory`

# The peak of one child is asked for in a process that has no other.
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)
"""

LAYOUTS = {
    "contiguous": {},
    "one long row": {"shape": (1, SIDE_MIB << 17)},
    "chunks": {"chunks": (1 << 17,)},
    "small chunks": {"chunks": (1 << 14,)},
    "chunks of another filter": {"chunks": (1 << 14,), "compression": "lzf"},
}


def peak_mib(*words):
    done = subprocess.run([sys.executable, "-c", PEAK, *map(str, words)], env=environment(), capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return int(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("action", ["mirror", "export"])
def test_a_file_larger_than_the_budget_is_copied_within_it(tmp_path, layout, action):
    settings = {"shape": (SIDE_MIB << 17,)} | LAYOUTS[layout]
    rows_mib = 32
    with h5py.File(tmp_path / "x.h5", "w") as f:
        d = f.create_dataset("d", dtype="i8", **settings)
        for first in range(0, d.size, rows_mib << 17):
            part = np.arange(first, first + (rows_mib << 17))
            d[..., first : first + part.size] = part
    target = tmp_path / f"x.{action}.zarr"
    assert peak_mib(COMMAND, action, tmp_path / "x.h5", target, "--quiet") <= BUDGET_MIB
    h5zarr("diff", tmp_path / "x.h5", target)
