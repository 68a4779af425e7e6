"""`mockllm simulate FILE --agent URL|COMMAND`: scripted users against an agent."""

import json
import os
import shlex
import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

from mockllm_site.kit.parsers import OneLineParser
from scenarios_app.engine.document import DocumentError, dump, load_documents
from scenarios_app.simulate.conversation import Agent, SimulatedConversation, scripts_of, simulate
from scenarios_app.simulate.report import json_report, junit_cases, text_report
from scenarios_app.testing.control import TOKEN_VARIABLE, Control, ServerFailed
from scenarios_app.testing.documents import to_documents
from scenarios_app.testing.process import ServerOptions, server_process
from scenarios_app.testing.report import write_file
from scenarios_app.testing.run import CANNOT_START, CannotRun, refuse
from scenarios_app.testing.sessions import SharedServer
from scenarios_app.testing.simulate.agents import agent_at, agent_command, is_chat_api
from scenarios_app.testing.stubs import Mockllm
from scenarios_app.verdict.reports import SUITE, junit

HELP = (
    "Lets the scripted users of a file talk to an agent. "
    "The exit code is 0 if all checkpoints hold, 1 if one fails, 2 if nothing could be simulated. "
    + CANNOT_START
)
FAILED, NOT_SIMULATED, STOPPED, TERMINATED = 1, 2, 130, 143


class CannotSimulate(Exception):
    """Nothing can be simulated; the message says why and what to do."""


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE", help="scenarios, at least one of them with `user`")
    add(
        "--agent",
        required=True,
        metavar="URL|COMMAND",
        help="an OpenAI-compatible base URL, our chat API (…/api), or a command that reads a line "
        "and prints one",
    )
    add(
        "--scenario",
        action="append",
        default=[],
        metavar="FILE",
        help="more scenarios for the model; repeatable",
    )
    add("--server", metavar="URL", help="the mockllm server of the agent (default: a new one)")
    add("--key", help="the API key with which the agent asks the model (default: a new session's)")
    add("--until", default="", metavar="PROMPT", help="the command's answers end at this prompt")
    add("--model", default="gpt-4o", help="the model to name to an agent at a URL")
    add(
        "--timeout",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="how long an answer may take (default: 60)",
    )
    add("--json", action="store_true", help="JSON in place of text")
    add("--junit", metavar="FILE", help="write JUnit XML there as well")


def main(arguments: Sequence[str]) -> int:
    """Run `mockllm simulate` with these arguments; return its exit code."""
    parser = OneLineParser(prog="mockllm simulate", description=HELP)
    add_arguments(parser)
    # Ends the agent's command too, which is in a separate process group.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    return run(parser.parse_args(arguments))


def run(options: Namespace) -> int:
    """Simulate all users of the file, print and write the reports, and return the exit code."""
    try:
        conversations = list(_read_conversations(options))
        if options.junit:
            write_file(options.junit, junit(SUITE, junit_cases(conversations)))
    except (CannotRun, CannotSimulate, DocumentError, ServerFailed) as error:
        return refuse("simulate", error, code=NOT_SIMULATED)
    except KeyboardInterrupt:
        return refuse("simulate", "stopped", code=STOPPED)
    if options.json:
        print(json.dumps(json_report(conversations), indent=2, ensure_ascii=False))
    else:
        print(text_report(conversations))
    return 0 if all(conversation.passed for conversation in conversations) else FAILED


def _read_conversations(options: Namespace) -> Iterator[SimulatedConversation]:
    """Yield a conversation for each scripted user of the file; raises CannotSimulate without one,
    or for options that do not fit."""
    is_url = options.agent.startswith(("http://", "https://"))
    command = [] if is_url else parse_command(options.agent)
    sources = to_documents(options.file)
    scripts = scripts_of(load_documents(sources))
    documents = [*map(dump, load_documents([*sources, *to_documents(options.scenario)]))]
    if not scripts:
        raise CannotSimulate(f"{options.file}: no scenario has a scripted user; add the key user")
    if options.timeout <= 0:
        raise CannotSimulate("--timeout: expected more than 0 seconds")
    with ExitStack() as stack:
        server = None
        if options.server or not is_url:
            server = stack.enter_context(_open_server(options.server))
        for name, script in scripts.items():
            if script.needs_calls and server is None and not is_chat_api(options.agent):
                needs = "call and not_call need --server, the mockllm server of the agent"
                raise CannotSimulate(f"{name}: {needs}")
            session = _open_session(server, name, options.key) if server else None
            with ExitStack() as ending:
                if server and session:
                    ending.callback(server.end_session, session)
                    session.scenario(*documents)
                agent = ending.enter_context(_open_agent(options, command, session))
                yield simulate(name, script, agent, session=session)


def parse_command(text: str) -> list[str]:
    """Return the words of a command line; raises CannotSimulate."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise CannotSimulate(f"--agent: {error}: {text}") from None
    if not words:
        raise CannotSimulate("--agent: expected a URL or a command")
    return words


@contextmanager
def _open_server(url: str | None) -> Iterator[SharedServer]:
    """Yield the running server at the URL, or a new one."""
    with ExitStack() as stack:
        token = os.environ.get(TOKEN_VARIABLE, "") if url else ""
        base_url = url or stack.enter_context(server_process(ServerOptions()))[0]
        control = Control(base_url.rstrip("/"), token=token)
        yield stack.enter_context(closing(SharedServer(control, exclusive=True)))


def _open_session(server: SharedServer, name: str, key: str | None) -> Mockllm:
    """Return the fresh session of a conversation."""
    session = Mockllm(server.control, key) if key else server.session(name)
    server.control.send("POST", "reset", {"session": session.session, "scenarios": True})
    return session


@contextmanager
def _open_agent(
    options: Namespace, command: Sequence[str], session: Mockllm | None
) -> Iterator[Agent]:
    """Yield the agent of one conversation."""
    if not command:
        key = options.key or (session.api_key if session else "mockllm-simulate")
        at = agent_at(options.agent, key=key, model=options.model, timeout=options.timeout)
        with at as agent:
            yield agent
        return
    assert session is not None
    with agent_command(
        command, session.base_url, key=session.api_key, timeout=options.timeout, until=options.until
    ) as agent:
        yield agent
