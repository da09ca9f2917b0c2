"""The command `h5zarr`, as the tests run it."""
import json
import os
import subprocess
from pathlib import Path

import pytest

from support import environment

COMMAND = Path(os.environ.get("H5ZARR_COMMAND", Path(os.environ["H5ZARR_PLUGIN_DIR"]).parent / "h5zarr"))
needs_command = pytest.mark.skipif(not COMMAND.exists(), reason="the command h5zarr was not built (no libhdf5)")


def h5zarr(*words, expected=0, cwd=None, timeout=120, **env):
    """Runs the command, which must end with this exit code."""
    done = subprocess.run([str(COMMAND), *map(str, words)], capture_output=True, text=True, timeout=timeout, cwd=cwd,
                          env=environment(**env), stdin=subprocess.DEVNULL)
    assert done.returncode == expected, done.stdout + done.stderr
    return done


def h5zarr_json(*words, **options):
    return json.loads(h5zarr(*words, "--json", **options).stdout)
