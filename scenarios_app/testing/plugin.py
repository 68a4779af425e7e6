"""The pytest plugin: a session on a mock server for each test, and a verdict at its end.

pytest imports this in every run, so it imports nothing but the standard library and pytest until a
test wants the server.
"""

import os
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scenarios_app.testing.shared.early_start import EarlyStart

if TYPE_CHECKING:
    from scenarios_app.testing.cassettes import TestCassette
    from scenarios_app.testing.guard import ProviderGuard
    from scenarios_app.testing.sessions import SharedServer
    from scenarios_app.testing.shared.server_pool import ServerPool
    from scenarios_app.testing.stubs import Mockllm

MARKER = "mockllm"
MARKER_ARGUMENTS = ("scenario", "strict", "allow_unserved", "cassette", "guard")
MODES = ("none", "once", "new", "all")
URL_VARIABLE = "MOCKLLM_URL"
RECORD_VARIABLE = "MOCKLLM_RECORD"
# Set by `mockllm drift` for its command.
DRIFT_VARIABLE = "MOCKLLM_DRIFT"
TOKEN_VARIABLE = "MOCKLLM_CONTROL_TOKEN"
OPTION_HELP = {
    "--mockllm-url": f"use the mockllm server at this URL (or {URL_VARIABLE}) and start none",
    "--mockllm-report": "write all verdicts to FILE: JSON (.json), JUnit XML (.xml) or text",
    "--mockllm-coverage": "write which steps of the tests' scenarios answered to FILE, as above",
    "--mockllm-record": "for tests with a cassette: none (recordings alone answer), once (record "
    "where there is none yet), new (record what is not in it), all (record anew)",
}
FLAG_HELP = {
    "--mockllm-watch": "load the scenario files of mockllm_config again when they change",
    "--mockllm-guard": "stop requests to real providers in tests with the fixture mockllm (the "
    "default, unless pytest's configuration has mockllm_guard = false)",
    "--no-mockllm-guard": "let such tests call real providers",
}
# The setting in pytest's configuration, and the destination of both flags.
GUARD_SETTING = "mockllm_guard"
GUARD_FLAGS: dict[str, dict[str, Any]] = {
    "--mockllm-guard": {"dest": GUARD_SETTING, "action": "store_true", "default": None},
    "--no-mockllm-guard": {"dest": GUARD_SETTING, "action": "store_false", "default": None},
}
METAVARS = {"--mockllm-url": "URL", "--mockllm-record": "MODE"}

SCOPE_MISMATCH = re.compile(r"ScopeMismatch: .* function scoped fixture mockllm\b")
SCOPE_HINT = (
    "mockllm: each test has its session, so only fixtures of scope function can use `mockllm`; "
    "wider ones can use `mockllm_server`, which has the address of the server"
)

_JUDGE_KEY: pytest.StashKey["TestJudge"] = pytest.StashKey()
_POOL_KEY: pytest.StashKey["ServerPool"] = pytest.StashKey()
_EARLY_KEY: pytest.StashKey[EarlyStart] = pytest.StashKey()


class MockllmWarning(UserWarning):
    """A warning about a client's behaviour that may be intended."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mockllm", "mockllm: a deterministic LLM server")
    for option, meaning in {**OPTION_HELP, **FLAG_HELP}.items():
        metavar = METAVARS.get(option, "FILE")
        takes: dict[str, Any] = {"metavar": metavar, "default": None}
        if option in FLAG_HELP:
            takes = GUARD_FLAGS.get(option, {"action": "store_true"})
        try:
            group.addoption(option, help=meaning, **takes)
        except ValueError as error:
            raise pytest.UsageError(
                f"{option} is an option of another plugin too ({error}): "
                "leave one of them out with -p no:NAME"
            ) from None
    meaning = "stop requests to real providers in tests with the fixture mockllm"
    parser.addini(GUARD_SETTING, meaning, type="bool", default=True)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "mockllm(scenario=…, strict=True, allow_unserved=False, cassette=None, guard=True): a "
        "session on the mock server, with a scenario (name, file, document or builder) beside "
        "those of all tests; "
        "strict: what the verdict finds fails the test; allow_unserved: steps need not answer; "
        "cassette: True or a path, from which it is answered, or into which it is recorded; "
        "guard: False lets the test call real providers.",
    )
    mode = _cassette_mode(config)
    if mode not in MODES:
        from mockllm_site.kit.keywords import did_you_mean

        hint = did_you_mean(mode, MODES) or f"expected one of {', '.join(MODES)}"
        raise pytest.UsageError(f"--mockllm-record: no mode {mode!r}, {hint}")
    file = config.getoption("--mockllm-report")
    if file is not None and not hasattr(config, "workerinput"):
        from scenarios_app.testing.report import Report

        config.pluginmanager.register(Report(file))
    # With `--dist=each` every worker starts a server.
    is_leader = not hasattr(config, "workerinput") and config.getoption("dist", "no") != "each"
    if is_leader and not _external_url(config):
        config.stash[_EARLY_KEY] = EarlyStart(config)
        config.pluginmanager.register(config.stash[_EARLY_KEY])


def _external_url(config: pytest.Config) -> str | None:
    """Return the URL of the server to use instead of a new one, or None."""
    return config.getoption("--mockllm-url") or os.environ.get(URL_VARIABLE) or None


def _cassette_mode(config: pytest.Config) -> str:
    """Return the mode of cassettes in this run; by default no provider is called."""
    return config.getoption("--mockllm-record") or os.environ.get(RECORD_VARIABLE) or MODES[0]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Share one server among the workers of pytest-xdist, started by this process on demand."""
    from scenarios_app.testing.shared.server_pool import ServerPool

    config = node.config
    # With `--dist=each` every worker runs all tests, so their sessions would collide.
    if config.getoption("dist", "no") != "each":
        if _POOL_KEY not in config.stash:
            config.stash[_POOL_KEY] = ServerPool(config.stash.get(_EARLY_KEY, None))
        node.workerinput[MARKER] = config.stash[_POOL_KEY].address


def pytest_unconfigure(config: pytest.Config) -> None:
    """Write the coverage of the servers shared by workers, and stop them."""
    pool = config.stash.get(_POOL_KEY, None)
    if pool is not None:
        from scenarios_app.testing.control import ServerFailed

        with closing(pool):
            try:
                for base_url in pool.base_urls():
                    _write_coverage_report(config, base_url)
            except ServerFailed as error:
                raise pytest.UsageError(f"mockllm: {error}") from None


def _write_coverage_report(config: pytest.Config, base_url: str) -> None:
    """Write a server's coverage, if the option is set, unless this is a worker of pytest-xdist."""
    file = config.getoption("--mockllm-coverage")
    if file is None or hasattr(config, "workerinput"):
        return
    from scenarios_app.testing.control import Control
    from scenarios_app.testing.report import write_coverage

    with closing(Control(base_url, token=os.environ.get(TOKEN_VARIABLE, ""))) as control:
        write_coverage(file, control.send("GET", "coverage", scenarios="*"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Add the fixture to tests with the marker."""
    names = getattr(item, "fixturenames", None)
    if names is not None and MARKER not in names and item.get_closest_marker(MARKER):
        names.append(MARKER)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Judge a passed test within its call phase, so that its verdict can fail it."""
    result = yield
    # Exceptions of unittest classes are stored in `_excinfo`.
    if (judge := item.stash.get(_JUDGE_KEY, None)) and not getattr(item, "_excinfo", None):
        judge.judge()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the verdict to the report of the teardown."""
    report = yield
    if call.when == "setup" and SCOPE_MISMATCH.search(str(report.longrepr)):
        report.longrepr = f"{report.longrepr}\n{SCOPE_HINT}"
    if call.when == "teardown" and (judge := item.stash.get(_JUDGE_KEY, None)):
        del item.stash[_JUDGE_KEY]
        # pytest-xdist transfers attributes of reports that are JSON.
        if judge.verdict:
            vars(report)[MARKER] = judge.verdict
    return report


@pytest.fixture(scope="session")
def mockllm_config() -> dict[str, Any]:
    """Override to start the server with `scenarios`, `fixtures`, `settings`, `catch_all`,
    `timeout`, `watch` or `light`: the arguments of `running_server`."""
    return {}


@pytest.fixture(scope="session")
def mockllm_server(pytestconfig: pytest.Config, mockllm_config: Any) -> Iterator["SharedServer"]:
    """The server of all tests: `base_url`, `openai_base_url`."""
    if not isinstance(mockllm_config, Mapping):
        pytest.fail("mockllm: mockllm_config: expected a dict as its value", pytrace=False)
    options = dict(mockllm_config)
    if pytestconfig.getoption("--mockllm-watch"):
        options["watch"] = True
    external_url = _external_url(pytestconfig)
    worker = getattr(pytestconfig, "workerinput", {})
    with fail_on_server_errors():
        if _cassette_mode(pytestconfig) != MODES[0] and not external_url:
            from scenarios_app.testing.record import upstream_settings

            settings = options.get("settings") or {}
            options["settings"] = {**settings, **upstream_settings({**os.environ, **settings})}
        early = pytestconfig.stash.get(_EARLY_KEY, None)
        process = early.process_for(options) if early else None
        # Imported while the process imports the server's code.
        from scenarios_app.testing import guard, variables  # noqa: F401
        from scenarios_app.testing.control import Control
        from scenarios_app.testing.sessions import SharedServer
        from scenarios_app.testing.shared.server_pool import server_for

        pool = worker.get(MARKER)
        with server_for(options, url=external_url, pool=pool, prepared=process) as base_url:
            token = os.environ.get(TOKEN_VARIABLE, "") if external_url else ""
            server = SharedServer(Control(base_url, token=token), exclusive=not external_url)
            try:
                if external_url:
                    server.control.send("GET", "state", session="any")
                if os.environ.get(DRIFT_VARIABLE):
                    # End the replay for programs without the plugin; tests have cassettes.
                    server.control.send_request("DELETE", "recording")
                yield server
                _write_coverage_report(pytestconfig, base_url)
            finally:
                server.close()


@pytest.fixture
def mockllm(request: pytest.FixtureRequest, mockllm_server: "SharedServer") -> Iterator["Mockllm"]:
    """The session of this test; the environment variables of all SDKs point to it."""
    from scenarios_app.testing.variables import refresh_clients, sdk_variables, unset_variables

    item = request.node
    marker = _read_markers(item)
    with fail_on_server_errors(), pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        session = mockllm_server.session(item.nodeid)
        stack.callback(mockllm_server.end_session, session)
        # This copy still contains the real keys.
        original_environment = dict(os.environ)
        variables = sdk_variables(session.base_url, session.api_key, environment=os.environ)
        for name, value in variables.items():
            patch.setenv(name, value)
        for name in unset_variables():
            patch.delenv(name, raising=False)
        stack.enter_context(refresh_clients())
        shared_names = _load_scenarios(session, marker["scenario"], item)
        cassette = _open_cassette(session, marker["cassette"], item, original_environment)
        guard = _make_guard(session, marker["guard"], item)
        judge = TestJudge(item, session, marker, cassette, shared_names, guard)
        item.stash[_JUDGE_KEY] = judge
        with guard.active() if guard else nullcontext():
            yield session
        judge.close()


@pytest.fixture
def mockllm_agents(
    mockllm: "Mockllm", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Point coding agents that the test starts at its session; yield `tmp_path`, the folder that
    they trust. They do not read the user's configuration."""
    from scenarios_app.testing.agents import AGENTS, UNSET_VARIABLES, agent_variables

    names = [agent.executable for agent in AGENTS]
    for name in UNSET_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    with agent_variables(mockllm.base_url, command=names, project=tmp_path) as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        yield tmp_path


@dataclass
class TestJudge:
    """Judges one test: a passed test may fail by its verdict; a failed one shows it in a section.
    `marker` has the merged arguments of the markers; the scenarios of `shared_names` must answer,
    too. `guard` is None if the test may call real providers."""

    # pytest would collect the class in a test module that imports it.
    __test__ = False

    item: pytest.Item
    session: "Mockllm"
    marker: Mapping[str, Any]
    cassette: "TestCassette | None"
    shared_names: Sequence[str]
    guard: "ProviderGuard | None"
    verdict: dict[str, Any] | None = None

    def judge(self) -> None:
        """Fail the test if its verdict failed and the marker is strict; otherwise add the reasons
        and findings to the report, and write the cassette."""
        with fail_on_server_errors():
            failures = self._failure_text(has_passed=True)
        if failures and self.marker["strict"]:
            pytest.fail(f"mockllm: {failures}", pytrace=False)
        if failures:
            self.item.add_report_section("call", "mockllm", failures)
        else:
            # A telemetry exporter, most likely.
            for stopped in self.guard.stopped_requests if self.guard else ():
                self.item.warn(MockllmWarning(stopped.text))
        for finding in self.verdict["findings"] if self.verdict else ():
            if finding["level"] == "warning":
                self.item.warn(MockllmWarning(f"{finding['rule']}: {finding['message']}"))
        # A failed test leaves its cassette unchanged.
        with fail_on_server_errors():
            for line in self.cassette.save() if self.cassette else ():
                self.item.warn(MockllmWarning(line))

    def close(self) -> None:
        """Add the verdict of a failed test to its report, as a section."""
        from scenarios_app.testing.control import ServerFailed

        failures = ""
        try:
            if self.verdict is None:
                failures = self._failure_text(has_passed=False)
        except ServerFailed as error:
            failures = str(error)
        if failures:
            self.item.add_report_section("teardown", "mockllm", failures)

    def _failure_text(self, *, has_passed: bool) -> str:
        """Return the reasons that fail the test, or ""; end its cassette and set `verdict`."""
        lines = [
            f"{call} has no answer: add .reply(…), .tool_call(…) or .fail(…)"
            for call in self.session.empty_stubs()
        ]
        recording = self.cassette.end() if self.cassette else {}
        # While recording, steps of the old cassette need not answer.
        is_recording = bool(self.cassette and self.cassette.is_recording)
        unserved = self.marker["allow_unserved"] or is_recording
        verdict = self.session.verdict(allow_unserved=unserved, scenarios=self.shared_names)
        self.verdict = verdict | recording
        if not verdict["passed"]:
            lines += self.cassette.drift_lines if self.cassette else ()
            # pytest's summary shows the first line, so the headline with the session comes last.
            head, *reasons = verdict["text"].splitlines()
            lines += [*reasons, head]
        stopped = self.guard.stopped_requests if self.guard else []
        reported = [request for request in stopped if has_passed or not request.is_shown]
        texts = [request.text for request in reported if lines or not request.is_of_daemon]
        if not verdict["passed"] and not verdict["requests"] and not stopped:
            from scenarios_app.testing.guard.clients import stray_client_lines

            lines += stray_client_lines(self.session.base_url, self.session.api_key)
        return "\n".join([*dict.fromkeys(texts), *lines])


def _make_guard(session: "Mockllm", argument: Any, item: pytest.Item) -> "ProviderGuard | None":
    """Return the guard of a test, or None if it may call real providers."""
    switch = item.config.getoption(GUARD_SETTING)
    if not argument or not (item.config.getini(GUARD_SETTING) if switch is None else switch):
        return None
    from scenarios_app.testing.guard import ProviderGuard

    return ProviderGuard(session.base_url)


def _open_cassette(
    session: "Mockllm", argument: Any, item: pytest.Item, environment: Mapping[str, str]
) -> "TestCassette | None":
    """Begin to record or replay the marker's cassette; return None if it names none."""
    if not argument:
        return None
    from scenarios_app.testing.cassettes import TestCassette, cassette_path

    path = cassette_path(argument, file=item.path, node=item.nodeid)
    label = os.path.relpath(path, item.config.rootpath)
    cassette = TestCassette(session, path, _cassette_mode(item.config), label)
    cassette.begin(environment)
    return cassette


def _read_markers(item: pytest.Item) -> dict[str, Any]:
    """Return the arguments of a test's markers; the nearest marker wins, scenarios are joined. An
    unknown argument fails the test."""
    merged: dict[str, Any] = {"scenario": [], "cassette": None}
    merged |= {"strict": True, "allow_unserved": False, "guard": True}
    for marker in reversed(list(item.iter_markers(MARKER))):
        arguments = {**dict(zip(MARKER_ARGUMENTS, marker.args, strict=False)), **marker.kwargs}
        unknown = [name for name in arguments if name not in MARKER_ARGUMENTS]
        if unknown or len(marker.args) > 1:
            from mockllm_site.kit.keywords import did_you_mean

            wrong = repr(unknown[0]) if unknown else f"{len(marker.args)} values without a name"
            near = did_you_mean(unknown[0], MARKER_ARGUMENTS) if unknown else ""
            text = f"the marker takes {', '.join(MARKER_ARGUMENTS)}, not {wrong}"
            text = f"the marker has no argument {wrong}, {near}" if near else text
            pytest.fail(f"mockllm: {text}", pytrace=False)
        scenario = arguments.pop("scenario", [])
        scenarios = scenario if isinstance(scenario, list | tuple) else [scenario]
        merged["scenario"] = [*merged["scenario"], *scenarios]
        merged |= arguments
    return merged


def _load_scenarios(session: "Mockllm", scenarios: list[Any], item: pytest.Item) -> list[str]:
    """Load the scenarios of a test's markers; return the names of those shared on the server. A
    name that is neither a file nor shared fails the test."""
    shared_names = []
    for scenario in scenarios:
        if not isinstance(scenario, str | os.PathLike):
            session.scenario(scenario)
            continue
        places = (item.path.parent / scenario, item.config.rootpath / scenario)
        if path := next((place for place in places if place.exists()), None):
            session.scenario(path)
        else:
            shared_names.append(os.fspath(scenario))
    names = session.shared_scenario_names() if shared_names else []
    for name in shared_names:
        if name not in names:
            listed = ", ".join(names) or "none"
            pytest.fail(
                f"mockllm: the marker names {name!r}: there is no such file beside "
                f"{item.path.name}, and no such scenario on the server (it has {listed})",
                pytrace=False,
            )
    return shared_names


@contextmanager
def fail_on_server_errors() -> Iterator[None]:
    """Turn a ServerFailed into a failure of the test, in one line."""
    from scenarios_app.testing.control import ServerFailed

    try:
        yield
    except ServerFailed as error:
        raise pytest.fail.Exception(f"mockllm: {error}", pytrace=False) from None
