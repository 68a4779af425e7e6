"""Every command runs in a new process, or is listed with a reason for leaving it out."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fresh.processes import dev_environment, mockllm, run_script
from tests.support import fork_server, migrated_database

# Commands that other tests run.
TESTED_ELSEWHERE = {
    "torture": "tests/proof/test_command.py",
    "mutants": "tests/proof/test_mutants_command.py",
    "chat": "tests/chat/test_chat_command.py",
    "completion": "tests/fresh/test_completion.py",
    "control-mcp": "tests/control/mcp",
    "coverage": "tests/verdict",
    "drift": "tests/testing",
    "import": "tests/recording",
    "load_scenarios": "tests/project/test_user_errors.py",
    "mcp": "tests/testing/test_mcp.py",
    "play": "tests/play",
    "record": "tests/testing/test_record.py",
    "run": "tests/testing/test_run.py",
    "serve": "tests/serving/processes/test_serve.py",
    "simulate": "tests/simulate/test_command.py",
    "trace_scenario": "tests/traces",
    "verdict": "tests/verdict",
}
NOT_RUN = {
    "makemessages": "writes into the checkout, and needs gettext",
    "compilemessages": "writes into the checkout, and needs gettext",
    "optimizemigration": "rewrites a migration of the checkout",
    "squashmigrations": "writes a migration into the checkout",
    "runserver": "serves until it is stopped; `serve` is the server of this project",
    "runworker": "works until it is stopped",
    "testserver": "serves until it is stopped",
}


@dataclass(frozen=True)
class CommandRun:
    """A command line after `mockllm`, its exit code and a part of its output."""

    arguments: tuple[str, ...]
    expected_output: str = ""
    stdin: str = ""
    code: int = 0

    @property
    def command(self) -> str:
        return self.arguments[0]


def run(line: str, prints: str = "", *, stdin: str = "", code: int = 0) -> CommandRun:
    return CommandRun(tuple(line.split(" ")), prints, stdin, code)


RUNS = (
    run("axes_list_attempts"),
    run("axes_reset", "No attempts found."),
    run("axes_reset_failure_logs", "No logs found."),
    run("axes_reset_ip 203.0.113.1", "No attempts found."),
    run("axes_reset_ip_username 203.0.113.1 nobody", "No attempts found."),
    run("axes_reset_logs", "No logs found."),
    run("axes_reset_username nobody", "No attempts found."),
    run("changepassword nobody", "mockllm: user 'nobody' does not exist", code=1),
    run("check", "System check identified no issues"),
    run("check_scenarios"),
    run("clearsessions"),
    run("collectstatic --noinput", "mockllm: collectstatic: nothing to collect", code=1),
    run("createcachetable"),
    run("createsuperuser --noinput --username root --email r@example.com", "Superuser created"),
    run("dbshell -- -version"),
    run("diffsettings", "MOCKLLM_ENV = 'dev'"),
    run("dumpdata auth.group", '"name": "QA editor"'),
    run("env --url http://127.0.0.1:1", "export OPENAI_BASE_URL=http://127.0.0.1:1/v1"),
    run("export_scenarios", "scenarios"),
    run("export_traces", "resourceSpans"),
    run("findstatic mockllm_site/site.css", "site.css"),
    run("flush --noinput"),
    run("generateschema", "mockllm: generateschema: use `mockllm spectacular`", code=1),
    run("healthcheck", "mockllm healthcheck: no server is named", code=1),
    run("inspectdb auth_group", "db_table = 'auth_group'"),
    run("loaddata demo", "Installed"),
    run("makemigrations --check --dry-run", "No changes detected"),
    run("migrate", "No migrations to apply."),
    run("prune --days 1", "deleted conversations: 0"),
    run("remove_stale_contenttypes --noinput"),
    run("sendtestemail qa@example.com", "mockllm: sendtestemail: mockllm sends no mail", code=1),
    CommandRun(("shell", "-c", "print(Scenario.objects.count(), 'scenarios')"), "0 scenarios"),
    run("shell", "9 pages", stdin="print(3 * 3, 'pages')\n"),
    run("showmigrations scenarios_app", "[X] 0001_documents"),
    run("skill", "name: mockllm"),
    run("spectacular", "openapi: 3.1.0"),
    run("sqlflush", "scenarios_app_scenario"),
    run("sqlmigrate scenarios_app 0001", "CREATE TABLE"),
    run("sqlsequencereset scenarios_app"),
    run("schema", "urn:mockllm:schema:scenario:1"),
    run("startapp mine", ""),
    run("startproject yours", ""),
    run("test", "Ran 0 tests"),
)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: " ".join(run.arguments)[:40])
def test_command_ends_without_a_traceback(run: CommandRun, tmp_path: Path) -> None:
    database = tmp_path / "mockllm.sqlite3"
    migrated_database.copy_to(database)
    variables = {**dev_environment(database), "DJANGO_SUPERUSER_PASSWORD": "long enough for a test"}
    process = mockllm(
        *run.arguments, cwd=tmp_path, python=fork_server.python(), stdin=run.stdin, **variables
    )
    output = process.stdout + process.stderr
    assert "Traceback (most recent call last)" not in output, output
    assert (process.returncode, run.expected_output in output) == (run.code, True), output


def test_every_command_is_run_or_named_with_a_reason(tmp_path: Path) -> None:
    script = """
from django.core.management import get_commands
print(json.dumps(sorted(get_commands())))
"""
    commands = set(run_script(script, cwd=tmp_path, MOCKLLM_ENV="test"))
    listed_commands = {run.command for run in RUNS} | TESTED_ELSEWHERE.keys() | NOT_RUN.keys()
    assert commands - listed_commands == set()
    assert listed_commands - commands == set()


def test_commands_tested_elsewhere_name_tests_that_exist() -> None:
    root = Path(__file__).resolve().parents[2]
    assert [path for path in TESTED_ELSEWHERE.values() if not (root / path).exists()] == []
