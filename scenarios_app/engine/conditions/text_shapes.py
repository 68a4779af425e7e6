"""Pydantic models of text conditions in documents."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeAlias, TypedDict

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    WrapSerializer,
    WrapValidator,
)

from scenarios_app.engine.conditions.texts import TextCondition, check_regex
from scenarios_app.engine.shapes import (
    Document,
    KeyProblem,
    dump_as_string,
    expected,
    fields,
    parse_from_string,
    refuse,
    wrap_in_list,
)


def _check_pattern(text: str) -> str:
    """Return the pattern; raises ValidationError if it is not valid RE2."""
    if problem := check_regex(text):
        refuse([((), problem)])
    return text


Pattern: TypeAlias = Annotated[
    str, Field(min_length=1), expected("an RE2 pattern"), AfterValidator(_check_pattern)
]


class TextConditionDocument(Document):
    """A condition on a text: everything given must hold. A plain string means `equals`."""

    equals: fields.Text | None = None
    """The text equals this."""
    contains: fields.SomeText | None = None
    """The text contains this."""
    startswith: fields.SomeText | None = None
    """The text starts with this."""
    regex: Pattern | None = None
    """An RE2 pattern found anywhere in the text; `^` and `$` match its ends. Named groups
    `(?P<name>...)` can be used in the answer as `{{ match.name }}`. `\\w`, `\\b`, `\\d` and
    `\\s` match ASCII only; `[\\pL\\pN_]` matches letters and digits of every script."""
    ignore_case: fields.Flag = False
    """Ignore upper and lower case."""

    @property
    def has_test(self) -> bool:
        """True if at least one test is set."""
        tests = (self.equals, self.contains, self.startswith, self.regex)
        return any(test is not None for test in tests)

    def find_key_problems(self) -> Iterable[KeyProblem]:
        if not self.has_test:
            yield (), "expected at least one of equals, contains, startswith, regex"

    def compile(self) -> TextCondition:
        """Return the condition in the form that tests texts."""
        keys = TextConditionDocument.model_fields
        return TextCondition(**{key: getattr(self, key) for key in keys})


class ConditionKeys(TypedDict, total=False):
    """The keys of a TextConditionDocument; all given ones must hold."""

    equals: str
    contains: str
    startswith: str
    regex: str
    ignore_case: bool


def condition_of(text: str | None, keys: Mapping[str, object]) -> dict[str, object]:
    """Return the keys of a text condition, with `equals` if there is a text."""
    return {**keys} if text is None else {"equals": text, **keys}


def _unwrap_single(values: list[Any], handler: SerializerFunctionWrapHandler) -> Any:
    """Dump a list of one item as the item."""
    written = handler(values)
    return written[0] if len(written) == 1 else written


TextShape: TypeAlias = Annotated[
    TextConditionDocument,
    parse_from_string(TextConditionDocument, "equals"),
    dump_as_string("equals"),
]
TextAlternatives: TypeAlias = Annotated[
    list[TextShape],
    Field(min_length=1),
    WrapValidator(wrap_in_list, json_schema_input_type=TextShape | list[TextShape]),
    WrapSerializer(_unwrap_single),
]
