"""On PostgreSQL the suite runs what uses its database; of the rest SQLite's run has said all."""

import pytest

from tests.engines import ON_POSTGRES


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if ON_POSTGRES:
        config.hook.pytest_deselected(items=[item for item in items if not uses_database(item)])
        items[:] = filter(uses_database, items)


def uses_database(item: pytest.Item) -> bool:
    fixtures = set(getattr(item, "fixturenames", ()))
    return "django_db" in item.keywords or bool(fixtures & {"db", "transactional_db"})
