"""Identifies processes and this boot of the machine, independently of the clock."""

import os
from pathlib import Path


def machine_id() -> str:
    """Return the boot id and the PID namespace of this machine, or an empty string if unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def process_start_time(pid: int) -> int:
    """Return the start time of a process in clock ticks since boot; 0 if it does not run."""
    try:
        # The name in parentheses can contain any characters.
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if state in "ZX" else int(rest[18])
