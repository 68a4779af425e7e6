"""Folders and commands for running blocks: a fresh clone after `make setup`, or an empty folder
with the installed commands, which start warm."""

import os
import shutil
import site
import sys
import sysconfig
import venv
from pathlib import Path

from tests.docs.blocks import ROOT
from tests.support import fork_server

CLONED = (
    *("manage.py", "Makefile", "pyproject.toml", "constraints.txt", "README.md", "LICENSE"),
    *("CHANGELOG.md", "CONTRIBUTING.md"),
    *("mockllm_site", "scenarios_app", "chat_app", "traces_app", "fixtures", "examples"),
)
INSTALLED = Path(sys.executable).parent
_COMMAND = """\
#!{python}
import sys
from mockllm_site.__main__ import main
sys.exit(main())
"""
# pip installs nothing: the suite's own environment has the packages.
_PIP = """\
#!/bin/sh
exec {python} -m pip "$@" --quiet --no-index --no-deps --no-build-isolation
"""
# As pip makes it; the PATH may have another one, without the suite's plugins.
_PYTEST = '#!/bin/sh\nexec {python} -m pytest "$@"\n'
# Forked from a warm process; cold starts are covered by the clone.
_FORKED_COMMANDS = {"python": "", "python3": "", "mockllm": "-P -m mockllm_site"}


def warm_commands(folder: Path) -> Path:
    """Create a bin folder whose Python and `mockllm` start fast."""
    folder.mkdir()
    for name, arguments in _FORKED_COMMANDS.items():
        _script(folder / name, f'#!/bin/sh\nexec {fork_server.python()} {arguments} "$@"\n')
    return folder


def clone(folder: Path) -> Path:
    """Copy the project as a checkout with its `.venv`. Returns the bin folder of a second
    environment, for packages that are installed with pip."""
    for name in CLONED:
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy2(source, target)
    python = _environment(folder / ".venv", folder, folder / "mockllm_site" / "public")
    _script(python.with_name("mockllm"), _COMMAND.format(python=python))
    for stamp in (".installed", ".runtime"):
        (folder / ".venv" / stamp).touch()
    python = _environment(folder.with_name(f"{folder.name}-tests"))
    _script(python.with_name("pip"), _PIP.format(python=python))
    _script(python.with_name("pytest"), _PYTEST.format(python=python))
    return python.parent


def shell_path(*first: Path) -> str:
    """Return the PATH of a shell without an active environment, with these folders first."""
    other_folders = [
        part for part in os.environ["PATH"].split(os.pathsep) if Path(part) != INSTALLED
    ]
    return os.pathsep.join([*map(str, first), *other_folders])


def _environment(folder: Path, *extra_folders: Path) -> Path:
    """Create a Python environment that sees the installed packages and these folders."""
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
    folders = [*map(str, extra_folders), *site.getsitepackages()]
    (packages / "seen.pth").write_text("\n".join(folders) + "\n")
    return python


def _script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
