"""A client of the control API; each error is one line that names the server."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any
from urllib.parse import quote

import httpx2

from scenarios_app.testing.process import ServerFailed, ServerOptions, server_process

TIMEOUT_SECONDS = 30.0
BAD_REQUEST = 400
TOKEN_VARIABLE = "MOCKLLM_CONTROL_TOKEN"


class CallRejected(ServerFailed):
    """The server rejected what a call sent, such as a scenario; `reason` is its message alone."""

    __module__ = "mockllm"

    def __init__(self, reason: str, *, place: str = "") -> None:
        super().__init__(f"{place}: {reason}" if place else reason)
        self.reason = reason


# `__tracebackhide__` keeps these frames out of the tracebacks of tests.
class Control:
    """The control API of one server; `token` is its MOCKLLM_CONTROL_TOKEN, if it has one."""

    def __init__(self, base_url: str, *, token: str = "") -> None:
        self.base_url = base_url
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx2.Client(
            base_url=base_url, headers=headers, trust_env=False, timeout=TIMEOUT_SECONDS
        )

    def send(self, method: str, path: str, body: Any = None, **query: str | None) -> Any:
        """Call a path below `/control/`; return its `read_json`. Raises ServerFailed."""
        __tracebackhide__ = True
        return self.read_json(self.send_request(method, path, body, None, **query))

    def read_json(self, response: httpx2.Response) -> Any:
        """Return a response's JSON, or None for an empty body. Raises ServerFailed for an error, a
        redirect, and a body that is no JSON; CallRejected for status 400."""
        __tracebackhide__ = True
        if response.is_success:
            with suppress(ValueError):
                return response.json() if response.content else None
        message, request = self._error_message(response), response.request
        place = f"{request.method} {request.url.path}"
        if response.status_code == BAD_REQUEST:
            raise CallRejected(message, place=place)
        raise ServerFailed(f"{place}: {message}")

    def send_request(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        **query: str | None,
    ) -> httpx2.Response:
        """Send a request and return its response, also an error; ServerFailed if there is none."""
        __tracebackhide__ = True
        params = {name: value for name, value in query.items() if value is not None}
        try:
            return self._http.request(
                method, f"/control/{path}", json=body, params=params, headers=headers
            )
        except httpx2.TimeoutException:
            raise ServerFailed(
                f"the mockllm server at {self.base_url} has not answered {method} /control/{path} "
                f"for {TIMEOUT_SECONDS:g} s"
            ) from None
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise ServerFailed(
                f"no mockllm server answers at {self.base_url}: {error or type(error).__name__}"
            ) from None

    def journal(self, session: str | None = None, *, bodies: bool = False) -> list[dict[str, Any]]:
        """Return the journal of a session, or of all, in the order in which responses ended;
        `bodies` adds the headers and bodies of both messages."""
        entries: list[dict[str, Any]] = []
        after: str | None = ""
        more = "true" if bodies else None
        while after is not None:
            page = self.send("GET", "requests", session=session, after=after or None, bodies=more)
            entries += page["requests"]
            after = page["next"]
        return entries

    def close(self) -> None:
        self._http.close()

    def _error_message(self, response: httpx2.Response) -> str:
        """Return the message of a response, or that it is not from a mockllm server."""
        try:
            message = str(response.json()["message"])
        except (ValueError, KeyError, TypeError):
            return f"{self.base_url} answers {response.status_code}, and not as a mockllm server"
        if response.status_code in (401, 403):
            return f"{message} Tests read the token from {TOKEN_VARIABLE}."
        return message


def scenario_path(name: str, *rest: str) -> str:
    """Return the path of a scenario below `/control/`."""
    return "/".join(("scenarios", quote(name, safe=""), *rest))


@contextmanager
def controlled_server(options: ServerOptions | None = None) -> Iterator[Control]:
    """Run a server; yield a client of its control API. Raises ServerFailed."""
    server = server_process(options or ServerOptions())
    with server as (base_url, _), closing(Control(base_url)) as control:
        yield control
