"""The packages and size of each extra, and the features without any.

Decision 0048 has the rule and the figures.
"""

import json
from pathlib import Path

import pytest

from tests.docs.blocks import blocks_of
from tests.fresh.conftest import install
from tests.fresh.processes import run

pytestmark = pytest.mark.timeout(300)
ROOT = Path(__file__).resolve().parents[2]
# Maximum packages and megabytes of each extra, without bytecode, with mockllm itself.
LIMITS = {"": (31, 60), "mcp": (46, 80), "server": (66, 125), "chat": (90, 160), "all": (96, 175)}
SIZE = """
import json
from importlib.metadata import distributions
files = [
    file.locate() for one in distributions() for file in one.files or () if file.suffix != ".pyc"
]
size = sum(file.stat().st_size for file in files if file.is_file())
print(json.dumps([len(list(distributions())), size / 1e6]))
"""
# Everything that tests use of a light server besides plain answers.
FEATURES = """
import json
import httpx2
from websockets.sync.client import connect
from mockllm import running_server

tool = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
call = {"name": "get_weather", "arguments": {"city": 5}}
steps = [
    {"match": {"messages": [{"contains": "weather"}]}, "produce": {"tool_calls": [call]}},
    {"match": {"messages": [{"contains": "hello"}]}, "consume": False, "produce": {"text": "Hi!"}},
]
with running_server({"name": "s", "steps": steps}) as server:
    headers = {"authorization": f"Bearer {server.api_key}"}
    with httpx2.Client(base_url=server.base_url, headers=headers, trust_env=False) as http:
        function = {"type": "function", "function": {"name": "get_weather", "parameters": tool}}
        asked = {"model": "m", "messages": [{"role": "user", "content": "The weather?"}]}
        http.post("/v1/chat/completions", json={**asked, "tools": [function]}).raise_for_status()
        line = {
            "custom_id": "a",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {"model": "m", "messages": [{"role": "user", "content": "hello"}]},
        }
        file = {"file": ("lines.jsonl", json.dumps(line).encode())}
        sent = http.post("/v1/files", files=file, data={"purpose": "batch"}).json()
        batch = {
            "input_file_id": sent["id"],
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
        }
        made = http.post("/v1/batches", json=batch).json()
        while made["output_file_id"] is None and made["status"] not in ("failed", "expired"):
            made = http.get(f"/v1/batches/{made['id']}").json()
        output = http.get(f"/v1/files/{made['output_file_id']}/content").text
        address = server.base_url.replace("http", "ws") + "/v1/responses"
        with connect(address, additional_headers=headers, proxy=None) as socket:
            socket.send(json.dumps({"type": "response.create", "model": "m", "input": "hello"}))
            events = [json.loads(socket.recv())["type"]]
            while events[-1] not in ("response.completed", "error"):
                events.append(json.loads(socket.recv())["type"])
        verdict = http.get("/control/verdict", params={"session": server.api_key}).json()
        control = {name: http.get(f"/control/{name}") for name in ("coverage", "drift", "docs/")}
        pages = {path: http.get(path) for path in ("/admin/", "/chat/", "/metrics")}
print(json.dumps({
    "batch": "Hi!" in output,
    "socket": events[-1],
    "findings": [one["message"] for one in verdict["findings"]],
    "control": {name: answer.status_code for name, answer in control.items()},
    "pages": {path: [answer.status_code, answer.text] for path, answer in pages.items()},
}))
"""


@pytest.mark.parametrize("extra", LIMITS)
def test_extra_stays_within_its_packages_and_size(extra: str, wheel: Path, tmp_path: Path) -> None:
    requirement = f"mockllm-server[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
    python = install(tmp_path / "venv", requirement)
    process = run("-c", SIZE, cwd=tmp_path, python=str(python))
    packages, megabytes = json.loads(process.stdout)
    max_packages, max_megabytes = LIMITS[extra]
    assert packages <= max_packages
    assert megabytes <= max_megabytes


def test_plain_install_passes_the_first_test_of_the_readme(wheel: Path, tmp_path: Path) -> None:
    python = install(tmp_path / "venv", str(wheel), "openai", "pytest")
    (first, *_) = [block for block in blocks_of("README.md") if block.language == "python"]
    (tmp_path / "test_weather.py").write_text(first.text)
    process = run("-m", "pytest", "-q", "test_weather.py", cwd=tmp_path, python=str(python))
    assert "1 passed" in process.stdout, process.stdout + process.stderr
    arguments = ("run", "--", str(python), "-m", "pytest", "-q", "test_weather.py")
    process = run("-m", "mockllm_site", *arguments, cwd=tmp_path, python=str(python))
    assert "1 passed" in process.stdout, process.stdout + process.stderr


def test_plain_install_serves_all_that_tests_need(base: Path, tmp_path: Path) -> None:
    process = run("-c", FEATURES, cwd=tmp_path, python=str(base))
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    assert result["batch"]
    assert result["socket"] == "response.completed"
    assert result["findings"] == [
        "the script calls get_weather with arguments where city: 5 is not of type 'string'"
    ]
    assert result["control"] == {"coverage": 200, "drift": 200, "docs/": 404}
    for path, (status, text) in result["pages"].items():
        assert status == 404
        assert text.startswith(f"There is no {path}: this is a light server; start `mockllm serve`")


@pytest.mark.parametrize("command", [["serve"], ["runserver"], ["chat"], ["migrate"]])
def test_plain_install_names_the_missing_extra_in_one_line(
    base: Path, tmp_path: Path, command: list[str]
) -> None:
    process = run(
        "-m", "mockllm_site", *command, cwd=tmp_path, python=str(base), MOCKLLM_ENV="test"
    )
    assert (process.returncode, process.stdout) == (1, "")
    (line,) = process.stderr.splitlines()
    assert line.startswith("mockllm: the extra `server` is missing: pip install 'mockllm-server[")


def test_plain_install_names_the_extra_of_control_mcp(base: Path, tmp_path: Path) -> None:
    process = run("-m", "mockllm_site", "control-mcp", cwd=tmp_path, python=str(base))
    assert (process.returncode, process.stdout) == (1, "")
    assert process.stderr == (
        "mockllm control-mcp: MCP needs one more package: pip install 'mockllm-server[mcp]'\n"
    )


@pytest.mark.parametrize(
    ("command", "code", "line"),
    [
        (["serv"], 1, "mockllm: no command 'serv', did you mean serve? `mockllm help` lists them"),
        (["runn"], 1, "mockllm: no command 'runn', did you mean run? `mockllm help` lists them"),
        (["serve", "--prot", "1"], 2, "mockllm serve: no option --prot, did you mean --port? "),
        (["serve", "--port", "x"], 2, "mockllm serve: argument --port: expected a number from 0 "),
        (["run", "--scenaro", "x"], 2, "mockllm run: no option --scenaro, did you mean --scenario"),
        (["migrate", "--foo"], 2, "mockllm migrate: no option --foo; `mockllm migrate --help`"),
    ],
)
def test_plain_install_names_typing_mistakes_in_one_line(
    base: Path, tmp_path: Path, command: list[str], code: int, line: str
) -> None:
    process = run("-m", "mockllm_site", *command, cwd=tmp_path, python=str(base))
    assert (process.returncode, process.stdout) == (code, "")
    (printed,) = process.stderr.splitlines()
    assert printed.startswith(line)


def test_plain_install_prints_help_of_each_command_that_it_has(base: Path, tmp_path: Path) -> None:
    printed = run("-m", "mockllm_site", "help", cwd=tmp_path, python=str(base)).stdout
    rows = printed.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    commands = [row.split()[0] for row in rows if "Needs one more package" not in row]
    assert {"serve", "run", "verdict", "torture", "control-mcp"} <= set(commands)
    for command in commands:
        process = run("-m", "mockllm_site", "help", command, cwd=tmp_path, python=str(base))
        assert (process.returncode, process.stderr) == (0, ""), command
        assert process.stdout.startswith(f"usage: mockllm {command} ")


def test_plain_install_checks_scenarios_and_names_the_extra_of_the_chat(
    base: Path, tmp_path: Path
) -> None:
    process = run("-m", "mockllm_site", "help", cwd=tmp_path, python=str(base))
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    assert (
        "  chat              Needs one more package: pip install 'mockllm-server[" in process.stdout
    )
    examples = str(ROOT / "examples" / "scenarios")
    process = run("-m", "mockllm_site", "check_scenarios", examples, cwd=tmp_path, python=str(base))
    assert (process.returncode, "no problems" in process.stdout) == (0, True), process.stderr
