"""Python processes that have imported already. `python()` stands for an interpreter: what is
started with it is forked from one that is warm. Arguments, folder, environment and streams are its
own, settings are read after the fork, it ends as it would, and what it starts is warm too.

Tests of imports, hash seeds, process ids or what is left after a kill start `sys.executable`.
"""

import atexit
import os
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import gettempdir
from uuid import uuid4

HERE = Path(__file__).parent
_PYTHON = str(Path(gettempdir(), f"warmed-{uuid4().hex}"))
_ADDRESS = f"{_PYTHON}.socket"


def python() -> str:
    """The path of the interpreter, which is there and answered once it is known."""
    start()
    return _PYTHON


@cache
def start() -> None:
    """Have a process that is warm, once for all of this one's tests."""
    client = (HERE / "fork_client.py").read_text()
    program = os.open(_PYTHON, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700)
    with open(program, "w", encoding="utf-8") as file:
        file.write(f"#!{sys.executable} -IS\n{client}")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(_ADDRESS)
        door.listen(64)
        process = subprocess.Popen(
            [sys.executable, "-P", HERE / "fork_parent.py", str(door.fileno())],
            pass_fds=[door.fileno()],
            # Its end, however it comes, is that of all the processes that were forked.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"PATH": os.environ["PATH"]},
        )
    atexit.register(_end, process)
    assert process.stdout is not None
    # It says that it is warm: what is started with it may have little time.
    assert process.stdout.readline()


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.communicate()
    for path in (_PYTHON, _ADDRESS):
        os.unlink(path)
