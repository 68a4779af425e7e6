"""The repository's address in the pages and examples, from `pyproject.toml`."""

import re
import tomllib

from tests.docs.blocks import ROOT, pages

# `uses:` of an action, and addresses of the repository and its image.
_REPOSITORY_NAME = re.compile(
    r"(?P<before>https://github\.com/|ghcr\.io/|\buses: )[\w.-]+/mockllm\b"
)
_OTHERS = ("compose.yaml", "action.yml", ".pre-commit-hooks.yaml", "examples/ci/github-actions.yml")


def repository() -> str:
    """Return `OWNER/mockllm`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address: str = project["urls"]["Repository"]
    return address.removeprefix("https://github.com/")


def files() -> list[str]:
    """Return the files that may name the repository."""
    return [*pages(), *_OTHERS]


def insert_repository(text: str, name: str) -> str:
    """Return the text with this repository in each place; names of images are in lower case."""

    def insert_name(match: re.Match[str]) -> str:
        is_image = match["before"] == "ghcr.io/"
        return match["before"] + (name.lower() if is_image else name)

    return _REPOSITORY_NAME.sub(insert_name, text)


def main() -> None:
    """Write the repository into all files."""
    for name in files():
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        if (new_text := insert_repository(text, repository())) != text:
            path.write_text(new_text, encoding="utf-8")
            print(f"{name}: repository written")
