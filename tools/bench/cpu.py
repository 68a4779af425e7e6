"""Reads the CPU time of other processes: of a running one by thread, and of ended children."""

import resource
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Spent:
    """CPU seconds of the main thread, which runs the event loop, and of all threads."""

    loop: float
    process: float

    def __sub__(self, earlier: "Spent") -> "Spent":
        return Spent(self.loop - earlier.loop, self.process - earlier.process)


def spent(pid: int) -> Spent:
    """Return the CPU seconds of a process, without ended threads."""
    loop = total = 0.0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        try:
            seconds = int((thread / "schedstat").read_text().split()[0]) / 1e9
        except OSError:
            continue
        total += seconds
        if thread.name == str(pid):
            loop = seconds
    return Spent(loop, total)


def children() -> float:
    """Return the CPU seconds of all ended child processes."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime
