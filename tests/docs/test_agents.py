"""The skill, `AGENTS.md` and the site's files for language models agree with the project."""

import re
from pathlib import Path

import pytest
import yaml
from django.core.management import CommandError, call_command

from mockllm_site.management.commands.skill import FOLDERS
from tests.docs import llms
from tests.docs.blocks import ROOT, pages


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def install(agent: str, **options: bool) -> str:
    call_command("skill", install=agent, **options)
    return (Path(FOLDERS[agent]) / "mockllm" / "SKILL.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("agent", FOLDERS)
def test_skill_is_written_where_the_agent_reads_it(agent: str, project: Path) -> None:
    text = install(agent)
    _, head, body = text.split("---\n", 2)
    fields = yaml.safe_load(head)
    assert fields["name"] == "mockllm" and 40 < len(fields["description"]) < 1_024
    assert body.strip().startswith((ROOT / "docs/skill.md").read_text(encoding="utf-8").strip())
    assert [path.parent.name for path in project.rglob("SKILL.md")] == ["mockllm"]


def test_skill_is_printed_without_an_agent(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("skill")
    assert capsys.readouterr().out == install("claude")


def test_edited_skill_is_replaced_by_force_only() -> None:
    file = Path(FOLDERS["claude"]) / "mockllm" / "SKILL.md"
    text = install("claude")
    assert install("claude") == text
    file.write_text(text.replace("pytest", "unittest"), encoding="utf-8")
    with pytest.raises(CommandError, match=r"SKILL\.md: this file was edited; --force replaces it"):
        install("claude")
    assert "unittest" in file.read_text(encoding="utf-8")
    assert install("claude", force=True) == text


def test_skill_of_another_version_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "mockllm_site.management.commands.skill"
    with monkeypatch.context() as older:
        older.setattr(f"{module}.HEAD", "---\nname: mockllm\ndescription: old\n---\n")
        before = install("codex")
    assert install("codex") != before


def test_agents_file_names_targets_and_pages_that_exist() -> None:
    text = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
    targets = re.findall(r"`make ([\w-]+)`", text)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets and all(re.search(rf"^{name}:", makefile, re.MULTILINE) for name in targets)
    linked = re.findall(r"\]\(([^)]+)\)", text)
    assert linked and all((ROOT / path).is_file() for path in linked)


def test_llms_files_have_every_page_of_the_site() -> None:
    index, full = llms.index_text(), llms.full_text()
    for page in pages():
        name = page.removeprefix("docs/")
        if (
            page.startswith("docs/")
            and not name.startswith("decisions/")
            and name not in llms.EXCLUDED_PAGES
        ):
            html = f"({name.removesuffix('.md')}.html)"
            assert index.count(html) == 1, page
            assert (ROOT / page).read_text(encoding="utf-8").strip() in full, page
    assert index.startswith("# mockllm\n\n> A test server that answers like OpenAI")
