"""The generated SECRET_KEY: it outlives the process that made it, and is kept from others."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.project import processes

pytestmark = pytest.mark.usefixtures("forked_processes")


def read_key(cwd: Path, **variables: str) -> str:
    key: str = processes.settings(cwd=cwd, variables=variables)["SECRET_KEY"]
    return key


@pytest.mark.parametrize(
    ("database", "name"),
    [
        ("", "mockllm.sqlite3.secret-key"),
        ("sqlite:///other.db", "other.db.secret-key"),
        ("postgres://u:p@127.0.0.1:1/none", "mockllm.secret-key"),
    ],
)
def test_generated_key_is_the_same_after_a_restart(
    tmp_path: Path, database: str, name: str
) -> None:
    keys = {read_key(tmp_path, DATABASE_URL=database) for _ in range(2)}
    (key,) = keys
    (file,) = tmp_path.iterdir()
    assert (file.name, file.read_text().strip(), len(key) >= 50) == (name, key, True)
    assert file.stat().st_mode & 0o777 == 0o600
    assert read_key(tmp_path, SECRET_KEY="of the environment") == "of the environment"


def test_processes_that_start_together_agree_on_the_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        keys = set(pool.map(read_key, [tmp_path] * 8))
    assert len(keys) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["mockllm.sqlite3.secret-key"]


def test_command_that_signs_nothing_leaves_no_file(tmp_path: Path) -> None:
    code = "from mockllm_site.kit import env; env.configure(); import django; django.setup()"
    done = processes.python("-P", "-c", code, cwd=tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (0, [])


@pytest.mark.parametrize("content", ["", "short\n"])
def test_file_without_a_key_is_reported_and_left_alone(tmp_path: Path, content: str) -> None:
    file = tmp_path / "mockllm.sqlite3.secret-key"
    file.write_text(content)
    done = _use_key(tmp_path)
    assert f"SECRET_KEY: not kept in {file} (it holds no key; delete it)" in done
    assert file.read_text() == content


def test_key_that_cannot_be_kept_is_reported(tmp_path: Path) -> None:
    # A folder that is missing refuses root, too.
    done = _use_key(tmp_path, DATABASE_URL=f"sqlite:///{tmp_path}/none/mockllm.sqlite3")
    assert "none/mockllm.sqlite3.secret-key (No such file or directory), so logins end" in done


def test_test_mode_keeps_no_key(tmp_path: Path) -> None:
    keys = {read_key(tmp_path, MOCKLLM_ENV="test") for _ in range(2)}
    assert (len(keys), os.listdir(tmp_path)) == (2, [])


def _use_key(cwd: Path, **variables: str) -> str:
    """Sign twice in a process that logs to standard error; return what it wrote there."""
    code = (
        "from mockllm_site.kit import env; env.configure()\n"
        "import django; django.setup()\n"
        "from django.core import signing\n"
        "assert signing.loads(signing.dumps(1)) == 1\n"
    )
    done = processes.python("-P", "-c", code, cwd=cwd, variables=variables)
    assert done.returncode == 0 and done.stderr.count("SECRET_KEY") == 1, done.stderr
    return done.stderr
