"""The document of a scenario's or draft's rows, valid or not."""

from collections.abc import Iterable
from typing import Any, TypeAlias

from scenarios_app.engine.canonical import Json

Object: TypeAlias = dict[str, Json]


def whole_document(scenario: Any, steps: Iterable[Any] | None = None) -> Object:
    """Return the JSON of a scenario's rows, unvalidated."""
    rows: Iterable[Any] = scenario.steps.all() if steps is None else steps
    own, documents = own_document(scenario), [row.document for row in rows]
    return {**own, "steps": documents} if documents or "steps" in own else own


def own_document(scenario: Any) -> Object:
    """Return a scenario's own part of its document, unvalidated, with the values of columns that
    were changed since it was written."""
    document: Json = scenario.document
    # A document has no key of this name, so that what is no object stays a problem.
    own: Object = dict(document) if isinstance(document, dict) else {"document": document}
    if "name" not in own:
        own = {"name": scenario.name, **own}
    for key in scenario.columns:
        value, default = getattr(scenario, key), default_of(scenario, key)
        if own.get(key, default) == value:
            continue
        if value == default:
            del own[key]
        else:
            own[key] = value
    return own


def default_of(scenario: Any, column: str) -> Any:
    """Return the value of a column whose key the document does not have."""
    field: Any = scenario._meta.get_field(column)
    return field.get_default()
