"""The peers of `make bench-peers`: packages, commands, and our scenario in the format of each.
Missing peers are installed below `.peers/`."""

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.bench.servers import ROOT, Running

FOLDER = ROOT / ".peers"
STEPS = 1_000
WORDS = [f"word{i:03}" for i in range(200)]
TEXT = " ".join(WORDS)
# 64 pieces of the text; with the role and the finish 66 events.
PIECE = len(TEXT) // 64 + 1
NEEDLES = [f"needle-{number:03}." for number in range(STEPS)]


@dataclass(frozen=True)
class Peer:
    """Another mock server. `command` has the arguments of the program, with placeholders for the
    port and the file, to which `scenario` is written as JSON, which is YAML too. A peer that always
    `pauses` between the words of a stream is only measured with whole responses."""

    name: str
    version: str
    program: str
    command: tuple[str, ...]
    scenario: Callable[[], dict[str, Any]]
    npm: bool = False
    pauses: bool = False

    @property
    def title(self) -> str:
        return f"{self.name.rpartition('/')[2]} {self.version}"

    @property
    def path(self) -> Path:
        return FOLDER / ("node_modules/.bin" if self.npm else f"{self.program}/bin") / self.program

    def install(self) -> None:
        """Install the peer below FOLDER."""
        FOLDER.mkdir(exist_ok=True)
        if self.npm:
            package = f"{self.name}@{self.version}"
            run("npm", "install", "--prefix", str(FOLDER), "--no-audit", "--no-fund", package)
            return
        environment = FOLDER / self.program
        run(sys.executable, "-m", "uv", "venv", "--quiet", "--clear", str(environment))
        package = f"{self.name}=={self.version}"
        python = str(environment / "bin" / "python")
        run(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python, package)


def run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _aimock() -> dict[str, Any]:
    return {
        "fixtures": [
            {"match": {"userMessage": needle}, "response": {"content": TEXT}} for needle in NEEDLES
        ]
    }


def _fakellm() -> dict[str, Any]:
    rules = [
        {"name": needle, "when": {"messages_contain": needle}, "respond": {"content": TEXT}}
        for needle in NEEDLES
    ]
    return {"version": 1, "rules": rules}


def _stubllm() -> dict[str, Any]:
    return {
        "fixtures": [
            {
                "name": needle,
                "match": {"messages": [{"role": "user", "content": {"contains": needle}}]},
                "response": {"content": TEXT, "stream_chunk_delay_ms": 0},
            }
            for needle in NEEDLES
        ]
    }


def _mocktopus() -> dict[str, Any]:
    rules = [
        {
            "type": "llm.openai",
            "when": {"model": "*", "messages_contains": needle},
            "respond": {"content": TEXT, "usage": {"input_tokens": 10, "output_tokens": 200}},
        }
        for needle in NEEDLES
    ]
    return {"version": 1, "rules": rules}


AIMOCK = Peer(
    "@copilotkit/aimock",
    "1.43.0",
    "llmock",
    ("-p", "{port}", "-f", "{file}", "-c", str(PIECE), "--log-level", "silent"),
    _aimock,
    npm=True,
)
PYTHON = (
    Peer(
        "fakellm",
        "0.3.5",
        "fakellm",
        ("serve", "--port", "{port}", "--config", "{file}"),
        _fakellm,
        pauses=True,
    ),
    Peer(
        "stubllm",
        "0.1.5",
        "stubllm",
        ("serve", "--port", "{port}", "--fixture-file", "{file}", "--log-level", "error"),
        _stubllm,
    ),
    Peer(
        "mocktopus",
        "0.2.0",
        "mocktopus",
        ("serve", "-p", "{port}", "-s", "{file}"),
        _mocktopus,
        pauses=True,
    ),
)


@contextmanager
def serving(peer: Peer, directory: Path) -> Iterator[Running]:
    """Run a peer with all steps; yield it when it accepts connections."""
    if not peer.path.exists():
        peer.install()
    file = directory / f"{peer.program}.yaml"
    if peer.npm:
        file = file.with_suffix(".json")
    file.write_text(json.dumps(peer.scenario()))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    command = (word.format(port=port, file=file) for word in peer.command)
    process = subprocess.Popen(
        [peer.path, *command],
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_until_listening(process, port)
        yield Running(process.pid, port)
    finally:
        process.terminate()
        process.wait(20)


def can_install(peer: Peer) -> bool:
    return not peer.npm or shutil.which("npm") is not None


def _wait_until_listening(process: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("the peer did not start")
