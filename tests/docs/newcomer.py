"""Runs the blocks of a page in order.

Only the ports differ from the page: they are free ones, because several suites run in parallel.
Programs in `examples/` get theirs from an environment variable.
"""

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx2
import yaml

from tests.docs.blocks import Block
from tests.docs.shown import agrees
from tests.docs.transcript import play

READY = "mockllm ready on "
SECONDS = 120.0
LAST_LINES = 20
PORT, TEST_PORT = "8000", "5099"
URL = "MOCKLLM_URL"
# Plugins of our own suite, which are slow to start.
WITHOUT = "-p no:schemathesis -p no:hypothesispytest -p no:django"
# A block that starts a server in the background also ends it.
_STARTS = re.compile(r"\bmake run\b|\bserve\b(?!.*&$)", re.MULTILINE)
_ADDRESS = re.compile(rf"127\.0\.0\.1:({PORT}|{TEST_PORT})\b")
# Keep-alive comments of an event stream.
_COMMENT = re.compile(r"^: .*\n\n", re.MULTILINE)
_BUILT = """
import json, runpy, sys
found = runpy.run_path(sys.argv[1]).values()
built = [v.build() if hasattr(v, "build") and not isinstance(v, type) else v for v in found]
print(json.dumps([v for v in built if isinstance(v, dict) and "steps" in v]))
"""


class Server:
    """A server that a block started and left running."""

    def __init__(self, command: str, *, folder: Path, variables: Mapping[str, str]) -> None:
        self._log = folder / "server.log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                ["bash", "-ec", command],
                cwd=folder,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        timer = threading.Timer(SECONDS, self._signal, [signal.SIGKILL])
        timer.start()
        assert self._process.stdout is not None
        lines = iter(self._process.stdout.readline, "")
        ready = next((line for line in lines if line.startswith(READY)), None)
        timer.cancel()
        if ready is None:
            self.stop()
            raise AssertionError(f"{command} did not start:\n{self._log.read_text()}")
        # A server on all addresses is called at the loopback address.
        self.address = ready.removeprefix(f"{READY}http://").strip().replace("0.0.0.0", "127.0.0.1")

    def stop(self) -> None:
        self._signal(signal.SIGTERM)
        try:
            self._process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


class Newcomer:
    """Follows a page in a folder, with a shell environment and the started servers by their usual
    port. `python` runs the page's Python blocks.

    With `unaided`, the page must name a file for each block that is no command or output, and start
    its servers itself.
    """

    def __init__(self, folder: Path, *, path: str, python: str, unaided: bool = False) -> None:
        self.folder = folder
        self._variables = {"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8"}
        self._python = python
        self.unaided = unaided
        self._servers: dict[str, Server] = {}
        self._latest: Server | None = None
        self._output: str | None = None
        self._built: list[Any] = []
        self._asked = 0
        self._ways: Mapping[str, Callable[[Block], None]] = {
            "sh": self._run,
            "python": self._run_python,
            **dict.fromkeys(("js", "java", "go"), self._write),
            "json": self._read_json,
            "text": self._compare,
            "transcript": self._ask,
            "yaml": self._read_yaml,
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for server in self._servers.values():
            server.stop()

    def follow(self, block: Block) -> None:
        """Run a block. Raises AssertionError if the result differs from the page."""
        way = self._ways.get(block.language)
        assert way, f"there is no way to run a block of {block.language or 'no language'}"
        way(block)

    def _run(self, block: Block) -> None:
        self._output = None
        if _STARTS.search(block.text):
            self._start(block.text)
        else:
            make = all(re.match(r"make |#|$", line) for line in block.text.splitlines())
            # The suite does not run itself: make only prints its commands.
            more = {"MAKEFLAGS": "n"} if make else {}
            if "pytest" in block.text:
                # A reader's tests have no running server and start their own.
                more[URL] = ""
                more["PYTEST_ADDOPTS"] = WITHOUT
            self._output = self._finished(["bash", "-ec", self._rewritten(block.text)], **more)

    def _write(self, block: Block) -> None:
        assert block.file, "the line above the block names no file"
        target = self.folder / block.file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_ADDRESS.sub(self._started_address, block.text))

    def _started_address(self, found: re.Match[str]) -> str:
        server = self._servers.get(found[1])
        return server.address if server else found[0]

    def _run_python(self, block: Block) -> None:
        self._output = None
        if block.file or self.unaided:
            self._write(block)
            return
        script = self.folder / "block.py"
        script.write_text(self._rewritten(block.text))
        built = self._finished([self._python, "-c", _BUILT, str(script)])
        self._output, _, documents = built.rstrip("\n").rpartition("\n")
        self._built = json.loads(documents)

    def _read_json(self, block: Block) -> None:
        if block.file:
            self._write(block)
        elif self._output is not None:
            self._compare(block)
        elif self.unaided:
            self._write(block)
        else:
            self._load(json.loads(block.text))

    def _compare(self, block: Block) -> None:
        assert self._output is not None, "this is the output of nothing"
        wanted, got = block.text.strip(), _COMMENT.sub("", self._output).strip()
        if block.language == "json":
            wanted, got = ("".join(text.split()) for text in (wanted, got))
        assert agrees(wanted, got), f"the page shows\n{wanted}\nand this came:\n{got}"
        self._output = None

    def _ask(self, block: Block) -> None:
        self._asked += 1
        if self._built:
            self._load({"scenarios": self._built})
            self._built = []
        play(block.text, base_url=self._url(), key=f"reader-{self._asked}")

    def _read_yaml(self, block: Block) -> None:
        assert yaml.safe_load(block.text)
        if block.file or self.unaided:
            self._write(block)

    def _load(self, document: Any) -> None:
        """Replace all scenarios of the server by a document."""
        with httpx2.Client(base_url=f"{self._url()}/control", trust_env=False) as client:
            for scenario in client.get("scenarios").json()["scenarios"]:
                client.delete(f"scenarios/{quote(scenario['name'], safe='')}")
            response = client.post("scenarios", json=document)
            assert response.status_code == 201, response.text

    def _start(self, text: str) -> None:
        """Start a server, replacing the one on its port."""
        port = re.search(r"--port (\d+)", text)
        test = re.search(r"MOCKLLM_ENV=test\b", text)
        usual = port[1] if port else TEST_PORT if test else PORT
        if usual in self._servers:
            self._servers.pop(usual).stop()
        text = re.sub(r" --port \d+", "", text)
        text = re.sub(r"\bmake run\b", "make run PORT=0", text)
        text = re.sub(r"\bserve\b", "serve --port 0", text)
        self._latest = Server(text, folder=self.folder, variables=self._variables)
        self._servers[usual] = self._latest
        self._variables[URL] = f"http://{self._servers.get(PORT, self._latest).address}"

    def _url(self) -> str:
        if self._latest is None:
            assert not self.unaided, "the page has started no server"
            self._start("mockllm serve")
        assert self._latest
        return f"http://{self._latest.address}"

    def _rewritten(self, text: str) -> str:
        """Return the text with the real addresses of the servers."""

        def real(found: re.Match[str]) -> str:
            if found[1] not in self._servers:
                self._url()
            return self._servers[found[1]].address

        return _ADDRESS.sub(real, text)

    def _finished(self, command: list[str], **more: str) -> str:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**self._variables, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        if done.returncode:
            said = f"{done.stdout}\n{done.stderr}".splitlines()[-LAST_LINES:]
            raise AssertionError("\n".join([f"exit code {done.returncode}", *said]))
        return done.stdout
