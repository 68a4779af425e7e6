"""A PostgreSQL that a test starts in a folder of its own, stops at once and starts again."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

from tests.services import require

SECONDS = 60


class Own:
    """Listens on a port of its own. It runs as a user who is not root, as it wants to."""

    def __init__(self, folder: Path) -> None:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        runs = os.getuid() != 0 or shutil.which("runuser") is not None
        require(bool(found) and runs, "there is no PostgreSQL to start")
        self._bin = found[-1].parent
        self._data = folder / "postgres"
        self._data.mkdir()
        if os.getuid() == 0:
            # Down to the folder, which is root's alone.
            for parent in (folder, *folder.parents):
                if parent.stat().st_uid == 0 and parent != Path("/tmp"):
                    parent.chmod(parent.stat().st_mode | 0o011)
                if parent == Path("/tmp"):
                    break
            shutil.chown(self._data, "postgres")
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

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._bin / program), "-D", str(self._data), *arguments]
        if os.getuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/"
        )
