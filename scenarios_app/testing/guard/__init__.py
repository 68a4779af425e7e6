"""Stops requests of a test to real providers before a connection is made, whatever client sends
them: names of known hosts are not resolved, and no TLS handshake is made with them."""

import asyncio
import os
import socket
import ssl
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import signature
from types import FrameType
from typing import Any, Final

import pytest

from scenarios_app.testing.guard.clients import (
    address_of,
    client_line,
    is_library,
    live_clients,
    with_advice,
)
from scenarios_app.testing.variables import has_no_wire
from scenarios_app.wire.upstreams import find_upstream

_GUARD_FOLDER: Final = os.path.join(os.path.dirname(__file__), "")


@dataclass(frozen=True)
class StoppedRequest:
    """A request that was stopped, with its explanation. `is_shown`: it was raised as the failure of
    the test. `is_of_daemon`: a daemon thread sent the request."""

    text: str
    is_shown: bool
    is_of_daemon: bool


@dataclass
class ProviderGuard:
    """Stops the requests of one test; `base_url` is that of its server. In the thread of the test
    the explanation is raised as a failure of pytest, which no SDK catches or retries. Other threads
    get an error of the network, which libraries expect there."""

    base_url: str
    stopped_requests: list[StoppedRequest] = field(default_factory=list)
    _thread: int = field(default_factory=threading.get_ident)
    _reasons_by_host: dict[str, list[str]] = field(default_factory=dict)

    @contextmanager
    def active(self) -> Iterator[None]:
        """Patch name lookups and TLS of this process while the context is open."""
        with pytest.MonkeyPatch.context() as patch:
            self._guard_name_lookups(patch)
            self._guard_handshakes(patch)
            yield

    def _guard_name_lookups(self, patch: pytest.MonkeyPatch) -> None:
        """Replace name lookups, those of event loops too, by ones that refuse providers."""
        resolve = socket.getaddrinfo

        def getaddrinfo(host: Any, *args: Any, **options: Any) -> Any:
            self._check(host, socket.gaierror)
            return resolve(host, *args, **options)

        patch.setattr(socket, "getaddrinfo", getaddrinfo)
        # Event loops resolve names in another thread, so each is stopped before.
        uvloop: Any = sys.modules.get("uvloop")
        for loop in (asyncio.BaseEventLoop, *((uvloop.Loop,) if uvloop else ())):
            patch.setattr(loop, "getaddrinfo", self._guard_loop_lookup(loop.getaddrinfo))

    def _guard_loop_lookup(self, resolve: Any) -> Any:
        """Return `resolve`, the `getaddrinfo` of an event loop, with a check before it."""

        async def getaddrinfo(loop: Any, host: Any, *args: Any, **options: Any) -> Any:
            self._check(host, socket.gaierror)
            return await resolve(loop, host, *args, **options)

        return getaddrinfo

    def _guard_handshakes(self, patch: pytest.MonkeyPatch) -> None:
        """Refuse TLS with the hosts: clients behind a proxy or with their own resolver do not ask
        for names here."""
        # A proxy's tunnel is wrapped in TLS under the name of the host behind it.
        for name in ("wrap_socket", "wrap_bio"):
            wrap = getattr(ssl.SSLContext, name)
            patch.setattr(ssl.SSLContext, name, self._guard_tls_wrap(wrap))

    def _guard_tls_wrap(self, wrap: Any) -> Any:
        """Return `wrap`, a method of SSLContext, with a check of `server_hostname` before it."""
        parameters = signature(wrap)
        # Event loops call `wrap_bio` in callbacks, where a failure of pytest would be lost.
        is_callback = wrap.__name__ == "wrap_bio"

        def check_and_wrap(*args: Any, **options: Any) -> Any:
            host = parameters.bind(*args, **options).arguments.get("server_hostname")
            self._check(host, ssl.SSLError, is_callback=is_callback)
            return wrap(*args, **options)

        return check_and_wrap

    def _check(self, name: Any, error: type[OSError], *, is_callback: bool = False) -> None:
        """Record the request and raise if the name is that of a real provider's host: pytest's
        failure in the thread of the test, `error` in other threads and in callbacks."""
        __tracebackhide__ = True
        host = _normalize_host(name)
        if find_upstream(host) is None and not has_no_wire(host):
            return
        is_own_thread = threading.get_ident() == self._thread and not is_callback
        text = self._explanation(host)
        is_of_daemon = threading.current_thread().daemon
        self.stopped_requests.append(StoppedRequest(text, is_own_thread, is_of_daemon))
        if is_own_thread:
            raise pytest.fail.Exception(f"mockllm: {text}", pytrace=False)
        raise error(socket.EAI_FAIL, f"mockllm: {text}")

    def _explanation(self, host: str) -> str:
        """Return why a request was stopped, which clients may have sent it, and how to allow it."""
        first = f"stopped a request to {host}, a real provider, before it was sent{_find_caller()}"
        last = "a test that is to call the provider: @pytest.mark.mockllm(guard=False)"
        return "\n  ".join((first, *self._reasons(host), last))

    def _reasons(self, host: str) -> list[str]:
        """Return the clients that may have sent a request to a host, and what to do."""
        if host not in self._reasons_by_host:
            clients = [client for client in live_clients() if client.host == host]
            # Of others some may be left over from earlier tests.
            clients = [client for client in clients if client.location] or clients
            api = find_upstream(host)
            lines = with_advice(client_line(client, self.base_url) for client in clients)
            instead = "mockllm has no such API"
            if api:
                instead = f"send it to {address_of(api, self.base_url)}, the test's server"
            self._reasons_by_host[host] = lines or [instead]
        return self._reasons_by_host[host]


def _normalize_host(name: Any) -> str:
    """Return the host in lower case without a final dot; empty if it is no text."""
    if isinstance(name, bytes | bytearray):
        name = name.decode("ascii", "replace")
    return name.lower().rstrip(".") if isinstance(name, str) else ""


def _find_caller() -> str:
    """Return ` (FILE:LINE)` of the innermost frame outside libraries, or an empty string."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_library(file) and not file.startswith((_GUARD_FOLDER, "<")):
            return f" ({os.path.relpath(file)}:{frame.f_lineno})"
        frame = frame.f_back
    return ""
