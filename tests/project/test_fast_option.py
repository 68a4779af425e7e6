"""`serve` uses the layer that exists for speed, unless an option or a setting takes it off."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from mockllm_site.management.commands import serve
from tests.fresh.processes import run_script

IMPORTED = """
import json, sys
import mockllm_site.asgi, mockllm_site.serve.connection, mockllm_site.serve.server
print(json.dumps([name for name in sys.modules if name.startswith("scenarios_app.serving.fast")]))
"""


@pytest.mark.parametrize(
    ("arguments", "setting", "expected"),
    [([], True, True), (["--no-fast"], True, False), ([], False, False)],
)
def test_layer_is_used_unless_it_is_off(
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    arguments: list[str],
    setting: bool,
    expected: bool,
) -> None:
    settings.MOCKLLM_FAST = setting
    runs: list[bool] = []

    def run(*_: Any, fast: bool, **__: Any) -> None:
        runs.append(fast)

    monkeypatch.setattr(serve, "_check_and_load", lambda *_, **__: None)
    monkeypatch.setattr(serve.lease, "release", lambda: None)
    monkeypatch.setattr(serve.server, "Stop", object)
    monkeypatch.setattr(serve.server, "store_bound_address", lambda bound: None)
    monkeypatch.setattr(serve.server, "run", run)
    call_command("serve", "--port", "0", *arguments)
    assert runs == [expected]


def test_server_without_the_layer_does_not_import_it(tmp_path: Path) -> None:
    interface = ["scenarios_app.serving.fast", "scenarios_app.serving.fast.connection"]
    assert sorted(run_script(IMPORTED, cwd=tmp_path)) == interface
