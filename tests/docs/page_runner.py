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
from tests.docs.output_comparison import matches_output
from tests.docs.transcript import play

READY = "mockllm ready on "
TIMEOUT_SECONDS = 120.0
LAST_LINES = 20
PORT, TEST_PORT = "8000", "5099"
URL_VARIABLE = "MOCKLLM_URL"
# Turns off plugins of this suite, which are slow to start.
SLOW_PLUGINS_OFF = "-p no:schemathesis -p no:hypothesispytest -p no:django"
# A block that starts a server in the background also ends it.
_STARTS = re.compile(r"\bmake run\b|\bserve\b(?!.*&$)", re.MULTILINE)
_ADDRESS = re.compile(rf"127\.0\.0\.1:({PORT}|{TEST_PORT})\b")
# Keep-alive comments of an event stream.
_COMMENT = re.compile(r"^: .*\n\n", re.MULTILINE)
_BUILD_SCRIPT = """
import json, runpy, sys
values = runpy.run_path(sys.argv[1]).values()
documents = [v.build() if hasattr(v, "build") and not isinstance(v, type) else v for v in values]
print(json.dumps([v for v in documents if isinstance(v, dict) and "steps" in v]))
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
        timer = threading.Timer(TIMEOUT_SECONDS, self._signal, [signal.SIGKILL])
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
            self._process.wait(TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


class PageRunner:
    """Runs a page's blocks in a folder, with a shell environment and the started servers by their
    usual port. `python` runs the page's Python blocks.

    With `strict`, the page must name a file for each block that is no command or output, and start
    its servers itself.
    """

    def __init__(self, folder: Path, *, path: str, python: str, strict: bool = False) -> None:
        self.folder = folder
        self._variables = {"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8"}
        self._python = python
        self.strict = strict
        self._servers: dict[str, Server] = {}
        self._latest_server: Server | None = None
        self._output: str | None = None
        self._built_scenarios: list[Any] = []
        self._transcript_count = 0
        self._runners: Mapping[str, Callable[[Block], None]] = {
            "sh": self._run,
            "python": self._run_python,
            **dict.fromkeys(("js", "java", "go"), self._write),
            "json": self._read_json,
            "text": self._compare,
            "transcript": self._play_transcript,
            "yaml": self._read_yaml,
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for server in self._servers.values():
            server.stop()

    def follow(self, block: Block) -> None:
        """Run a block. Raises AssertionError if the result differs from the page."""
        run_block = self._runners.get(block.language)
        assert run_block, f"there is no way to run a block of {block.language or 'no language'}"
        run_block(block)

    def _run(self, block: Block) -> None:
        self._output = None
        if _STARTS.search(block.text):
            self._start(block.text)
        else:
            is_make = all(re.match(r"make |#|$", line) for line in block.text.splitlines())
            # The suite does not run itself: make only prints its commands.
            variables = {"MAKEFLAGS": "n"} if is_make else {}
            if "pytest" in block.text:
                # A reader's tests have no running server and start their own.
                variables[URL_VARIABLE] = ""
                variables["PYTEST_ADDOPTS"] = SLOW_PLUGINS_OFF
            self._output = self._run_command(
                ["bash", "-ec", self._insert_addresses(block.text)], **variables
            )

    def _write(self, block: Block) -> None:
        assert block.file, "the line above the block names no file"
        target = self.folder / block.file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_ADDRESS.sub(self._replace_address, block.text))

    def _replace_address(self, match: re.Match[str]) -> str:
        server = self._servers.get(match[1])
        return server.address if server else match[0]

    def _run_python(self, block: Block) -> None:
        self._output = None
        if block.file or self.strict:
            self._write(block)
            return
        script = self.folder / "block.py"
        script.write_text(self._insert_addresses(block.text))
        output = self._run_command([self._python, "-c", _BUILD_SCRIPT, str(script)])
        self._output, _, documents = output.rstrip("\n").rpartition("\n")
        self._built_scenarios = json.loads(documents)

    def _read_json(self, block: Block) -> None:
        if block.file:
            self._write(block)
        elif self._output is not None:
            self._compare(block)
        elif self.strict:
            self._write(block)
        else:
            self._load(json.loads(block.text))

    def _compare(self, block: Block) -> None:
        assert self._output is not None, "this is the output of nothing"
        expected, actual = block.text.strip(), _COMMENT.sub("", self._output).strip()
        if block.language == "json":
            expected, actual = ("".join(text.split()) for text in (expected, actual))
        assert matches_output(expected, actual), (
            f"the page shows\n{expected}\nand this came:\n{actual}"
        )
        self._output = None

    def _play_transcript(self, block: Block) -> None:
        self._transcript_count += 1
        if self._built_scenarios:
            self._load({"scenarios": self._built_scenarios})
            self._built_scenarios = []
        play(block.text, base_url=self._url(), key=f"reader-{self._transcript_count}")

    def _read_yaml(self, block: Block) -> None:
        assert yaml.safe_load(block.text)
        if block.file or self.strict:
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
        is_test_mode = re.search(r"MOCKLLM_ENV=test\b", text)
        page_port = port[1] if port else TEST_PORT if is_test_mode else PORT
        if page_port in self._servers:
            self._servers.pop(page_port).stop()
        text = re.sub(r" --port \d+", "", text)
        text = re.sub(r"\bmake run\b", "make run PORT=0", text)
        text = re.sub(r"\bserve\b", "serve --port 0", text)
        self._latest_server = Server(text, folder=self.folder, variables=self._variables)
        self._servers[page_port] = self._latest_server
        self._variables[URL_VARIABLE] = (
            f"http://{self._servers.get(PORT, self._latest_server).address}"
        )

    def _url(self) -> str:
        if self._latest_server is None:
            assert not self.strict, "the page has started no server"
            self._start("mockllm serve")
        assert self._latest_server
        return f"http://{self._latest_server.address}"

    def _insert_addresses(self, text: str) -> str:
        """Return the text with the real addresses of the servers."""

        def real_address(match: re.Match[str]) -> str:
            if match[1] not in self._servers:
                self._url()
            return self._servers[match[1]].address

        return _ADDRESS.sub(real_address, text)

    def _run_command(self, command: list[str], **variables: str) -> str:
        process = subprocess.run(
            command,
            cwd=self.folder,
            env={**self._variables, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
        if process.returncode:
            last_lines = f"{process.stdout}\n{process.stderr}".splitlines()[-LAST_LINES:]
            raise AssertionError("\n".join([f"exit code {process.returncode}", *last_lines]))
        return process.stdout
