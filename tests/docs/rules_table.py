"""The table of the rules of clients, from the rules themselves."""

from scenarios_app.verdict.judge import RULES
from tests.docs.document_tables import table


def rules_table() -> str:
    """Each rule: what is wrong, what is looked at, and a client that does it."""
    rows = [
        (f"`{rule.name}`", rule.level, rule.title, rule.looks_at, rule.example) for rule in RULES
    ]
    head = ("rule", "level", "what is wrong", "what is looked at", "for example")
    return table(head, rows)
