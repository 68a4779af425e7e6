"""Which process is which: told by the system, whose word no clock changes."""

import os
from pathlib import Path


def machine() -> str:
    """The machine since it was started, and the space in which its processes have numbers; empty
    where that cannot be told."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def birth(pid: int) -> int:
    """When a process of this machine was started, in ticks; 0 where there is none that lives."""
    try:
        # The name in parentheses may hold anything.
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if state in "ZX" else int(rest[18])
