"""Tables of the client rules, fault kinds, mutants and alterations, from the code."""

from scenarios_app.proof import mutants
from scenarios_app.proof.outcome import OUTCOMES
from scenarios_app.proof.reports import FAIL_ON, SIGNS
from scenarios_app.verdict.fault_kinds import KINDS
from scenarios_app.verdict.judge import RULES
from tests.docs.document_tables import table


def rules_table() -> str:
    """Return the table of rules: the mistake, what is checked, and a client that makes it."""
    rows = [
        (f"`{rule.name}`", rule.level, rule.title, rule.looks_at, rule.example) for rule in RULES
    ]
    head = ("rule", "level", "what is wrong", "what is looked at", "for example")
    return table(head, rows)


NEEDS = {
    "any": "every answer",
    "text": "answers with text",
    "calls": "answers with tool calls",
    "socket": "answers over a WebSocket",
}


MUTANT_NEEDS = {
    "empty_answer": "every answer",
    "refusal": "every answer",
    "call_twice": "each tool call",
    "result": "each number and name of a tool's result that a text repeats",
    "number": "each number in a text",
    "name": "each name in a text",
    "field": "each value in a text that is a JSON object",
    "argument": "each value in the arguments of a tool call",
    "no_argument": "each argument of a tool call",
    "call_order": "each two neighbouring tool calls",
    "no_call": "each tool call",
    "language": "each text",
}


def kinds_table() -> str:
    """Return the table of a sweep's fault kinds and the answers they apply to."""
    rows = [(f"`{kind.name}`", kind.label, NEEDS[kind.needs]) for kind in KINDS]
    return table(("kind", "what happens", "where"), rows)


def outcomes_table() -> str:
    """Return the table of outcomes: sign in the matrix, and whether it fails a sweep."""
    rows = [
        (f"`{name}`", f"`{SIGNS[name]}`", meaning, "yes" if name in FAIL_ON else "")
        for name, meaning in OUTCOMES.items()
    ]
    return table(("outcome", "in the matrix", "meaning", "fails the sweep"), rows)


def mutants_table() -> str:
    """Return the table of script mutants and the answers they apply to."""
    rows = [(f"`{kind.name}`", kind.label, MUTANT_NEEDS[kind.name]) for kind in mutants.KINDS]
    return table(("change", "what the answer becomes", "where"), rows)
