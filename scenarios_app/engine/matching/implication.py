"""Whether every request that meets one step's conditions meets another's: told from the conditions
alone. A yes is certain; a no may only mean that it can't be seen."""

from scenarios_app.engine.matching.checks import (
    Check,
    TextCheck,
    ToolCallCheck,
    ToolResultCheck,
    is_subset,
)
from scenarios_app.engine.matching.conditions import CompiledText
from scenarios_app.engine.matching.match import CompiledMatch


def match_implies(narrow: CompiledMatch, wide: CompiledMatch) -> bool:
    """Whether whatever matches `narrow` matches `wide`."""
    return all(any(check_implies(n, w) for n in narrow.checks) for w in wide.checks)


def check_implies(narrow: Check, wide: Check) -> bool:
    """Whether `wide` holds wherever `narrow` does."""
    match narrow, wide:
        case TextCheck(), TextCheck() if narrow.subject == wide.subject:
            return all(any(text_implies(n, w) for w in wide.conditions) for n in narrow.conditions)
        case ToolCallCheck(), ToolCallCheck():
            return _given(narrow.name, wide.name) and (
                wide.arguments is None
                or (narrow.arguments is not None and is_subset(wide.arguments, narrow.arguments))
            )
        case ToolResultCheck(), ToolResultCheck():
            return (
                text_implies(narrow.text, wide.text)
                and _given(narrow.tool_call_id, wide.tool_call_id)
                and _given(narrow.name, wide.name)
                and wide.is_error in (None, narrow.is_error)
            )
    return False


def text_implies(narrow: CompiledText, wide: CompiledText) -> bool:
    """Whether every text that meets `narrow` meets `wide`."""
    return (
        _literal_implied(narrow, wide)
        and (wide.contains is None or any(wide.contains in text for text in _held(narrow, wide)))
        and (wide.startswith is None or _begins(narrow, wide, wide.startswith))
        and (wide.regex is None or _pattern_implied(narrow, wide))
    )


def excludes(one: CompiledText, other: CompiledText) -> bool:
    """Whether no text meets both: one of them says what the whole text is, and the other denies
    it."""
    return _denies(one, other) or _denies(other, one)


def _denies(exact: CompiledText, other: CompiledText) -> bool:
    if exact.equals is None or exact.ignore_case > other.ignore_case:
        return False
    return not other.test(exact.equals)


def _given(narrow: CompiledText | None, wide: CompiledText | None) -> bool:
    return wide is None or (narrow is not None and text_implies(narrow, wide))


def _literal_implied(narrow: CompiledText, wide: CompiledText) -> bool:
    if wide.equals is None:
        return True
    return narrow.equals is not None and _seen(narrow, wide, narrow.equals) == wide.equals


def _held(narrow: CompiledText, wide: CompiledText) -> list[str]:
    """Texts that every text of `narrow` holds, as `wide` sees them."""
    texts = (narrow.equals, narrow.contains, narrow.startswith)
    seen = (_seen(narrow, wide, text) for text in texts if text is not None)
    # The empty text is in every text.
    return ["", *(text for text in seen if text is not None)]


def _begins(narrow: CompiledText, wide: CompiledText, start: str) -> bool:
    texts = (narrow.equals, narrow.startswith, "")
    seen = (_seen(narrow, wide, text) for text in texts if text is not None)
    return any(text is not None and text.startswith(start) for text in seen)


def _seen(narrow: CompiledText, wide: CompiledText, text: str) -> str | None:
    """A literal of `narrow` as `wide` compares it; None where `narrow` leaves its case open and
    `wide` does not."""
    if wide.ignore_case:
        return text.casefold()
    return None if narrow.ignore_case and text else text


def _pattern_implied(narrow: CompiledText, wide: CompiledText) -> bool:
    if narrow.pattern == wide.pattern and narrow.ignore_case == wide.ignore_case:
        return True
    exact = None if narrow.ignore_case else narrow.equals
    return exact is not None and wide.regex is not None and wide.regex.search(exact) is not None
