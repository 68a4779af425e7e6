"""A PostgreSQL server that a test starts in a temporary folder, stops and starts again."""

import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from tests.support.required_services import require

SECONDS = 60


class PostgresServer:
    """A PostgreSQL server on a free port. It runs as a user other than root, as it requires."""

    def __init__(self) -> None:
        initdb_paths = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        can_run = os.getuid() != 0 or shutil.which("runuser") is not None
        require(bool(initdb_paths) and can_run, "there is no PostgreSQL to start")
        self._bin = initdb_paths[-1].parent
        # Not in the test's folder, which only root may enter.
        self._folder = tempfile.mkdtemp(prefix="mockllm-postgres-")
        self._data = f"{self._folder}/data"
        if os.getuid() == 0:
            shutil.chown(self._folder, "postgres")
        with socket.create_server(("127.0.0.1", 0)) as free_socket:
            self.port: int = free_socket.getsockname()[1]
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"
        self._run("initdb", "-U", "postgres", "-A", "trust", "--no-sync")
        self.start()

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="
        self._run("pg_ctl", "-w", "-t", str(SECONDS), "-o", options, "-l", "/dev/null", "start")

    def stop(self) -> None:
        """Stop the server without waiting for its clients; it recovers at its next start."""
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def end(self) -> None:
        """Stop the server and delete its files."""
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
