"""Scenarios of a session, laid over those of the catalog."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from scenarios_app import catalog as catalog_module
from scenarios_app.catalog import Catalog, catalog
from scenarios_app.engine.canonical import Json
from tests.state.catalogs import catalog_names, create_scenario

pytestmark = pytest.mark.django_db(transaction=True)


def session_document(name: str, **fields: Any) -> dict[str, Json]:
    return {"name": name, "steps": [{"produce": {"text": "Mine."}}], **fields}


def test_a_session_s_scenarios_hide_the_common_ones_of_their_names(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    for name in "ab":
        create_scenario(name)
    catalog_names()
    session_documents = {"b": session_document("b"), "c": session_document("c")}
    with django_assert_num_queries(0):
        index = catalog.index_for(session_documents, 1)
    assert set(index.by_name) == {"a", "b", "c"}
    assert index.by_name["a"] is catalog.index().by_name["a"]
    assert index.by_name["b"] is not catalog.index().by_name["b"]


def test_index_of_a_session_is_built_once_and_follows_the_catalog() -> None:
    create_scenario("a")
    session_documents = {"c": session_document("c")}
    index = catalog.index_for(session_documents, 1)
    assert catalog.index_for(session_documents, 1) is index
    assert set(catalog.index_for({"d": session_document("d")}, 2).by_name) == {"a", "d"}
    create_scenario("b")
    assert set(catalog.index_for(session_documents, 1).by_name) == {"a", "b", "c"}


def test_a_session_without_scenarios_has_the_common_index() -> None:
    create_scenario("a")
    assert catalog.index_for({}, 5) is catalog.index()


def test_a_disabled_scenario_of_a_session_hides_the_common_one() -> None:
    create_scenario("a")
    index = catalog.index_for({"a": session_document("a", enabled=False)}, 1)
    assert index.by_name["a"].steps == ()


def test_number_of_session_indexes_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_module, "MAX_SESSION_INDEXES", 2)
    new_catalog = Catalog()
    for version in range(5):
        new_catalog.index_for({"c": session_document("c")}, version)
    assert sorted(new_catalog._sessions) == [3, 4]
