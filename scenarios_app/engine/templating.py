"""Fills `{{ name }}` and `{{ name.key }}` in scripted texts: one pass over fixed values, no more.

Values go in as they are and are not looked at again. Whatever else stands in braces is text.
"""

import json
import re
from collections.abc import Collection, Mapping

from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.engine.scenario import Scenario

FIXED_NAMES = ("request.model", "request.last_user_text", "request.turn")
# Possessive throughout: a text of nothing but braces and spaces is read once.
_IDENTIFIER = r"[^\W\d]\w*+"
# A variable of this name and value lets a text say braces that are no template.
BRACES, OPENING = "braces", "{{"
_TEMPLATE = re.compile(rf"\{{\{{\s*+({_IDENTIFIER}(?:\.{_IDENTIFIER})?+)\s*+\}}\}}")


def render_template(text: str, values: Mapping[str, str]) -> str:
    """Fill a text. A name without a value stays as it stands; the caller caps the output."""
    return _TEMPLATE.sub(lambda m: values[m[1]] if m[1] in values else m[0], text)


def as_written(text: str) -> str:
    """A text that is filled to this one, where `BRACES` is a variable of value `OPENING`."""
    return _TEMPLATE.sub(lambda m: f"{{{{ {BRACES} }}}}{m[0].removeprefix(OPENING)}", text)


def template_names(text: str) -> tuple[str, ...]:
    """The names that a text asks for, each once, in order."""
    return tuple(dict.fromkeys(_TEMPLATE.findall(text)))


def unknown_names(
    text: str, variables: Mapping[str, Json], *, groups: Collection[str] = ()
) -> tuple[str, ...]:
    """The names in a text that will have no value, given the scenario's variables and the named
    regex groups of its step (`match.group_names`)."""
    known = {*_variable_values(variables), *FIXED_NAMES, *(f"match.{group}" for group in groups)}
    return tuple(name for name in template_names(text) if name not in known)


def template_values(
    scenario: Scenario, request: CanonicalRequest, groups: Mapping[str, str]
) -> dict[str, str]:
    """Every value by its name. A variable that is no string is its JSON text; the keys of an
    object are there as `name.key`. The request's own names go before variables of that name."""
    return {
        **_variable_values(scenario.variables),
        "request.model": request.model,
        "request.last_user_text": request.last_user_text,
        "request.turn": str(request.turn),
        **{f"match.{name}": value for name, value in groups.items()},
    }


def _variable_values(variables: Mapping[str, Json]) -> dict[str, str]:
    values = {}
    for name, value in variables.items():
        values[name] = _text(value)
        if isinstance(value, dict):
            values.update({f"{name}.{key}": _text(inner) for key, inner in value.items()})
    return values


def _text(value: Json) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
