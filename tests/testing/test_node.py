"""Requests of Node's `fetch` for providers' real hosts: they go to the server of `mockllm run`."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scenarios_app.testing.variables import command_variables, provider_hosts, recording_variables
from scenarios_app.wire.upstreams import upstreams
from tests.project import processes
from tests.support import fork_server
from tests.support.required_services import require

pytestmark = pytest.mark.process

REDIRECT = Path("scenarios_app", "testing", "node_redirect.cjs").resolve()
SERVER = "http://127.0.0.1:5099"
# Chat requests of clients that read no variable for their base URL, or another one than we set.
ASK = """
const messages = [{ role: "user", content: "hello" }];
const ask = async (url, headers, body) => {
  const sent = { method: "POST", headers: { "content-type": "application/json", ...headers } };
  const response = await fetch(url, { ...sent, body: JSON.stringify({ messages, ...body }) });
  console.log(JSON.stringify(await response.json()).includes("Hi!"));
};
const bearer = { authorization: `Bearer ${process.env.MISTRAL_API_KEY}` };
const gemini = { contents: [{ role: "user", parts: [{ text: "hello" }] }] };
const key = process.env.GOOGLE_GENERATIVE_AI_API_KEY;
(async () => {
  await ask("https://api.mistral.ai/v1/chat/completions", bearer, { model: "m" });
  await ask(new URL("http://127.0.0.1:11434/api/chat"), {}, { model: "m", stream: false });
  await ask(
    "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent",
    { "x-goog-api-key": key },
    gemini,
  );
  await ask(
    `${process.env.ANTHROPIC_BASE_URL}/messages`,
    { "x-api-key": process.env.ANTHROPIC_API_KEY, "anthropic-version": "2023-06-01" },
    { model: "m", max_tokens: 9 },
  );
})();
"""
HELLO = {"name": "hello", "steps": [{"consume": False, "produce": {"text": "Hi!"}}]}


def node_executable() -> str:
    """Return the path of Node; skip the test if it is missing."""
    path = shutil.which("node")
    require(path is not None, "node is not there")
    return str(path)


def test_names_of_many_stubs_are_in_the_order_of_their_definition() -> None:
    code = (
        "import { Session } from './tools/vitest/session.mjs';"
        "const session = new Session({ url: 'http://127.0.0.1:1' });"
        "const names = Array.from({ length: 1001 }, () => session.on('hello').name);"
        "console.log(JSON.stringify(names));"
    )
    command = [node_executable(), "--input-type=module", "--eval", code]
    names = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert names == sorted(names)
    assert names[0] == '01 on("hello")'


def server_url(url: str) -> str | None:
    """Return where the preloaded file sends a request for a URL, or None if it leaves it alone."""
    code = "const { serverUrl } = require(process.argv[1]); const [url, base, hosts] = "
    code += "process.argv.slice(2); console.log(JSON.stringify(serverUrl(new URL(url), base, "
    code += "JSON.parse(hosts))))"
    arguments = (str(REDIRECT), url, SERVER, json.dumps(provider_hosts()))
    result = subprocess.run(
        [node_executable(), "-e", code, *arguments], capture_output=True, text=True, check=True
    )
    target: str | None = json.loads(result.stdout)
    return target


def test_run_answers_node_clients_that_read_no_base_url(tmp_path: Path) -> None:
    (tmp_path / "hello.json").write_text(json.dumps(HELLO))
    (tmp_path / "ask.js").write_text(ASK)
    command = (fork_server.python(), "-P", "-m", "mockllm_site", "run")
    arguments = ("--scenario", "hello.json", "--", node_executable(), "ask.js")
    result = processes.run(*command, *arguments, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, "true\n" * 4), result.stderr
    assert result.stderr == "mockllm: passed: the run, 4 requests\n"


def test_node_options_of_the_environment_stay_and_spaces_in_paths_are_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preload = tmp_path / 'a "folder"' / "redirect.cjs"
    preload.parent.mkdir()
    preload.write_text("console.log('loaded')")
    monkeypatch.setattr("scenarios_app.testing.variables._NODE_REDIRECT", preload)
    before = {"NODE_OPTIONS": "--no-deprecation"}
    variables = command_variables(SERVER, "k", environment=before)
    assert variables["NODE_OPTIONS"].startswith("--no-deprecation --require ")
    again = command_variables(SERVER, "k", environment=variables)
    assert again["NODE_OPTIONS"] == variables["NODE_OPTIONS"]
    environment = {**os.environ, "NODE_OPTIONS": variables["NODE_OPTIONS"]}
    result = subprocess.run(
        [node_executable(), "-e", ""], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout == "loaded\n"


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://api.openai.com/v1/responses?a=b", "/v1/responses?a=b"),
        ("https://api.mistral.ai/v1/models", "/mistral/v1/models"),
        ("https://mine.openai.azure.com/openai/v1/models", "/openai/v1/models"),
        ("http://localhost:11434/api/tags", "/api/tags"),
        (f"{SERVER}/messages/count_tokens", "/v1/messages/count_tokens"),
        (f"{SERVER}/v1/models", "/v1/models"),
    ],
)
def test_request_for_a_provider_goes_to_its_path_on_the_server(url: str, target: str) -> None:
    assert server_url(url) == f"{SERVER}{target}"


@pytest.mark.parametrize(
    "url", ["https://example.com/v1", "https://openai.azure.com.example/", "http://localhost:80/"]
)
def test_request_for_another_host_is_left_alone(url: str) -> None:
    assert server_url(url) is None


def test_every_host_of_a_provider_is_redirected() -> None:
    hosts = {host for upstream in upstreams().values() for host in upstream.hosts}
    assert hosts | {"127.0.0.1:11434", "localhost:11434"} == set(provider_hosts())


def test_key_that_a_client_needs_is_added_only_where_there_is_none() -> None:
    variables = command_variables(SERVER, "k", environment={"MISTRAL_API_KEY": "real"})
    assert "MISTRAL_API_KEY" not in variables
    assert variables["GROQ_API_KEY"] == variables["GOOGLE_GENERATIVE_AI_API_KEY"] == "k"
    assert "ANTHROPIC_AUTH_TOKEN" not in variables


def test_recorded_command_keeps_its_keys_and_redirects_node() -> None:
    variables = recording_variables(SERVER, environment={"GROQ_API_KEY": "real"})
    assert "GROQ_API_KEY" not in variables
    assert "api.groq.com" in json.loads(variables["MOCKLLM_HOSTS"])
    assert "node_redirect.cjs" in variables["NODE_OPTIONS"]


def test_command_that_is_not_node_runs_unchanged(tmp_path: Path) -> None:
    command = (fork_server.python(), "-P", "-m", "mockllm_site", "run", "--", sys.executable)
    result = processes.run(*command, "-c", "print('as before')", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, "as before\n")
