#!/usr/bin/env python3
"""Compiles every source of the plugins for aarch64: aarch64.py BUILD_FOLDER [JOBS].

Needs a cross compiler (Debian: g++-aarch64-linux-gnu) and the compile_commands.json of a configured
build, whose libraries' headers are used: they are the same for all machines. Nothing is linked or run.
"""
import json
import os
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

COMPILERS = {".cc": "aarch64-linux-gnu-g++", ".S": "aarch64-linux-gnu-gcc"}
# Behind the cross compiler's own, which has the C library's for the other machine.
HEADERS = ["-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"]


def compile_one(command, folder):
    words = shlex.split(command["command"])
    source = Path(command["file"])
    del words[: words.index(next(word for word in words if word.startswith("-")))]  # launcher, compiler
    at = words.index("-o")
    words[at + 1] = str(Path(folder, words[at + 1].replace("/", "_")))
    return subprocess.run([COMPILERS[source.suffix], *words, *HEADERS], cwd=command["directory"],
                          capture_output=True, text=True)


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
    return failed > 0 or not commands


if __name__ == "__main__":
    sys.exit(main())
