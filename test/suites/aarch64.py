#!/usr/bin/env python3
"""Compiles every source of the plugins for aarch64, and runs what has instructions of that machine: aarch64.py
BUILD_FOLDER [JOBS].

Needs a cross compiler (Debian: g++-aarch64-linux-gnu) and the compile_commands.json of a configured
build, whose libraries' headers are used: they are the same for all machines. The libraries themselves are
not there for it, so that nothing is linked but aarch64_instructions.cc with what it tests; an emulator runs
that (Debian: qemu-user or qemu-user-static), and where there is none it is said that nothing was run.
"""
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

COMPILERS = {".cc": "aarch64-linux-gnu-g++", ".S": "aarch64-linux-gnu-gcc"}
# Behind the cross compiler's own, which has the C library's for the other machine.
HEADERS = ["-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"]
# The sources that have such instructions, and what compares them with their definitions.
TESTED = ("byte_shuffle.cc", "crc32c.cc")
TEST = Path(__file__).resolve().parent / "aarch64_instructions.cc"


def object_of(words, folder):
    return str(Path(folder, words[words.index("-o") + 1].replace("/", "_")))


def compile_one(command, folder, source=None):
    """Compiles what `command` does, or `source` in its place, into the folder."""
    words = shlex.split(command["command"])
    file = source or Path(command["file"])
    del words[: words.index(next(word for word in words if word.startswith("-")))]  # launcher, compiler
    words[words.index("-o") + 1] = f"{folder}/{source.stem}.o" if source else object_of(words, folder)
    words[words.index("-c") + 1] = str(file)
    return subprocess.run([COMPILERS[file.suffix], *words, *HEADERS], cwd=command["directory"],
                          capture_output=True, text=True)


def run_instructions(commands, folder):
    """Whether the emulator finds them right; True where there is none."""
    emulator = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    if emulator is None:
        print("left out: running what has instructions of aarch64: there is no qemu-aarch64")
        return True
    tested = [command for command in commands if Path(command["file"]).name in TESTED]
    assert len(tested) == len(TESTED), [command["file"] for command in tested]
    compiled = compile_one(tested[0], folder, TEST)
    objects = [object_of(shlex.split(command["command"]), folder) for command in tested]
    linked = subprocess.run([COMPILERS[".cc"], "-static", f"{folder}/{TEST.stem}.o", *objects, "-o", f"{folder}/test"],
                            capture_output=True, text=True)
    if compiled.returncode != 0 or linked.returncode != 0:
        print(compiled.stderr + linked.stderr)
        return False
    done = subprocess.run([emulator, f"{folder}/test"], capture_output=True, text=True, timeout=600)
    print(f"instructions, emulated: {done.stdout}{done.stderr}", end="")
    return done.returncode == 0


def main():
    build = Path(sys.argv[1]).resolve()
    jobs = int(sys.argv[2]) if len(sys.argv) > 2 else os.cpu_count()
    root = Path(__file__).resolve().parents[2]
    commands = [command for command in json.loads((build / "compile_commands.json").read_text())
                if Path(command["file"]).relative_to(root).parts[0] in ("vol", "filters")
                and Path(command["file"]).suffix in COMPILERS]
    failed = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        for command, done in zip(commands, pool.map(lambda one: compile_one(one, folder), commands)):
            if done.returncode != 0:
                failed += 1
                print(f"{command['file']}:\n{done.stderr}")
        print(f"{len(commands) - failed} compiled, {failed} failed")
        return failed > 0 or not commands or not run_instructions(commands, folder)


if __name__ == "__main__":
    sys.exit(main())
