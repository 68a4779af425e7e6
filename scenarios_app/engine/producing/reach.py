"""Finds scripted headers that change the logins of the admin on the same host."""

from collections.abc import Collection, Iterator

from scenarios_app.engine.scenario import RawAnswer, Step

Headers = tuple[tuple[str, str], ...]

SET_COOKIE = "set-cookie"
CLEAR = "clear-site-data"
REACHING_NAMES = frozenset({SET_COOKIE, CLEAR})


def find_reaching(headers: Headers, cookies: Collection[str]) -> list[tuple[str, str]]:
    """Return the headers, with lower-case names, that set one of `cookies` or delete all."""
    return [
        header
        for header in headers
        if header[0] in REACHING_NAMES and (header[0] == CLEAR or cookie_name(header[1]) in cookies)
    ]


def cookie_name(set_cookie: str) -> str:
    """Return the name under which a server reads a cookie. Browsers send a cookie without a name as
    its value alone, so that `=a=b` is read as `a=b`; servers remove white space."""
    pair = set_cookie.partition(";")[0].strip()
    return pair.lstrip("= \t").partition("=")[0].strip()


def name_header(header: tuple[str, str]) -> str:
    """Return a header's name, of a cookie also the cookie's."""
    name, value = header
    return f"{name} {cookie_name(value)}" if name == SET_COOKIE else name


def scripted_headers(step: Step) -> Iterator[tuple[str, Headers]]:
    """Yield the places of a step that script headers, with these headers."""
    produced = step.produce
    yield "side_effects.headers", step.side_effects.headers
    whole, streamed = produced.non_streaming, produced.streaming
    for answer in (whole,) if whole is streamed else (whole, streamed):
        if isinstance(answer, RawAnswer):
            yield "produce.raw.headers", answer.headers
    if produced.fault:
        yield "produce.fault.headers", produced.fault.headers
    if step.failures:
        yield "failures.fault.headers", step.failures.fault.headers
    if produced.recorded:
        yield "produce.recorded.headers", produced.recorded.headers
