"""The documentation site: docs/ with the pages at the project's root, built with MkDocs.

The builder reads one folder, so all pages are copied into one first, and the links between them
are rewritten.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from posixpath import normpath, relpath
from tempfile import TemporaryDirectory

from tests.docs.blocks import ROOT

BUILD_FOLDER = ROOT / "build" / "docs"
CONFIGURATION = Path(__file__).with_name("site.yml")
# Pages of the site by their path in the project. A README would become a folder's index.
PAGES = {
    "README.md": "overview.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
_LINK = re.compile(r"\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")


class SiteBuildError(Exception):
    """The site cannot be built; the message has the reason."""


def main() -> None:
    """Build the site in `build/docs`."""
    try:
        build(BUILD_FOLDER)
    except SiteBuildError as error:
        sys.exit(f"the site is not built: {error}")
    print(f"built: {BUILD_FOLDER.relative_to(ROOT)}/index.html")


def build(target: Path, *, source: Path = ROOT) -> None:
    """Build the site of the project at `source` into a folder, replacing its contents. Raises
    SiteBuildError if a link is broken or a page is missing from the navigation."""
    with TemporaryDirectory() as folder:
        project = Path(folder)
        lay_out(project / "docs", source=source)
        shutil.copy(CONFIGURATION, project / "mkdocs.yml")
        command = [sys.executable, "-m", "mkdocs", "build"]
        # Silence the theme's announcement of its successor.
        environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
        process = subprocess.run(
            command, cwd=project, env=environment, capture_output=True, text=True
        )
        if process.returncode:
            raise SiteBuildError(f"{process.stdout}{process.stderr}")
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(project / "site", target)


def lay_out(folder: Path, *, source: Path) -> None:
    """Copy the pages and pictures of a project into a folder, with rewritten links."""
    shutil.copytree(source / "docs", folder)
    for name, page in PAGES.items():
        shutil.copy(source / name, folder / page)
    roots = {page: name for name, page in PAGES.items()}
    for path in folder.rglob("*.md"):
        page = path.relative_to(folder).as_posix()
        text = path.read_text(encoding="utf-8")
        path.write_text(
            rewrite_links(text, source=roots.get(page, f"docs/{page}"), page=page), encoding="utf-8"
        )


def rewrite_links(text: str, *, source: str, page: str) -> str:
    """Return a file's text with the links of its page on the site. Links to other files are left
    unchanged, so that the builder reports them."""

    def rewrite_link(match: re.Match[str]) -> str:
        target = normpath(f"{Path(source).parent.as_posix()}/{match[1]}")
        page_path = PAGES.get(target) or target.removeprefix("docs/")
        if target not in PAGES and not target.startswith("docs/"):
            return match[0]
        return f"]({relpath(page_path, Path(page).parent.as_posix())}{match[2] or ''})"

    return _LINK.sub(rewrite_link, text)
