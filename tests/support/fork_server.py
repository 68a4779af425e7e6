"""Starts Python processes quickly by forking one that has imported the libraries already.

`python()` returns the path of a program that behaves like an interpreter: each process has the
given arguments, folder, environment and streams, reads its settings after the fork, and starts its
own children in the same way. Tests of imports, hash seeds, process ids or kills use
`sys.executable`.
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
_PYTHON = str(Path(gettempdir(), f"fork-server-{uuid4().hex}"))
_ADDRESS = f"{_PYTHON}.socket"


def python() -> str:
    """Return the path of the interpreter stand-in; the fork server is running then."""
    start()
    return _PYTHON


@cache
def start() -> None:
    """Start the fork server, once per test process."""
    client = (HERE / "fork_client.py").read_text()
    program = os.open(_PYTHON, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700)
    with open(program, "w", encoding="utf-8") as file:
        file.write(f"#!{sys.executable} -IS\n{client}")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(_ADDRESS)
        listener.listen(64)
        process = subprocess.Popen(
            [sys.executable, "-P", HERE / "fork_parent.py", str(listener.fileno())],
            pass_fds=[listener.fileno()],
            # When this pipe closes, the server ends and kills the processes that it forked.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"PATH": os.environ["PATH"]},
        )
    atexit.register(_end, process)
    assert process.stdout is not None
    # Wait for its ready line, so that a forked process does not lose time.
    assert process.stdout.readline()


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.communicate()
    for path in (_PYTHON, _ADDRESS):
        os.unlink(path)
