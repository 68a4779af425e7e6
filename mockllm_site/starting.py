"""What a server finds when it starts: what is configured loaded, and what a newcomer needs."""

import secrets
import sys
from collections.abc import Sequence

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.serializers.base import DeserializationError

from chat_app.models import ModelProfile
from chat_app.tools.servers import ServersError, check_servers_file
from chat_app.warming import warm_up as warm_up_chat
from scenarios_app.engine.document import DocumentError, ScenarioDocument
from scenarios_app.engine.files import read_files
from scenarios_app.loading import load
from scenarios_app.models import Scenario

ADMIN = "admin"
DEMO = "demo"
PROFILES = "profiles"
TEST_MODE = "test_mode"


class CannotLoad(Exception):
    """Something that was asked for cannot be loaded; the message names it and the place in it."""


def read_scenarios() -> list[ScenarioDocument]:
    """The documents that MOCKLLM_SCENARIOS names, checked before anything else is done."""
    try:
        return read_files(settings.MOCKLLM_SCENARIOS)
    except DocumentError as error:
        raise CannotLoad(f"MOCKLLM_SCENARIOS: {error}") from None


def check_tools() -> None:
    """Look at the file that names the MCP servers; they themselves are opened later."""
    try:
        check_servers_file()
    except ServersError as error:
        raise CannotLoad(f"MCP_SERVERS: {error}") from None


def load_scenarios(documents: Sequence[ScenarioDocument]) -> None:
    """Let the files' scenarios take the place of those of their names."""
    try:
        load(documents)
    except DocumentError as error:
        raise CannotLoad(f"MOCKLLM_SCENARIOS: {error}") from None


def load_fixtures(names: Sequence[str]) -> None:
    """Load fixtures by name, all of one or nothing."""
    for name in names:
        try:
            call_command("loaddata", name, verbosity=0)
        except DeserializationError as error:
            raise CannotLoad(f"fixture {name}: {error}") from None


def load_test_mode() -> None:
    """Give test mode the scenario that answers everything."""
    if settings.MOCKLLM_ENV == "test":
        load_fixtures([TEST_MODE])


def load_demo(*, catch_all: bool) -> None:
    """Give an empty database of dev something to look at, and profiles to compare."""
    if settings.MOCKLLM_ENV != "dev":
        return
    if not Scenario.objects.exists():
        load_fixtures([DEMO, TEST_MODE] if catch_all else [DEMO])
    if not ModelProfile.objects.exists():
        load_fixtures([PROFILES])


def create_admin() -> None:
    """Create the first user. In dev there is always one; elsewhere one whose password is set."""
    users = get_user_model().objects
    password = settings.MOCKLLM_ADMIN_PASSWORD
    if not password and settings.MOCKLLM_ENV != "dev":
        return
    if users.filter(username=ADMIN).exists():
        return
    chosen = password or secrets.token_urlsafe(12)
    users.create_superuser(ADMIN, password=chosen)
    if not password:
        # The only time that it is to be seen.
        print(f"created the user {ADMIN}, password {chosen}", file=sys.stderr, flush=True)


def warm_up() -> None:
    """Let the first message of the chat wait for nothing. Test mode has thousands of servers, and
    few of them ever chat."""
    if settings.MOCKLLM_ENV != "test":
        warm_up_chat()
