"""A PostgreSQL that a test starts in a folder of its own, stops at once and starts again."""

import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from tests.support.required_services import require

SECONDS = 60


class Own:
    """Listens on a port of its own. It runs as a user who is not root, as it wants to."""

    def __init__(self) -> None:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        runs = os.getuid() != 0 or shutil.which("runuser") is not None
        require(bool(found) and runs, "there is no PostgreSQL to start")
        self._bin = found[-1].parent
        # Not in the test's folder, which only root may enter.
        self._folder = tempfile.mkdtemp(prefix="mockllm-postgres-")
        self._data = f"{self._folder}/data"
        if os.getuid() == 0:
            shutil.chown(self._folder, "postgres")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"
        self._run("initdb", "-U", "postgres", "-A", "trust", "--no-sync")
        self.start()

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="
        self._run("pg_ctl", "-w", "-t", str(SECONDS), "-o", options, "-l", "/dev/null", "start")

    def stop(self) -> None:
        """End it at once: nobody who is connected is asked, and it mends itself at its start."""
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def end(self) -> None:
        """Leave nothing of it."""
        with suppress(subprocess.CalledProcessError):
            self.stop()
        shutil.rmtree(self._folder)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._bin / program), "-D", self._data, *arguments]
        if os.getuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/"
        )
