"""The package as a user installs it: its contents, and that no folder shadows it."""

import re
import sys
from pathlib import Path

import pytest

from mockllm_site.pages.docs import OTHER_PAGES
from tests.project import processes
from tests.project.conftest import CHECKOUT

PICTURE = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")
PUBLIC = CHECKOUT / "mockllm_site" / "public" / "mockllm"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Return a working directory with packages of the same names as the product's."""
    for name in ("mockllm_site", "scenarios_app", "chat_app", "traces_app", "fixtures"):
        package = tmp_path / name
        package.mkdir()
        (package / "__init__.py").write_text(f"raise SystemExit('the wrong {name}')\n")
    return tmp_path


def test_wheel_holds_the_fixtures_and_example_scenarios(wheel: Path) -> None:
    for shipped, source in (
        ("scenarios_app/fixtures", "fixtures"),
        ("mockllm_site/data/scenarios", "examples/scenarios"),
    ):
        inside = {file.name for file in (wheel / shipped).iterdir()}
        assert inside == {file.name for file in (CHECKOUT / source).iterdir()}


def test_wheel_holds_every_docs_page_and_its_pictures(wheel: Path, tmp_path: Path) -> None:
    code = """
import os, re
os.environ["DJANGO_SETTINGS_MODULE"] = "mockllm_site.settings_test"
import django; django.setup()
from mockllm_site.pages import docs
html = "".join(docs.render_page(name).html for name in docs.page_files())
print(len(docs.page_files()))
sources = {source.removeprefix("/docs/") for source in re.findall('<img src="([^"]+)"', html)}
print(sources - set(docs.picture_files()), len(sources))
"""
    done = processes.python("-P", "-c", code, cwd=tmp_path, variables={"PYTHONPATH": str(wheel)})
    pages = len(list((CHECKOUT / "docs").rglob("*.md"))) + len(OTHER_PAGES)
    pictures = {Path(target).name for target in PICTURE.findall(all_pages())}
    assert done.stdout.splitlines() == [str(pages), f"set() {len(pictures)}"], done.stderr
    inside = {file.name for file in (wheel / "mockllm_site/data/docs/screenshots").iterdir()}
    assert inside <= pictures


def all_pages() -> str:
    files = [*(CHECKOUT / "docs").rglob("*.md"), *(CHECKOUT / name for name in OTHER_PAGES)]
    return "".join(file.read_text() for file in files)


def test_wheel_has_only_our_packages_at_the_top(wheel: Path) -> None:
    top = {item.name for item in wheel.iterdir() if not item.name.endswith(".dist-info")}
    assert top == {"mockllm", "mockllm_site", "scenarios_app", "chat_app", "traces_app"}


def test_modules_of_the_wheel_are_those_of_the_checkout(wheel: Path) -> None:
    for package in ("mockllm_site", "scenarios_app", "chat_app", "traces_app"):
        inside = {str(file.relative_to(wheel)) for file in (wheel / package).rglob("*.py")}
        source = {str(file.relative_to(CHECKOUT)) for file in (CHECKOUT / package).rglob("*.py")}
        assert inside == {name for name in source if not name.startswith("mockllm_site/public/")}
    assert (wheel / "mockllm/__init__.py").read_text() == (PUBLIC / "__init__.py").read_text()


def test_it_has_a_plugin_of_pytests_and_what_users_import(wheel: Path, tmp_path: Path) -> None:
    (tmp_path / "chat_app.py").write_text("raise SystemExit('the wrong chat_app')\n")
    (tmp_path / "test_it.py").write_text("def test_it(mockllm):\n    assert mockllm.base_url\n")
    (info,) = wheel.glob("mockllm_server-*.dist-info")
    assert (
        "[pytest11]\nmockllm = scenarios_app.testing.plugin"
        in (info / "entry_points.txt").read_text()
    )
    variables = {"PYTHONPATH": str(wheel), "DJANGO_SETTINGS_MODULE": "of.somebody.else"}
    code = "import mockllm; print(mockllm.__file__, mockllm.scenario('s'))"
    done = processes.python("-P", "-c", code, cwd=tmp_path, variables=variables)
    assert done.stdout.startswith(f"{wheel / 'mockllm' / '__init__.py'} ScenarioBuilder(")
    options = ("-p", "no:django", "-p", "no:cacheprovider", "-q")
    done = processes.python("-m", "pytest", *options, cwd=tmp_path, variables=variables)
    assert "1 passed" in done.stdout, done.stdout


def test_built_packages_pass_twine_check(tmp_path: Path) -> None:
    build = (sys.executable, "-m", "hatchling", "build", "-d", tmp_path)
    assert processes.run(*build, cwd=CHECKOUT).returncode == 0
    built = [*tmp_path.iterdir()]
    assert {file.suffix for file in built} == {".gz", ".whl"}
    done = processes.run(sys.executable, "-m", "twine", "check", "--strict", *built, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_packages_of_the_wheel_are_marked_as_typed(wheel: Path) -> None:
    for package in ("mockllm_site", "scenarios_app", "chat_app", "traces_app"):
        assert (wheel / package / "py.typed").is_file()


def test_wheel_runs_and_finds_its_data_inside_itself(wheel: Path, tmp_path: Path) -> None:
    variables = {"PYTHONPATH": str(wheel)}
    done = processes.python("-P", "-m", "mockllm_site", "check", cwd=tmp_path, variables=variables)
    assert (done.returncode, done.stdout) == (
        0,
        "System check identified no issues (0 silenced).\n",
    )
    code = "from mockllm_site import paths; print(paths.FIXTURES); print(paths.SCENARIOS)"
    done = processes.python("-P", "-c", code, cwd=tmp_path, variables=variables)
    assert done.stdout.split() == [
        str(wheel / "scenarios_app" / "fixtures"),
        str(wheel / "mockllm_site" / "data" / "scenarios"),
    ]


@pytest.mark.parametrize(
    "entry", [(processes.COMMAND,), (sys.executable, "-P", "-m", "mockllm_site")]
)
def test_a_folder_of_the_user_does_not_shadow_ours(
    hostile: Path, entry: tuple[str | Path, ...]
) -> None:
    done = processes.run(*entry, "check", cwd=hostile)
    assert (done.returncode, done.stderr) == (0, "")


def test_hostile_folder_is_imported_without_the_safe_path_flag(hostile: Path) -> None:
    done = processes.python("-m", "mockllm_site", "check", cwd=hostile)
    assert (done.returncode, done.stderr) == (1, "the wrong mockllm_site\n")
