"""Rules of the repository that no linter checks: sizes, imports, documentation, tracked files."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.project_files import source_files

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("mockllm_site", "scenarios_app", "chat_app", "traces_app")
REQUIRED = {
    *PACKAGES,
    *("manage.py", "pyproject.toml", "fixtures", "tests"),
    *("Makefile", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"),
    *("constraints.txt", "docs", "examples", ".env.example", ".gitignore", ".ci"),
    ".pre-commit-config.yaml",
}
ALLOWED = REQUIRED | {
    "AGENTS.md",
    "Dockerfile",
    "compose.yaml",
    ".dockerignore",
    ".github",
    "tools",
    # Files that other projects use by the repository's name: the GitHub Action, pre-commit hooks.
    "action.yml",
    ".pre-commit-hooks.yaml",
}
# Packages that pure parts may import besides the standard library and themselves.
PURE = {
    "scenarios_app/engine": {"re2", "ahocorasick_rs", "msgspec", "scenarios_app.engine"},
    "scenarios_app/wire": {
        *("msgspec", "python_multipart"),
        *("scenarios_app.engine", "scenarios_app.wire"),
    },
}
# Packages that the engine may import too where it reads untrusted documents.
DOCUMENT = {"pydantic", "pydantic_core", "yaml"}
READING = {"shapes", "conditions", "document"}
# The files of `wire/` that belong to no provider; the registry alone knows the providers.
SHARED_WIRE = {
    *("base", "body", "decoded", "embedding", "errors", "logprobs", "paths", "resources"),
    *("samples", "sockets", "upstream"),
}


MAX_FOLDER_FILES, MAX_FOLDER_TESTS = 20, 30
# Nouns that end like participles.
NOUNS = {"embedding", "ranking", "reasoning", "recording"}


def tracked() -> list[str]:
    return source_files(ROOT)


def modules() -> list[str]:
    return [name for name in tracked() if name.endswith(".py") and "/migrations/" not in name]


def imports(module: Path) -> Iterator[str]:
    """Return the dotted names of a module's imports; `from a import b` gives `a.b`."""
    for node in ast.walk(ast.parse(module.read_text())):
        match node:
            case ast.Import(names=aliases):
                yield from (alias.name for alias in aliases)
            case ast.ImportFrom(module=str(name), names=aliases, level=0):
                yield from (f"{name}.{alias.name}" for alias in aliases)
            case ast.ImportFrom():
                yield "a relative import"


def test_no_file_is_long() -> None:
    lines = {name: len((ROOT / name).read_text().splitlines()) for name in modules()}
    assert {name: count for name, count in lines.items() if count > 450} == {}
    long = sorted(name for name, count in lines.items() if count > 300)
    assert len(long) <= 0.05 * len(lines), long


def product() -> list[str]:
    return [name for name in modules() if name.startswith(PACKAGES) or name == "manage.py"]


def test_no_folder_of_the_product_is_full() -> None:
    folders = Counter(name.rpartition("/")[0] for name in product())
    assert {folder for folder, count in folders.items() if count > MAX_FOLDER_FILES} == set()


def test_the_folders_of_tests_are_not_full() -> None:
    tests = [name for name in modules() if re.fullmatch(r"tests/.*test_\w+\.py", name)]
    folders = Counter(name.rpartition("/")[0] for name in tests)
    assert {folder for folder, count in folders.items() if count > MAX_FOLDER_TESTS} == set()


def test_no_module_is_a_participle() -> None:
    names = {name.rpartition("/")[2].removesuffix(".py") for name in product()}
    assert {name for name in names if name.endswith("ing")} <= NOUNS


def test_list_of_slow_tests_names_existing_paths() -> None:
    paths = (ROOT / ".ci" / "slow").read_text().split()
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_module_has_a_docstring() -> None:
    assert [n for n in modules() if not ast.get_docstring(ast.parse((ROOT / n).read_text()))] == []


def test_top_level_has_only_the_agreed_files() -> None:
    top = {name.split("/")[0] for name in tracked()}
    assert top - ALLOWED == set()
    assert REQUIRED - top == set()


def test_import_rules_hold() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    process = subprocess.run(
        [command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stdout + process.stderr


@pytest.mark.parametrize("folder", PURE)
def test_pure_parts_import_only_allowed_packages(folder: str) -> None:
    forbidden_imports = {
        f"{module.relative_to(ROOT)} imports {name}"
        for module in (ROOT / folder).rglob("*.py")
        for name in imports(module)
        if name.split(".")[0] not in sys.stdlib_module_names
        and not any(name == allowed or name.startswith(f"{allowed}.") for allowed in PURE[folder])
        and not (name.split(".")[0] in DOCUMENT and module.parent.name in READING)
    }
    assert forbidden_imports == set()


def test_a_wire_imports_no_other_provider() -> None:
    # A provider's folder may import only itself and the shared modules.
    wire = ROOT / "scenarios_app" / "wire"
    forbidden_imports = {
        f"{module.relative_to(wire)} imports {name}"
        for folder in wire.iterdir()
        if folder.is_dir()
        for module in folder.rglob("*.py")
        for name in imports(module)
        if name.startswith("scenarios_app.wire.")
        and name.split(".")[2] not in SHARED_WIRE | {folder.name}
    }
    assert forbidden_imports == set()


def test_constraints_are_names_versions_and_markers() -> None:
    pin = re.compile(r"[a-z0-9][a-z0-9._-]*==[0-9][\w.!+]*( ; [\w .'\"<>=!()]+)?")
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not pin.fullmatch(line)] == []


def test_no_tracked_file_names_a_machine_or_a_registry() -> None:
    # The brackets keep this file from finding itself.
    foreign = re.compile(
        r"(?<![\w.])/(?:[w]ork|[f]arm|[r]oot|[h]ome/\w+|[o]pt/pypi)/"
        r"|[p]ypi\.org|[p]ythonhosted|[r]egistry\.npmjs|[d]eb\.debian"
    )
    matches_by_file = {}
    for name in tracked():
        try:
            text = (ROOT / name).read_text()
        except UnicodeDecodeError:
            continue
        if match := foreign.search(text):
            matches_by_file[name] = match[0]
    assert matches_by_file == {}


def test_commit_hooks_run_the_same_commands_as_lint() -> None:
    def strip_tool_prefix(command: str) -> str:
        return re.sub(r"\.venv/bin/| --force-exclude| \.$", "", command.strip())

    recipe = re.search(r"^lint: .*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    hooks = re.findall(r"entry: (.+)", (ROOT / ".pre-commit-config.yaml").read_text())
    assert recipe is not None
    linted = recipe[1].replace("$(PY)", "python").replace("$(VENV)/bin/", "").splitlines()
    assert {strip_tool_prefix(line) for line in linted} == {
        strip_tool_prefix(line) for line in hooks
    }
    assert 'python -c "import mockllm_site.asgi"' in {strip_tool_prefix(line) for line in hooks}
