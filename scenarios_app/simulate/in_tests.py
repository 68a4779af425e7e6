"""Scripted users against an agent that is a function of the test."""

from collections.abc import Mapping, Sequence
from typing import Any

from scenarios_app.engine.document import load_documents
from scenarios_app.simulate.conversation import Agent, Session, scripts_of, simulate
from scenarios_app.simulate.report import json_report, text_report


def simulate_documents(
    documents: Sequence[Mapping[str, Any]], agent: Agent, session: Session
) -> dict[str, Any]:
    """Play the scripted users of the documents, and return the report. Raises AssertionError with
    the transcript if a checkpoint fails."""
    __tracebackhide__ = True
    scripts = scripts_of(load_documents(list(documents)))
    if not scripts:
        raise ValueError("no scenario has a scripted user; add the key user")
    conversations = [
        simulate(name, script, agent, session=session) for name, script in scripts.items()
    ]
    if not all(one.passed for one in conversations):
        raise AssertionError(text_report(conversations))
    return json_report(conversations)
