"""The names of the package `mockllm`, the modules that it imports, and variables for SDKs."""

import subprocess
import sys

import mockllm
import pytest

from scenarios_app.testing.variables import sdk_variables, unset_variables

PRINT_MODULES = "import sys\n{}\nprint(*sys.modules)"
# What the fixture `mockllm` imports in the process of the tests.
FIXTURE_MODULES = ("guard", "sessions", "shared.server_pool", "stubs", "variables")


def modules_imported_by(line: str) -> set[str]:
    """Return the modules that a line imports."""
    result = subprocess.run(
        [sys.executable, "-c", PRINT_MODULES.format(line)],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(result.stdout.split())


def test_every_public_name_exists() -> None:
    assert [name for name in mockllm.__all__ if not hasattr(mockllm, name)] == []
    assert dir(mockllm) == mockllm.__all__
    assert mockllm.scenario("s").build()["name"] == "s"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = mockllm.nothing
    with pytest.raises(AttributeError, match="has no attribute '_nothing'"):
        _ = mockllm._nothing


def test_imports_load_no_heavy_package() -> None:
    heavy = {"django", "pydantic", "httpx2", "re2", "rest_framework"}
    assert modules_imported_by("import mockllm") & heavy == set()
    assert modules_imported_by("import pytest, scenarios_app.testing.plugin") & heavy == set()
    assert modules_imported_by("from mockllm import Mockllm") & {"django", "pydantic"} == set()
    assert modules_imported_by("from mockllm import running_server") & {"django"} == set()


def test_imports_of_the_fixture_load_no_wire() -> None:
    imported = modules_imported_by(
        f"import pytest, {', '.join(f'scenarios_app.testing.{name}' for name in FIXTURE_MODULES)}"
    )
    assert "scenarios_app.wire.upstreams" in imported
    assert {name for name in imported if name.endswith(".registry")} == set()


def test_variables_point_at_the_server_and_bypass_proxies() -> None:
    variables = sdk_variables("http://127.0.0.1:1", "k", environment={"NO_PROXY": "a.example"})
    assert variables["OPENAI_BASE_URL"] == "http://127.0.0.1:1/v1"
    assert variables["NO_PROXY"] == "a.example,127.0.0.1,localhost"
    assert variables["no_proxy"] == "127.0.0.1,localhost"
    assert {value for name, value in variables.items() if name.endswith("_KEY")} == {"k"}
    assert set(unset_variables()) & set(variables) == set()
    assert not any(name.startswith("DJANGO") for name in variables)
