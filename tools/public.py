"""Writes what users see of this commit into a folder, as text files: help, schemas, documents,
fixtures, answers and errors of the APIs, and rows of the journal.

    python -m tools.public before
    git checkout …
    python -m tools.public after && diff -r before after

It starts `serve` in test mode, and uses commands and HTTP alone, so a copy of this file also works
in an older checkout. Ids, times and keys are replaced.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("examples/scenarios", "examples/agents", "scenarios_app/play/examples")
# The values that take the place of each value of a document, to see the errors.
WRONG: tuple[Any, ...] = (None, True, 7, -1.5, "", "x", [], [7], {}, {"nope": 1})
PROVIDERS: dict[str, dict[str, str]] = {
    "/v1/chat/completions": {},
    "/v1/responses": {},
    "/v1/messages": {"anthropic-version": "2023-06-01"},
    "/v1beta/models/gemini-2.5-flash:generateContent": {"x-goog-api-key": "k"},
    "/api/chat": {},
}
REPLACED = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UUID"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?"), "TIME"),
    (re.compile(r'("(?:version|key)": )"[0-9a-f]{16}"'), r'\1"KEY"'),
    (re.compile(r'("\w+_ms": )\d+\.\d+'), r"\1MS"),
    (re.compile(r"127\.0\.0\.1:\d+"), "HOST"),
)
# Calls of the control API and the chat API.
STEPS: tuple[tuple[str, str, Any], ...] = (
    ("GET", "/control/scenarios", None),
    ("GET", "/control/scenarios/nothing", None),
    ("DELETE", "/control/scenarios/nothing", None),
    ("GET", "/control/state", None),
    ("GET", "/control/state?session=one", None),
    ("GET", "/control/requests?limit=3", None),
    ("GET", "/control/requests?limit=none", None),
    ("GET", "/control/requests/nothing", None),
    ("GET", "/control/verdict", None),
    ("GET", "/control/verdict?session=one", None),
    ("GET", "/control/coverage", None),
    ("GET", "/control/coverage/faults", None),
    ("GET", "/control/drift", None),
    ("GET", "/control/changes?session=one", None),
    ("GET", "/control/recording", None),
    ("POST", "/control/verify", {"count": 1}),
    ("POST", "/control/verify", {"session": "one", "match": {"model": 7}}),
    ("POST", "/control/explain", {"path": "/v1/responses", "body": {"model": "m", "input": "hi"}}),
    ("POST", "/control/explain", {}),
    ("POST", "/control/reset", {"session": "one"}),
    ("GET", "/api/list_conversations", None),
    ("POST", "/api/new_conversation", {}),
    ("POST", "/api/load_conversation", {}),
    ("GET", "/api/ab/leaderboard", None),
    ("GET", "/api/trace/nothing", None),
)


class Site:
    """A running server, which is called over one connection."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)

    def call(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, str]:
        """Return the status and the body of a call; a JSON body is indented."""
        all_headers = {
            "content-type": "application/json",
            "accept": "application/json",
            **(headers or {}),
        }
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, data, all_headers)
        response = self._connection.getresponse()
        text = response.read().decode("utf-8", "replace")
        with suppress(ValueError):
            text = pretty(json.loads(text))
        return response.status, text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    write_commands(folder)
    with running_site() as site:
        write_descriptions(folder, site)
        write_documents(folder, site)
        write_errors(folder, site)
        write_answers(folder, site)
    write_fixtures(folder)


def write(folder: Path, name: str, text: str) -> None:
    """Write a text without what differs from run to run."""
    for pattern, replacement in REPLACED:
        text = pattern.sub(replacement, text)
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if text.endswith("\n") else f"{text}\n", encoding="utf-8")


def pretty(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)


def run(*arguments: str, cwd: Path | None = None, **variables: str) -> str:
    """Return what a command prints, with its exit code if that is not 0."""
    done = subprocess.run(
        [sys.executable, "-m", "mockllm_site", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", **variables},
        timeout=120,
    )
    ended = f"\nexit code {done.returncode}\n{done.stderr}" if done.returncode else ""
    return f"{done.stdout}{ended}"


def write_commands(folder: Path) -> None:
    """Write the help of our commands, and what they print without a server."""
    overview = run("help")
    write(folder, "commands/help.txt", overview)
    for name in re.findall(r"^  ([a-z_-]+)  ", overview, re.MULTILINE):
        write(folder, f"commands/{name}.txt", run(name, "--help"))
    write(folder, "commands/schema.json", run("schema"))
    write(folder, "commands/skill.md", run("skill"))


@contextmanager
def running_site() -> Iterator[Site]:
    """Start a full server in test mode; it ends with the block."""
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen(
            [sys.executable, "-m", "mockllm_site", "serve", "--port", "0", "--no-catch-all"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=directory,
            env={**os.environ, "PYTHONPATH": str(ROOT), "MOCKLLM_ENV": "test"},
        )
        try:
            assert process.stdout is not None
            yield Site(int(process.stdout.readline().rpartition(":")[2]))
        finally:
            process.terminate()
            process.wait(30)


def write_descriptions(folder: Path, site: Site) -> None:
    """Write the OpenAPI documents, the JSON Schema and the MCP tools."""
    for name, path in (("control", "/control/schema/"), ("chat", "/api/schema/")):
        write(folder, f"openapi/{name}.json", site.call("GET", path)[1])
    write(folder, "scenario_schema.json", site.call("GET", "/control/schema/scenario.json")[1])
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accept = {"accept": "application/json, text/event-stream"}
    write(folder, "mcp_tools.json", site.call("POST", "/control/mcp", listing, accept)[1])


def scenario_documents() -> dict[str, dict[str, Any]]:
    """Return the shipped documents, one scenario each, by a file name."""
    documents = {}
    for folder in DOCUMENTS:
        for path in sorted((ROOT / folder).glob("*.json")):
            loaded = json.loads(path.read_text(encoding="utf-8"))
            several = loaded if isinstance(loaded, list) else loaded.get("scenarios", [loaded])
            for number, document in enumerate(several):
                documents[f"{path.stem}-{number}"] = document
    return documents


def write_documents(folder: Path, site: Site) -> None:
    """Load each document, and write what the server gives back of it."""
    for stem, document in scenario_documents().items():
        status, text = site.call("POST", "/control/scenarios", document)
        write(folder, f"documents/{stem}.loaded.json", f"{status}\n{text}")
        name = quote(str(document.get("name", "")), safe="")
        status, text = site.call("GET", f"/control/scenarios/{name}")
        write(folder, f"documents/{stem}.json", f"{status}\n{text}")
    write(folder, "documents/all.json", site.call("GET", "/control/scenarios")[1])


def places_in(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the place of each value inside a document, the outer ones first."""
    items = enumerate(value) if isinstance(value, list) else ()
    pairs = value.items() if isinstance(value, dict) else items
    for key, inner in pairs:
        yield (*place, key)
        yield from places_in(inner, (*place, key))


def with_value(document: Any, place: tuple[str | int, ...], value: Any) -> Any:
    """Return the document with another value at a place."""
    copied = owner = deepcopy(document)
    for key in place[:-1]:
        owner = owner[key]
    owner[place[-1]] = value
    return copied


def write_errors(folder: Path, site: Site) -> None:
    """Put wrong values in each place of the documents, and write the answers."""
    seen: set[str] = set()
    for stem, document in scenario_documents().items():
        lines = []
        for place in places_in(document):
            shape = ".".join("0" if isinstance(key, int) else key for key in place)
            if shape in seen or shape == "name":
                continue
            seen.add(shape)
            for value in WRONG:
                body = with_value(document, place, value)
                status, text = site.call("POST", "/control/scenarios", body)
                answer = " ".join(text.split()) if status >= 400 else "stored"
                lines.append(f"{shape} = {json.dumps(value)}: {status} {answer}")
        if lines:
            write(folder, f"errors/{stem}.txt", "\n".join(lines))


def write_answers(folder: Path, site: Site) -> None:
    """Send requests to the providers, and write them, the journal and the answers of the APIs."""
    for number, (path, headers) in enumerate(PROVIDERS.items()):
        body = {
            "model": "gpt-4o",
            "max_tokens": 9,
            "stream": False,
            "messages": [{"role": "user", "content": "Say hello"}],
            "input": "Say hello",
            "contents": [{"role": "user", "parts": [{"text": "Say hello"}]}],
        }
        status, text = site.call(
            "POST", path, body, {**headers, "authorization": "Bearer k", "x-mockllm-session": "one"}
        )
        write(folder, f"answers/provider-{number}.json", f"POST {path}: {status}\n{text}")
    for number, (method, path, body) in enumerate(STEPS):
        status, text = site.call(method, path, body)
        write(folder, f"answers/api-{number}.json", f"{method} {path}: {status}\n{text}")
    status, text = site.call("GET", "/control/requests")
    for row in json.loads(text).get("requests", ()):
        detail = site.call("GET", f"/control/requests/{row['id']}")[1]
        write(folder, f"answers/journal{quote(row['path'], safe='')}.json", detail)


def write_fixtures(folder: Path) -> None:
    """Load the documents into a database, and write its exports."""
    with tempfile.TemporaryDirectory() as directory:
        cwd, variables = Path(directory), {"MOCKLLM_ENV": "dev", "DATABASE_URL": "sqlite:///a.db"}
        run("migrate", cwd=cwd, **variables)
        for document_folder in DOCUMENTS:
            text = run("load_scenarios", str(ROOT / document_folder), cwd=cwd, **variables)
            write(folder, f"fixtures/load-{Path(document_folder).name}.txt", text)
        for options in (("--format", "document"), ("--format", "fixture")):
            text = run("export_scenarios", *options, cwd=cwd, **variables)
            write(folder, f"fixtures/export-{options[1]}.json", text)
        text = run("dumpdata", "scenarios_app", "--indent", "1", cwd=cwd, **variables)
        write(folder, "fixtures/dumpdata.json", text)


if __name__ == "__main__":
    main()
