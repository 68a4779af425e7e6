"""Generated tables of the pages match the code."""

import pytest

from tests.docs import builder_stub, clients_file
from tests.docs.blocks import ROOT, pages
from tests.docs.reference_tables import example_file
from tests.docs.schema_file import FILE, schema_text
from tests.docs.tables import update_tables


@pytest.mark.parametrize("page", pages())
def test_generated_tables_of_a_page_are_current(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert update_tables(text) == text, "make docs writes them anew"


def test_stale_table_is_rewritten() -> None:
    stale = "<!-- table: keys model=GenerateDocument -->\n\n| key |\n\n<!-- /table -->\nmore"
    assert "| `kind` | `lorem` or `auto`, required |" in update_tables(stale)
    assert update_tables(update_tables(stale)) == update_tables(stale) != stale


def test_example_file_is_fresh() -> None:
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    assert text == example_file(), "make docs writes it anew"


def test_schema_file_is_fresh() -> None:
    assert FILE.read_text(encoding="utf-8") == schema_text(), "make docs writes it anew"


def test_stub_file_of_the_builder_is_fresh() -> None:
    text = builder_stub.FILE.read_text(encoding="utf-8")
    assert text == builder_stub.stub_text(), "make docs writes it anew"


def test_clients_of_the_npm_package_are_those_of_the_wires() -> None:
    text = clients_file.FILE.read_text(encoding="utf-8")
    assert text == clients_file.clients_text(), "make docs writes it anew"


def test_npm_package_redirects_with_the_file_of_mockllm_run() -> None:
    source_file = ROOT / "scenarios_app" / "testing" / "node_redirect.cjs"
    assert (clients_file.PACKAGE / "redirect.cjs").read_bytes() == source_file.read_bytes()
