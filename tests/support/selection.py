"""What of the suite is left out: on PostgreSQL what does not use its database, since of the rest
SQLite's run has said all; with `--but-covered` what `make coverage` runs."""

from pathlib import Path

import pytest

from tests.support.database_engine import ON_POSTGRES

TESTS = Path(__file__).parents[1]
PURE = (TESTS / "engine", TESTS / "wire")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--but-covered", action="store_true", help="leave out what `make coverage` runs"
    )


# After Hypothesis, which marks its tests then.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if ON_POSTGRES:
        keep(config, items, [item for item in items if uses_database(item)])
    if config.getoption("--but-covered"):
        keep(config, items, [item for item in items if not is_covered(item)])


def keep(config: pytest.Config, items: list[pytest.Item], kept: list[pytest.Item]) -> None:
    left = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in left])
    items[:] = kept


def uses_database(item: pytest.Item) -> bool:
    fixtures = set(getattr(item, "fixturenames", ()))
    return "django_db" in item.keywords or bool(fixtures & {"db", "transactional_db"})


def is_covered(item: pytest.Item) -> bool:
    """Whether it is a test of the pure parts that is the same each time."""
    pure = any(folder in item.path.parents for folder in PURE)
    return pure and item.get_closest_marker("hypothesis") is None
