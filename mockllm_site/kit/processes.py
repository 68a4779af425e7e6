"""Identifies processes and this boot of the machine, independently of the clock."""

import os
from pathlib import Path


def machine_id() -> str:
    """Return the boot id and the PID namespace of this machine; empty without Linux's /proc."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def process_start_time(pid: int) -> int:
    """Return the start time of a process in clock ticks since boot; 0 if it has ended."""
    try:
        # The name in parentheses can contain any bytes.
        state, *rest = Path(f"/proc/{pid}/stat").read_text("latin-1").rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if state in "ZX" else int(rest[18])
