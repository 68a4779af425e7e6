"""The pytest plugin: a session on a mock server for each test, and a verdict at its end.

pytest imports this in every run, so it imports nothing but the standard library and pytest until a
test wants the server.
"""

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from scenarios_app.testing.cassettes import Tape
    from scenarios_app.testing.lease import Lease
    from scenarios_app.testing.sessions import SharedServer
    from scenarios_app.testing.words import Mockllm

MARKER = "mockllm"
MARKED = ("scenario", "strict", "allow_unserved", "cassette")
MODES = ("none", "once", "new", "all")
URL = "MOCKLLM_URL"
RECORD = "MOCKLLM_RECORD"
# Set by `mockllm drift` for what it runs.
DRIFT = "MOCKLLM_DRIFT"
TOKEN = "MOCKLLM_CONTROL_TOKEN"
OPTIONS = {
    "--mockllm-url": f"use the mockllm server at this URL (or {URL}) and start none",
    "--mockllm-report": "write all verdicts to FILE: JSON (.json), JUnit XML (.xml) or text",
    "--mockllm-coverage": "write which steps of the common scenarios answered to FILE, as above",
    "--mockllm-record": "for tests with a cassette: none (recordings alone answer), once (record "
    "where there is none yet), new (record what is not in it), all (record anew)",
}
METAVARS = {"--mockllm-url": "URL", "--mockllm-record": "MODE"}

_judging: pytest.StashKey["Judging"] = pytest.StashKey()


class MockllmWarning(UserWarning):
    """Something that a client did and that may be meant."""


_lease: pytest.StashKey["Lease"] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mockllm", "mockllm: a deterministic LLM server")
    for option, meaning in OPTIONS.items():
        metavar = METAVARS.get(option, "FILE")
        try:
            group.addoption(option, metavar=metavar, default=None, help=meaning)
        except ValueError as error:
            raise pytest.UsageError(
                f"{option} is an option of another plugin too ({error}): "
                "leave one of them out with -p no:NAME"
            ) from None


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "mockllm(scenario=…, strict=True, allow_unserved=False, cassette=None): a session on the "
        "mock server, with a scenario (name, file, document or builder) beside those of all tests; "
        "strict: what the verdict finds fails the test; allow_unserved: steps need not answer; "
        "cassette: True or a path, from which it is answered, or into which it is recorded.",
    )
    mode = _mode(config)
    if mode not in MODES:
        raise pytest.UsageError(
            f"--mockllm-record: expected one of {', '.join(MODES)}, got {mode!r}"
        )
    file = config.getoption("--mockllm-report")
    if file is not None and not hasattr(config, "workerinput"):
        from scenarios_app.testing.report import Report

        config.pluginmanager.register(Report(file))


def _mode(config: pytest.Config) -> str:
    """How cassettes are used in this run: without being told, nothing is asked of a provider."""
    mode: str = config.getoption("--mockllm-record") or os.environ.get(RECORD) or MODES[0]
    return mode


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """xdist's: its workers share one server, which this process starts for the first that asks."""
    from scenarios_app.testing.lease import Lease

    config = node.config
    # The same tests in every worker would have the same sessions.
    if config.getoption("dist", "no") != "each":
        if _lease not in config.stash:
            config.stash[_lease] = Lease()
        lease = config.stash[_lease]
        node.workerinput[MARKER] = lease.address


def pytest_unconfigure(config: pytest.Config) -> None:
    lease = config.stash.get(_lease, None)
    if lease is not None:
        for base_url in lease.base_urls():
            _cover(config, base_url)
        lease.close()


def _cover(config: pytest.Config, base_url: str) -> None:
    """Write the coverage of a run whose server is there as yet, if it is asked for."""
    file = config.getoption("--mockllm-coverage")
    if file is None or hasattr(config, "workerinput"):
        return
    from scenarios_app.testing.control import Control
    from scenarios_app.testing.report import write_coverage

    control = Control(base_url, token=os.environ.get(TOKEN, ""))
    try:
        write_coverage(file, control.send("GET", "coverage"))
    finally:
        control.close()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test with the marker has the fixture, named or not."""
    names = getattr(item, "fixturenames", None)
    if names is not None and MARKER not in names and item.get_closest_marker(MARKER):
        names.append(MARKER)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A test that has passed is judged as a part of it, so that it is the test that fails."""
    result = yield
    # What a unittest class raises is kept there.
    if (judging := item.stash.get(_judging, None)) and not getattr(item, "_excinfo", None):
        judging.judge()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "teardown" and (judging := item.stash.get(_judging, None)):
        del item.stash[_judging]
        # Through xdist a report keeps what JSON has.
        if judging.verdict:
            vars(report)[MARKER] = judging.verdict
    return report


@pytest.fixture(scope="session")
def mockllm_config() -> dict[str, Any]:
    """Override this for a server with `scenarios`, `fixtures`, `settings`, `catch_all` or a
    `timeout` to start: the arguments of `running_server`."""
    return {}


@pytest.fixture(scope="session")
def mockllm_server(
    pytestconfig: pytest.Config, mockllm_config: Mapping[str, Any]
) -> Iterator["SharedServer"]:
    """The server of all tests: `base_url`, `openai_base_url`."""
    from scenarios_app.testing.control import Control, ServerFailed
    from scenarios_app.testing.lease import server_for
    from scenarios_app.testing.sessions import SharedServer

    given = dict(mockllm_config)
    elsewhere = pytestconfig.getoption("--mockllm-url") or os.environ.get(URL) or None
    worker = getattr(pytestconfig, "workerinput", {})
    try:
        if _mode(pytestconfig) != MODES[0] and not elsewhere:
            from scenarios_app.testing.record import upstream_settings

            settings = given.get("settings") or {}
            given["settings"] = {**settings, **upstream_settings({**os.environ, **settings})}
        with server_for(given, url=elsewhere, lease=worker.get(MARKER)) as base_url:
            token = os.environ.get(TOKEN, "") if elsewhere else ""
            server = SharedServer(Control(base_url, token=token), alone=not elsewhere)
            try:
                if elsewhere:
                    server.control.send("GET", "state", session="any")
                if os.environ.get(DRIFT):
                    # Of programs that are no tests: these bring cassettes of their own.
                    server.control.response("DELETE", "recording")
                yield server
                _cover(pytestconfig, base_url)
            finally:
                server.close()
    except ServerFailed as error:
        raise pytest.fail.Exception(f"mockllm: {error}", pytrace=False) from None


@pytest.fixture
def mockllm(request: pytest.FixtureRequest, mockllm_server: "SharedServer") -> Iterator["Mockllm"]:
    """This test's session, to which every SDK's environment variables point."""
    from scenarios_app.testing.variables import (
        clients_made_at_import,
        sdk_variables,
        unset_variables,
    )

    item = request.node
    marked = _marked(item)
    with _told(), pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        session = mockllm_server.session(item.nodeid)
        # With the real keys in it.
        before = dict(os.environ)
        variables = sdk_variables(session.base_url, session.api_key, environment=os.environ)
        for name, value in variables.items():
            patch.setenv(name, value)
        for name in unset_variables():
            patch.delenv(name, raising=False)
        stack.enter_context(clients_made_at_import())
        named = _load(session, marked["scenario"], item)
        tape = _taped(session, marked["cassette"], item, before) if marked["cassette"] else None
        judging = Judging(item, session, marked, tape, named)
        item.stash[_judging] = judging
        yield session
        judging.close(mockllm_server)


@dataclass
class Judging:
    """The verdict on one test: as the last part of a test that has passed, which it may fail, else
    told below what the test itself failed of. `marked` is what markers say, `named` are scenarios
    of all tests that have to answer in this one."""

    item: pytest.Item
    session: "Mockllm"
    marked: Mapping[str, Any]
    tape: "Tape | None"
    named: Sequence[str]
    verdict: dict[str, Any] | None = None

    def judge(self) -> None:
        """Fail the test if its verdict does; a cassette is written where it does not."""
        with _told():
            told = self._told_of()
        if told and self.marked["strict"]:
            pytest.fail(f"mockllm: {told}", pytrace=False)
        if told:
            self.item.add_report_section("call", "mockllm", told)
        for finding in self.verdict["findings"] if self.verdict else ():
            if finding["level"] == "warning":
                self._warn(f"{finding['rule']}: {finding['message']}")
        # A test that fails leaves its cassette as it was.
        with _told():
            for line in self.tape.keep() if self.tape else ():
                self._warn(line)

    def close(self, server: "SharedServer") -> None:
        """Have the test forgotten; one that failed by itself has its verdict told."""
        from scenarios_app.testing.control import ServerFailed

        told = ""
        try:
            if self.verdict is None:
                told = self._told_of()
            server.end(self.session)
        except ServerFailed as error:
            told = str(error)
        if told:
            self.item.add_report_section("teardown", "mockllm", told)

    def _told_of(self) -> str:
        """What the verdict says against the test, and what else does; empty if nothing."""
        lines = [
            f"{name} has no answer: add .reply(…), .tool_call(…) or .fail(…)"
            for name in self.session.unsaid()
        ]
        ended = self.tape.end() if self.tape else {}
        # What is being recorded anew may have changed.
        unserved = self.marked["allow_unserved"] or bool(self.tape and self.tape.records)
        verdict = self.session.verdict(allow_unserved=unserved, scenarios=self.named)
        self.verdict = verdict | ended
        if not verdict["passed"]:
            lines += [*(self.tape.drift if self.tape else ()), verdict["text"]]
        return "\n".join(lines)

    def _warn(self, line: str) -> None:
        self.item.warn(MockllmWarning(line))


def _taped(
    session: "Mockllm", given: Any, item: pytest.Item, environment: Mapping[str, str]
) -> "Tape":
    from scenarios_app.testing.cassettes import Tape, cassette_path

    path = cassette_path(given, file=item.path, node=item.nodeid)
    tape = Tape(session, path, _mode(item.config), os.path.relpath(path, item.config.rootpath))
    tape.begin(environment)
    return tape


def _marked(item: pytest.Item) -> dict[str, Any]:
    """What the markers of a test say, the nearest one first; scenarios of all of them count."""
    found: dict[str, Any] = dict.fromkeys(MARKED) | {
        "scenario": [],
        "strict": True,
        "allow_unserved": False,
    }
    markers = list(item.iter_markers(MARKER))
    for marker in reversed(markers):
        given = {**dict(zip(MARKED, marker.args, strict=False)), **marker.kwargs}
        unknown = [name for name in given if name not in MARKED]
        if unknown or len(marker.args) > 1:
            wrong = repr(unknown[0]) if unknown else f"{len(marker.args)} values without a name"
            pytest.fail(
                f"mockllm: the marker takes {', '.join(MARKED)}, not {wrong}", pytrace=False
            )
        scenario = given.pop("scenario", [])
        several = scenario if isinstance(scenario, list | tuple) else [scenario]
        found["scenario"] = [*found["scenario"], *several]
        found |= given
    return found


def _load(session: "Mockllm", scenarios: list[Any], item: pytest.Item) -> list[str]:
    """Give a test the scenarios of its markers; the names of those that the server has already."""
    named = []
    for one in scenarios:
        if not isinstance(one, str | os.PathLike):
            session.scenario(one)
            continue
        places = (item.path.parent / one, item.config.rootpath / one)
        if path := next((place for place in places if place.exists()), None):
            session.scenario(path)
        else:
            named.append(os.fspath(one))
    if named:
        _check_names(session, named, item)
    return named


def _check_names(session: "Mockllm", named: list[str], item: pytest.Item) -> None:
    known = session.common_names()
    for name in named:
        if name not in known:
            listed = ", ".join(known) or "none"
            pytest.fail(
                f"mockllm: the marker names {name!r}: there is no such file beside "
                f"{item.path.name}, and no such scenario on the server (it has {listed})",
                pytrace=False,
            )


@contextmanager
def _told() -> Iterator[None]:
    """What a server refuses or fails at is one line, at the test."""
    from scenarios_app.testing.control import ServerFailed

    try:
        yield
    except ServerFailed as error:
        raise pytest.fail.Exception(f"mockllm: {error}", pytrace=False) from None
