"""The public names of mockllm, for tests and scripts; each is imported at its first use.

    from mockllm import SyncMockTransport, openai, running_server, scenario

The pytest plugin needs no import; `Mockllm` is the type of its fixture `mockllm`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mockllm_site import __version__

if TYPE_CHECKING:
    from mockllm_site.serve.in_process import MockTransport, SyncMockTransport
    from scenarios_app.builder import (
        Provider,
        ScenarioBuilder,
        anthropic,
        any_provider,
        gemini,
        ollama,
        openai,
        provider,
        scenario,
    )
    from scenarios_app.engine.document import DocumentError
    from scenarios_app.testing.control import CallRejected, ServerFailed
    from scenarios_app.testing.server import RunningServer, running_server
    from scenarios_app.testing.stubs import Mockllm

__all__ = [
    "CallRejected",
    "DocumentError",
    "MockTransport",
    "Mockllm",
    "Provider",
    "RunningServer",
    "ScenarioBuilder",
    "ServerFailed",
    "SyncMockTransport",
    "__version__",
    "anthropic",
    "any_provider",
    "gemini",
    "ollama",
    "openai",
    "provider",
    "running_server",
    "scenario",
]

_MODULES = {
    "CallRejected": "scenarios_app.testing.control",
    "DocumentError": "scenarios_app.engine.document",
    "MockTransport": "mockllm_site.serve.in_process",
    "Mockllm": "scenarios_app.testing.stubs",
    "RunningServer": "scenarios_app.testing.server",
    "ServerFailed": "scenarios_app.testing.control",
    "SyncMockTransport": "mockllm_site.serve.in_process",
    "running_server": "scenarios_app.testing.server",
}


def __getattr__(name: str) -> Any:
    """Import and return a name, of the builder if it is not in `_MODULES`; else AttributeError."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES.get(name, "scenarios_app.builder")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
