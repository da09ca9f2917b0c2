"""Random faults: `remote_faults.py COUNT [SEED]` reads stores from a server with habits drawn at random, COUNT times.
Each run gives the right data or a clear error, within bounded time; anything else ends it with status 1 and the
run's seed, which `remote_faults.py 1 SEED` runs again. Needs the plugin's two variables."""
import collections
import os
import random
import re
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
os.environ |= {"H5ZARR_RETRIES": "3", "H5ZARR_TIMEOUT_S": "1", "H5ZARR_CONCURRENCY": "8", "AWS_NO_SIGN_REQUEST": "1"}

import h5py
import numpy as np
import zarr

from http_support import fault_server

BOUND_S = 60
DATA = np.random.default_rng(3).integers(0, 1 << 30, (120, 200), dtype="i4")


def make_stores(folder):
    for name, zarr_format in (("v3.zarr", 3), ("v2.zarr", 2), ("plain.zarr", 3)):
        group = zarr.create_group(str(folder / "bucket" / name), zarr_format=zarr_format)
        group.create_array("gzip", data=DATA, chunks=(30, 50))
        group.create_array("raw", data=DATA, chunks=(60, 200), compressors=None)
        half = group.create_array("half", shape=DATA.shape, chunks=(60, 100), dtype="i4", fill_value=-1)
        half[:60] = DATA[:60]
        if zarr_format == 3:
            group.create_array("sharded", data=DATA, shards=(60, 200), chunks=(20, 20))
        if name != "plain.zarr":
            zarr.consolidate_metadata(str(folder / "bucket" / name))


def habits_of(chance):
    """What the server does: mostly one fault, sometimes several."""
    habits = {"seed": chance.randrange(1 << 30), "s3": True}
    faults = [
        lambda: {"odds": chance.choice([0.02, 0.1, 0.3, 0.7])},
        lambda: {"busy_every": chance.randint(2, 9)},
        lambda: {"cut_every": chance.randint(2, 9)},
        lambda: {"busy_first": chance.randint(1, 5)},
        lambda: {"cut_first": chance.randint(1, 5)},
        lambda: {"stall_every": chance.randint(5, 30)},
        lambda: {"ranges": chance.choice(["no", "no-suffix", "wrong", "no-total"])},
        lambda: {"tags": chance.choice(["weak", "none", "changing"])},
        lambda: {"redirect": chance.choice(["plain", "expiring"]), "link_uses": chance.randint(1, 3)},
        lambda: {"missing": chance.choice([403, 410, 500])},
        lambda: {"chunked": True},
        lambda: {"encoding": "gzip"},
        lambda: {"user": "ann", "password": "hush"},
    ]
    for fault in chance.sample(faults, chance.choice([1, 1, 1, 2, 3])):
        habits |= fault()
    return habits


def selection_of(chance):
    rows = sorted(chance.sample(range(DATA.shape[0] + 1), 2))
    columns = sorted(chance.sample(range(DATA.shape[1] + 1), 2))
    return slice(*rows, chance.choice([1, 1, 3])), slice(*columns, chance.choice([1, 1, 7]))


def run_once(server, seed):
    """"right", or the error's kind; an assertion fails otherwise."""
    chance = random.Random(seed)
    habits = habits_of(chance)
    scheme = chance.choice(["http", "s3"])
    store = chance.choice(["v3.zarr", "v2.zarr", "plain.zarr"])
    names = ["gzip", "raw", "half"] + ["sharded"] * (store != "v2.zarr")
    reads = [(chance.choice(names), selection_of(chance)) for _ in range(chance.randint(1, 4))]
    server.become(**habits)
    os.environ["AWS_ENDPOINT_URL"] = server.url
    url = f"s3://bucket/{store}" if scheme == "s3" else f"{server.url}/bucket/{store}"
    begin = time.monotonic()
    try:
        with h5py.File(url, "r") as f:
            for name, selection in reads:
                expected = DATA.copy()
                if name == "half":
                    expected[60:] = -1
                np.testing.assert_array_equal(f[name][selection], expected[selection])
        outcome = "right"
    except (OSError, KeyError, RuntimeError) as error:
        said = str(error)
        clear = "127.0.0.1" in said and re.search(r"HTTP|attempts|replaced|encoded|ranges|answer|bytes|Zarr", said)
        assert clear or "no Zarr store" in said, f"{habits} {url}: not clear: {said}"
        assert "hush" not in said, said
        outcome = type(error).__name__
    took = time.monotonic() - begin
    assert took < BOUND_S, f"{habits} {url}: took {took:.0f} s"
    return outcome


def main(count, seed):
    outcomes = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        make_stores(Path(folder))
        with fault_server(folder) as server:
            for number in range(seed, seed + count):
                try:
                    outcomes[run_once(server, number)] += 1
                except AssertionError as error:
                    print(f"seed {number}: {error}")
                    return 1
            server.become()
    print(", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items())))
    # Neither faults nor reads may all have gone away.
    return 0 if outcomes["right"] and (count < 20 or len(outcomes) > 1) else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1))
