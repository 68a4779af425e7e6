"""Starts, drains and stops the chat in a server process; does nothing in a light server."""

from django.apps import apps


def is_installed() -> bool:
    """Return True if this process has the chat."""
    return apps.is_installed("chat_app")


def servers_problem() -> str:
    """Return what is wrong with the file that names the MCP servers, or an empty string."""
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
    """Return True if a profile is stored."""
    from chat_app.models import ModelProfile

    return ModelProfile.objects.exists()


async def start() -> None:
    """Start the chat: end the runs of dead processes."""
    if is_installed():
        from chat_app.runs.startup import end_dead_runs_at_start

        await end_dead_runs_at_start()


def warm_up() -> None:
    """Start to load the pages, import the SDKs and open the MCP servers of the chat."""
    if is_installed():
        from chat_app import loop
        from chat_app.runs.startup import warm_up as warm_up_chat
        from mockllm_site.serve.routes import load_routes

        loop.submit(load_routes())
        warm_up_chat()


def drain(seconds: float) -> None:
    """Give running answers this many seconds to end, and do not wait; for signal handlers."""
    if is_installed():
        from chat_app.runs.registry import end_runs_within

        end_runs_within(seconds)


def stop(seconds: float) -> None:
    """Stop the chat's event loop after its runs end, or after this many seconds."""
    if is_installed():
        from chat_app import loop

        loop.stop(seconds)
