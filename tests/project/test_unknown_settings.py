"""Environment variables that no setting reads get a warning of one line."""

from collections import ChainMap
from pathlib import Path

import pytest

from mockllm_site.kit import env
from tests.project import processes


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "MOCKLLM_SCENARIO",
            ["MOCKLLM_SCENARIO: no such setting, did you mean MOCKLLM_SCENARIOS?"],
        ),
        (
            "MOCKLLM_CONTROLTOKEN",
            ["MOCKLLM_CONTROLTOKEN: no such setting, did you mean MOCKLLM_CONTROL_TOKEN?"],
        ),
        (
            "MOCKLLM_DATABASE_URL",
            ["MOCKLLM_DATABASE_URL: no such setting, did you mean DATABASE_URL?"],
        ),
        ("MOCKLLM_QQQ", ["MOCKLLM_QQQ: no such setting, ignored"]),
        ("MOCKLLM_SCENARIOS", []),
        ("MOCKLLM_ENV", []),
        ("MOCKLLM_URL", []),
        ("CHAT_TOKENS", []),
        ("OPENAI_API_KEY", []),
        ("OTHER_MOCKLLM_SCENARIO", []),
    ],
)
def test_unknown_variable_is_reported_with_the_nearest_setting(
    monkeypatch: pytest.MonkeyPatch, name: str, lines: list[str]
) -> None:
    monkeypatch.setattr(env, "variables", lambda: ChainMap({name: "x"}))
    assert list(env.unknown_setting_warnings()) == lines


def test_variables_are_not_checked_under_foreign_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(env.sys.modules, "mockllm_site.settings")
    monkeypatch.setattr(env, "variables", lambda: ChainMap({"MOCKLLM_SCENARIO": "x"}))
    assert list(env.unknown_setting_warnings()) == []


def test_unknown_variable_is_reported_once_per_process(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MOCKLLM_MODEL=a\n")
    code = "from mockllm_site.kit import env; env.configure(); env.configure(); print('on')"
    done = processes.python("-P", "-c", code, cwd=tmp_path, variables={"MOCKLLM_PORTS": "1"})
    assert (done.returncode, done.stdout) == (0, "on\n")
    assert done.stderr.splitlines() == [
        "mockllm: MOCKLLM_MODEL: no such setting, did you mean MOCKLLM_MODELS?",
        *(line for line in done.stderr.splitlines() if "MOCKLLM_PORTS: no such setting" in line),
    ]
    assert len(done.stderr.splitlines()) == 2
