"""Packages as layers over a Debian, and copies of it in which inside/enter runs a script."""
import os
import subprocess
from pathlib import Path

import guest

INSIDE = Path(__file__).resolve().parent / "inside"
# What the doctor itself loads.
OWN = ["libpci3", "libudev1", "libcjson1", "libelf1t64", "libsqlite3-0"]


def enter(mode, top, lower, *words, **variables):
    """Exit status and output of inside/enter, in namespaces of its own."""
    top.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["unshare", "-m", "-p", "-f", INSIDE / "enter", mode, top, ":".join(map(str, lower)), *words],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, **variables})
    return done.returncode, done.stdout.decode(errors="replace")


def layer(top, system, packages):
    """The packages, as a layer over the system; kept where it is there already."""
    if not (top / "done").exists():
        (top / "upper").mkdir(parents=True, exist_ok=True)
        status, text = enter("install", top, [system.root], *packages, *OWN)
        if status:
            guest.skip(f"installing {' '.join(packages)}: exit status {status}: {text[-400:]}")
        (top / "done").touch()
    return top / "upper"
