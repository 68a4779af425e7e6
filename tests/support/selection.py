"""Deselects tests: on PostgreSQL those without a database, which the SQLite run covers; with
`--skip-covered` those that `make coverage` runs."""

from pathlib import Path

import pytest

from tests.support.database_engine import ON_POSTGRES

TESTS = Path(__file__).parents[1]
PURE = (TESTS / "engine", TESTS / "wire")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--skip-covered", action="store_true", help="leave out what `make coverage` runs"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `--skip-covered`, do not import modules that have no random tests."""
    if not config.getoption("--skip-covered") or collection_path.suffix != ".py":
        return None
    is_pure = any(folder in collection_path.parents for folder in PURE)
    return True if is_pure and b"hypothesis" not in collection_path.read_bytes() else None


# Runs after Hypothesis's hook, which marks its tests.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if ON_POSTGRES:
        select(config, items, [item for item in items if uses_database(item)])
    if config.getoption("--skip-covered"):
        select(config, items, [item for item in items if not is_covered(item)])


def select(config: pytest.Config, items: list[pytest.Item], selected: list[pytest.Item]) -> None:
    chosen_set = set(selected)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen_set])
    items[:] = selected


def uses_database(item: pytest.Item) -> bool:
    fixtures = set(getattr(item, "fixturenames", ()))
    return "django_db" in item.keywords or bool(fixtures & {"db", "transactional_db"})


def is_covered(item: pytest.Item) -> bool:
    """True if `make coverage` runs this test: it tests a pure part without random examples."""
    pure = any(folder in item.path.parents for folder in PURE)
    return pure and item.get_closest_marker("hypothesis") is None
