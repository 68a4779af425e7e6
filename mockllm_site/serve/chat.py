"""Starts, drains and stops the chat in a server process; does nothing without the app."""

from django.apps import apps


def is_installed() -> bool:
    """Return True if `chat_app` is installed: a light server does without it."""
    return apps.is_installed("chat_app")


def mcp_servers_problem() -> str:
    """Return what is wrong with the file of MCP_SERVERS, or an empty string."""
    if is_installed():
        from chat_app.tools.servers import ServersError, named_servers

        try:
            named_servers()
        except ServersError as error:
            return str(error)
    return ""


def create_default_profile() -> None:
    """Create the default profile if it is missing."""
    if is_installed():
        from chat_app.profiles import default_profile

        default_profile()


def has_profiles() -> bool:
    """Return True if a profile is stored; only if the chat is installed."""
    from chat_app.models import ModelProfile

    return ModelProfile.objects.exists()


async def start() -> None:
    """Start the chat: end the runs of dead processes."""
    if is_installed():
        from chat_app.runs.startup import end_dead_runs_at_start

        await end_dead_runs_at_start()


def warm_up() -> None:
    """Import the pages and SDKs and open the MCP servers, in other threads; do not wait."""
    if is_installed():
        from chat_app.runs.startup import warm_up as warm_up_chat
        from mockllm_site.routes.imports import page_modules

        warm_up_chat(page_modules())


def drain(seconds: float) -> None:
    """End running answers after this many seconds; do not wait. Callable in signal handlers."""
    if is_installed():
        from chat_app.runs.registry import end_runs_within

        end_runs_within(seconds)


def stop(seconds: float) -> None:
    """Wait at most this many seconds for running answers, then stop the chat's event loop."""
    if is_installed():
        from chat_app import loop

        loop.stop(seconds)
