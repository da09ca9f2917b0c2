#!/usr/bin/env python3
"""native_differential.py [FILES] [SEED]: makes random native HDF5 files without the connector, and reads each dataset in
many ways in a process without it and in one with it, where the engine reads all that it can (accelerate=always). Every
element must be the same, bit for bit, and every error an error. Needs H5ZARR_PLUGIN_DIR.

`native_differential.py 1 SEED` makes that file alone, and shows what differs."""
import collections
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

PER_PROCESS = 10
SHOWN = 20  # differences
LONGEST_S = 120  # of a process


def environment(connector):
    ours = ("HDF5_PLUGIN_PATH", "HDF5_VOL_CONNECTOR")
    env = {k: v for k, v in os.environ.items() if k not in ours and not k.startswith("H5ZARR_")}
    if connector is not None:
        env |= {"HDF5_PLUGIN_PATH": os.environ["H5ZARR_PLUGIN_DIR"], "HDF5_VOL_CONNECTOR": connector}
    return env


def connector_of(seed):
    rng = random.Random(seed)
    return f"zarr accelerate=always;threads={rng.choice([1, 2, 4])};cache_bytes={rng.choice(['0', '10K', '64M'])};trace=2"


class Work:
    """A process that makes or reads the files of some seeds."""

    def __init__(self, what, seeds, folder, connector=None):
        # (Of the connector's trace the size alone is of interest.)
        self.out, self.err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+", errors="replace")
        command = [sys.executable, "-X", "faulthandler", __file__, what, folder, *map(str, seeds)]
        self.process = subprocess.Popen(command, env=environment(connector), stdout=self.out, stderr=self.err, stdin=subprocess.DEVNULL)

    def wait(self):
        """Whether it ended well, the answers, and what it said of errors."""
        try:
            status = self.process.wait(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:  # (HDF5 1.14 goes round in some virtual datasets)
            self.process.kill()
            status = self.process.wait()
        texts = []
        for file in (self.out, self.err):
            file.seek(0)
            texts.append(file.read())
            file.close()
        answers = [json.loads(line) for line in texts[0].splitlines() if line.endswith("]")]
        return status == 0, answers, texts[1]


class Count:
    def __init__(self):
        self.numbers, self.differences = collections.Counter(), []

    def make(self, seeds, folder):
        """The seeds of the files that could be made: some filters with some types HDF5 does not survive."""
        if Work("--make", seeds, folder).wait()[0]:
            return seeds
        made = []
        for seed in seeds:
            shutil.rmtree(f"{folder}/{seed}", ignore_errors=True)
            if Work("--make", [seed], folder).wait()[0]:
                made.append(seed)
        self.numbers["files that HDF5 dies of writing"] += len(seeds) - len(made)
        return made

    def compare(self, seeds, folder, how):
        connector = connector_of(seeds[0])
        plain, ours = Work(how, seeds, folder), Work(how, seeds, folder, connector)
        plain_ended, expected, _ = plain.wait()
        ended, found, said = ours.wait()
        if len(seeds) > 1 and not (plain_ended and ended):
            for seed in seeds:
                self.compare([seed], folder, how)
            return
        self.numbers["reads"] += min(len(found), len(expected))
        self.numbers["errors"] += sum(answer == "error" for _, answer in expected)
        self.numbers["batches of the engine"] += len(re.findall(r"^h5zarr: .*read", said, re.M))
        self.numbers["files on which HDF5 alone dies"] += not plain_ended
        for (job, want), (same_job, got) in zip(expected, found):
            if job != same_job or want != got:
                self.differences.append(f"{connector}\n  {job}\n  HDF5: {want[:600]}\n  ours: {got[:600]}")
        if plain_ended and (not ended or len(found) != len(expected)):
            self.differences.append(f"seed {seeds[0]}: ours ended after {len(found)} of {len(expected)} reads\n{said[-3000:]}")


def main(files, seed):
    started, count = time.time(), Count()
    for first in range(seed, seed + files, PER_PROCESS):
        seeds = list(range(first, min(first + PER_PROCESS, seed + files)))
        folder = tempfile.mkdtemp()
        try:
            seeds = count.make(seeds, folder)
            if seeds:
                count.compare(seeds, folder, "--show" if files == 1 else "--read")
        finally:
            shutil.rmtree(folder)
    for difference in count.differences[:SHOWN]:
        print(difference)
    words = ", ".join(f"{number} {what}" for what, number in count.numbers.items())
    print(f"{files} files, {words}, {len(count.differences)} differences, {time.time() - started:.0f} s")
    # The engine must have read some.
    return 1 if count.differences or not count.numbers["batches of the engine"] else 0


def work(what, folder, seeds):
    import random_native
    import random_native_reads

    for seed in seeds:
        beside = f"{folder}/{seed}"
        if what == "--make":
            os.mkdir(beside)
            random_native.make(seed, beside)
            continue
        for pair in random_native_reads.answers(seed, beside, what == "--show"):
            print(json.dumps(pair), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] in (["--make"], ["--read"], ["--show"]):
        work(sys.argv[1], sys.argv[2], [int(word) for word in sys.argv[3:]])
    else:
        words = [int(word) for word in sys.argv[1:]] + [500, 1][len(sys.argv) - 1:]
        sys.exit(main(*words[:2]))
