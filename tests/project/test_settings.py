"""Settings in a new process: modes, `.env`, and one clear line for each error."""

from pathlib import Path

import pytest

from mockllm_site.kit import env
from mockllm_site.kit.setting_kinds import SettingError
from tests.project import processes

pytestmark = pytest.mark.usefixtures("forked_processes")

# As random as prod requires.
SECRET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP"
CHECKOUT = Path(__file__).resolve().parents[2]


def test_dev_keeps_its_database_in_the_working_directory(tmp_path: Path) -> None:
    chosen = processes.settings(cwd=tmp_path)
    assert chosen["MOCKLLM_ENV"] == "dev"
    assert chosen["DATABASES"]["default"]["NAME"] == str(tmp_path / "mockllm.sqlite3")
    assert (chosen["MOCKLLM_PORT"], chosen["MOCKLLM_CLOCK"]) == (8000, None)


def test_file_database_is_opened_with_safe_pragmas(tmp_path: Path) -> None:
    code = (
        "from mockllm_site.kit import env; env.configure()\n"
        "from django.db import connection as c\n"
        "c.create_file()\n"
        "with c.cursor() as q:\n"
        "    for name in ('journal_mode', 'synchronous', 'busy_timeout',\n"
        "                 'page_size', 'secure_delete'):\n"
        "        print(q.execute(f'PRAGMA {name}').fetchone()[0])\n"
    )
    done = processes.python("-P", "-c", code, cwd=tmp_path)
    assert done.stdout.split() == ["wal", "1", "20000", "16384", "2"], done.stderr


def test_test_mode_ignores_the_database_and_redis(tmp_path: Path) -> None:
    chosen = processes.settings(
        cwd=tmp_path,
        variables={"MOCKLLM_ENV": "TEST", "DATABASE_URL": "nonsense", "REDIS_URL": "nonsense"},
    )
    assert chosen["MOCKLLM_ENV"] == "test"
    assert chosen["DATABASES"]["default"]["NAME"] == "file:/mockllm?vfs=memdb"
    assert "InMemory" in chosen["CHANNEL_LAYERS"]["default"]["BACKEND"]
    assert (chosen["MOCKLLM_PORT"], chosen["MOCKLLM_CLOCK"]) == (5099, "2025-01-01T00:00:00Z")
    assert not chosen["SECURE_SSL_REDIRECT"]


def test_an_explicit_settings_module_wins_over_the_mode(tmp_path: Path) -> None:
    dev = {"MOCKLLM_ENV": "test", "DJANGO_SETTINGS_MODULE": "mockllm_site.settings"}
    assert processes.settings(cwd=tmp_path, variables=dev)["MOCKLLM_ENV"] == "dev"
    test = {"MOCKLLM_ENV": "prod", "DJANGO_SETTINGS_MODULE": "mockllm_site.settings_test"}
    assert processes.settings(cwd=tmp_path, variables=test)["MOCKLLM_ENV"] == "test"


def test_prod_is_closed(tmp_path: Path) -> None:
    chosen = processes.settings(
        cwd=tmp_path,
        variables={
            "MOCKLLM_ENV": "prod",
            "SECRET_KEY": SECRET,
            "DEBUG": "true",
            "ALLOWED_HOSTS": "mock.example,.qa.example",
        },
    )
    assert chosen["DEBUG"] is False
    assert chosen["SESSION_COOKIE_SECURE"] is chosen["CSRF_COOKIE_SECURE"] is True
    assert chosen["MOCKLLM_CORS_ORIGINS"] == []
    assert chosen["CSRF_TRUSTED_ORIGINS"] == ["https://mock.example", "https://*.qa.example"]


def test_dotenv_is_read_and_the_environment_wins(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MOCKLLM_ENV=test\nMOCKLLM_MODELS=a,b\nDRAIN=1\nDEBUG=true\n")
    report = processes.inspect_process(cwd=tmp_path, variables={"MOCKLLM_MODELS": "c"})
    assert report["settings"]["MOCKLLM_ENV"] == "test"
    assert report["settings"]["DEBUG"] is True
    assert report["settings"]["MOCKLLM_MODELS"] == ["c"]
    assert "DRAIN" not in report["environ"]


def test_copy_of_the_example_file_changes_no_setting(tmp_path: Path) -> None:
    plain = processes.settings(cwd=tmp_path)
    (tmp_path / ".env").write_text((CHECKOUT / ".env.example").read_text())
    copied = processes.settings(cwd=tmp_path)
    assert copied == plain


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        ({"MOCKLLM_ENV": "qa"}, "mockllm: MOCKLLM_ENV: expected dev, test or prod, got 'qa'"),
        (
            {"MOCKLLM_ENV": "prod"},
            f"mockllm: SECRET_KEY: required when MOCKLLM_ENV is prod; {env.NEW_KEY}",
        ),
        *(
            (
                {"MOCKLLM_ENV": "prod", "SECRET_KEY": weak},
                f"mockllm: SECRET_KEY: too weak, prod requires 50 random characters; {env.NEW_KEY}",
            )
            for weak in ("s", SECRET[:49], "x" * 60, f"django-insecure-{SECRET}")
        ),
        *(
            (
                {"MOCKLLM_ENV": "prod", "SECRET_KEY": SECRET, name: "x" * 15},
                f"mockllm: {name}: shorter than 16 characters, which prod requires",
            )
            for name in ("MOCKLLM_CONTROL_TOKEN", "MOCKLLM_METRICS_TOKEN", "CHAT_TOKEN")
        ),
        ({"DEBUG": "maybe"}, "mockllm: DEBUG: expected true or false, got 'maybe'"),
        (
            {"MOCKLLM_MAX_STREAMS": "many"},
            "mockllm: MOCKLLM_MAX_STREAMS: expected a whole number from 1 up, got 'many'",
        ),
        (
            {"DJANGO_SETTINGS_MODULE": "no.such.module"},
            "mockllm: DJANGO_SETTINGS_MODULE: no module 'no'",
        ),
    ],
)
@pytest.mark.parametrize("entry", [("-m", "mockllm_site", "check"), ("-m", "mockllm_site.asgi")])
def test_a_wrong_setting_is_one_line_and_exit_code_1(
    tmp_path: Path, entry: tuple[str, ...], variables: dict[str, str], line: str
) -> None:
    done = processes.python("-P", *entry, cwd=tmp_path, variables=variables)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{line}\n")


def test_a_dotenv_that_is_not_text_is_one_line(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"DEBUG=\xff\xfe")
    done = processes.python("-P", "-m", "mockllm_site", "check", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("mockllm: .env: cannot be read")
    assert len(done.stderr.splitlines()) == 1


def test_dotenv_that_cannot_be_opened_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", ".env")

    (tmp_path / ".env").write_text("MOCKLLM_ENV=prod\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr("io.open", refuse)
    with pytest.raises(SettingError, match=r"\.env: cannot be read .*Permission denied"):
        env.variables.__wrapped__()


def test_only_runserver_brings_in_daphne(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['mockllm', *sys.argv[1:]]\n"
        "from mockllm_site import settings; print('daphne' in settings.INSTALLED_APPS)"
    )
    for command, there in (("runserver", "True"), ("check", "False")):
        done = processes.python("-P", "-c", code, command, cwd=tmp_path)
        assert done.stdout.strip() == there, done.stderr


def test_logs_go_to_standard_error(tmp_path: Path) -> None:
    code = (
        "from mockllm_site.kit import env; env.configure()\n"
        "import django, logging; django.setup()\n"
        "for name in ('scenarios_app', 'django.request', 'django.server', 'uvicorn.error'):\n"
        "    logging.getLogger(name).warning('said by %s', name)\n"
    )
    done = processes.python("-P", "-c", code, cwd=tmp_path)
    assert done.stdout == ""
    assert done.stderr.count("said by") == 4


def test_django_finds_nothing_wrong_with_a_deployment(tmp_path: Path) -> None:
    done = processes.python(
        "-P",
        "-m",
        "mockllm_site",
        "check",
        "--deploy",
        "--fail-level=DEBUG",
        cwd=tmp_path,
        variables={"MOCKLLM_ENV": "prod", "SECRET_KEY": SECRET},
    )
    assert done.returncode == 0, done.stderr
