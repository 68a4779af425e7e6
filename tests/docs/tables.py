"""Updates the generated tables of the pages from the code.

A table is written between `<!-- table: NAME ARGUMENTS -->` and `<!-- /table -->`.
"""

import re
from collections.abc import Callable, Mapping

from tests.docs import builder_stub, clients_file, schema_file
from tests.docs.blocks import ROOT, pages
from tests.docs.builder_tables import functions_table, methods_table
from tests.docs.control_tables import (
    errors_table,
    routes_table,
    tools_list,
)
from tests.docs.document_tables import faults_table, keys_table, recording_rules_table
from tests.docs.reference_tables import (
    commands_list,
    example_file,
    providers_table,
    settings_table,
    strikes_table,
)
from tests.docs.rules_table import (
    kinds_table,
    mutants_table,
    outcomes_table,
    rules_table,
)

TABLES: Mapping[str, Callable[..., str]] = {
    "commands": commands_list,
    "errors": errors_table,
    "faults": faults_table,
    "functions": functions_table,
    "keys": keys_table,
    "kinds": kinds_table,
    "methods": methods_table,
    "mutants": mutants_table,
    "outcomes": outcomes_table,
    "providers": providers_table,
    "recording_rules": recording_rules_table,
    "routes": routes_table,
    "rules": rules_table,
    "settings": settings_table,
    "strikes": strikes_table,
    "tools": tools_list,
}
_TABLE = re.compile(r"(<!-- table: (\w+)([^\n]*) -->\n).*?(<!-- /table -->)", re.DOTALL)


def update_tables(text: str) -> str:
    """Return a page's text with current tables."""

    def render_table(match: re.Match[str]) -> str:
        new_table = TABLES[match[2]](**dict(word.split("=") for word in match[3].split()))
        return f"{match[1]}\n{new_table}\n\n{match[4]}"

    return _TABLE.sub(render_table, text)


def main() -> None:
    schema_file.write_schema()
    clients_file.write_clients()
    builder_stub.write_stub()
    (ROOT / ".env.example").write_text(example_file(), encoding="utf-8")
    for page in pages():
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        if update_tables(text) != text:
            path.write_text(update_tables(text), encoding="utf-8")
            print(f"{page}: tables written")
