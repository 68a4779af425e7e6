"""The repository's address in the pages and examples, from `pyproject.toml`."""

import re
import tomllib

from tests.docs.blocks import ROOT, pages

# `uses:` of an action, and addresses of the repository and its image.
_NAMED = re.compile(r"(?P<before>https://github\.com/|ghcr\.io/|\buses: )[\w.-]+/mockllm\b")
_OTHERS = ("compose.yaml", "action.yml", ".pre-commit-hooks.yaml", "examples/ci/github-actions.yml")


def repository() -> str:
    """Return `OWNER/mockllm`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address: str = project["urls"]["Repository"]
    return address.removeprefix("https://github.com/")


def files() -> list[str]:
    """Return the files that may name the repository."""
    return [*pages(), *_OTHERS]


def with_repository(text: str, name: str) -> str:
    """Return the text with this repository in each place; names of images are in lower case."""

    def named(found: re.Match[str]) -> str:
        is_image = found["before"] == "ghcr.io/"
        return found["before"] + (name.lower() if is_image else name)

    return _NAMED.sub(named, text)


def main() -> None:
    """Write the repository into all files."""
    for name in files():
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        if (written := with_repository(text, repository())) != text:
            path.write_text(written, encoding="utf-8")
            print(f"{name}: repository written")
