"""Memory of large requests returns to the system when it is freed."""

import gc
import subprocess
import sys

import pytest

from mockllm_site import __main__
from mockllm_site.serve import freed_memory
from mockllm_site.serve.freed_memory import limit_kept_memory

# Frees 20 blocks of 2 MB, between which smaller ones stay, after one of 16 MB was freed.
PROGRAM = """
import pathlib
import sys

from mockllm_site.serve.freed_memory import limit_kept_memory


def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096


large = b"x" * 16_000_000
del large
if sys.argv[1] == "limited":
    limit_kept_memory()
before = resident()
large, small = [], []
for _ in range(20):
    large.append(b"x" * 2_000_000)
    small.append(b"x" * 200_000)
del large
print(resident() - before - sum(map(len, small)))
"""


def kept_bytes(mode: str) -> int:
    """Return how many bytes a process keeps of 40 MB that it has freed."""
    command = [sys.executable, "-c", PROGRAM, mode]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_freed_memory_is_returned_only_with_limits() -> None:
    assert kept_bytes("limited") < 4_000_000
    assert kept_bytes("default") > 20_000_000


def test_commands_limit_the_freed_memory_that_they_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(__main__, "limit_kept_memory", lambda: calls.append("limit"))
    monkeypatch.setattr(__main__.env, "configure", lambda **_: sys.exit(9))
    monkeypatch.setattr(sys, "argv", ["mockllm", "serve"])
    try:
        with pytest.raises(SystemExit):
            __main__.main()
    finally:
        gc.enable()
    assert calls == ["limit"]


def test_library_without_limits_is_not_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    library_names: list[object] = []
    monkeypatch.setattr(freed_memory.ctypes, "CDLL", lambda name: library_names.append(name))
    limit_kept_memory()
    monkeypatch.setattr(freed_memory.sys, "platform", "darwin")
    limit_kept_memory()
    assert library_names == [None]
