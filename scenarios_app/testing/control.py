"""The control API of a server, as tests use it: each failure is one line that names the server."""

from typing import Any
from urllib.parse import quote

import httpx2

TIMEOUT_SECONDS = 30.0
TOKEN = "MOCKLLM_CONTROL_TOKEN"
_CLOSED = (401, 403)


class ServerFailed(Exception):
    """The server did not start, has gone, or refused what it was asked; the message says why."""


# In a test's traceback (`__tracebackhide__`) stands the test's own line, not ours.
class Control:
    """One server's control API. `token` is its MOCKLLM_CONTROL_TOKEN, where it wants one."""

    def __init__(self, base_url: str, *, token: str = "") -> None:
        self.base_url = base_url
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx2.Client(
            base_url=base_url, headers=headers, trust_env=False, timeout=TIMEOUT_SECONDS
        )

    def send(self, method: str, path: str, body: Any = None, **query: str | None) -> Any:
        """The JSON of an answer below `/control/`; raises ServerFailed for any error."""
        __tracebackhide__ = True
        response = self.response(method, path, body, **query)
        if response.is_error:
            raise ServerFailed(f"{method} {response.request.url.path}: {self._said(response)}")
        return response.json() if response.content else None

    def response(
        self, method: str, path: str, body: Any = None, **query: str | None
    ) -> httpx2.Response:
        """The answer, an error too; raises ServerFailed where there is none."""
        __tracebackhide__ = True
        given = {name: value for name, value in query.items() if value is not None}
        try:
            return self._http.request(method, f"/control/{path}", json=body, params=given)
        except httpx2.TimeoutException:
            raise ServerFailed(
                f"the mockllm server at {self.base_url} has not answered {method} /control/{path} "
                f"for {TIMEOUT_SECONDS:g} s"
            ) from None
        except (httpx2.TransportError, httpx2.InvalidURL) as error:
            raise ServerFailed(
                f"no mockllm server answers at {self.base_url}: {error or type(error).__name__}"
            ) from None

    def requests(self, session: str | None = None) -> list[dict[str, Any]]:
        """The journal of a session, or of all, in the order in which answers ended."""
        found: list[dict[str, Any]] = []
        after: str | None = ""
        while after is not None:
            page = self.send("GET", "requests", session=session, after=after or None)
            found += page["requests"]
            after = page["next"]
        return found

    def close(self) -> None:
        self._http.close()

    def _said(self, response: httpx2.Response) -> str:
        try:
            message = str(response.json()["message"])
        except (ValueError, KeyError, TypeError):
            return f"{self.base_url} answers {response.status_code}, and not as a mockllm server"
        if response.status_code in _CLOSED:
            return f"{message} Tests read the token from {TOKEN}."
        return message


def scenario_path(name: str, *rest: str) -> str:
    """The route of a scenario below `/control/`."""
    return "/".join(("scenarios", quote(name, safe=""), *rest))
