"""Checks outbound settings, loads scenarios and fixtures, and creates the admin user at a start."""

import secrets
import sys
from collections.abc import Sequence
from threading import Lock

from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import transaction

from mockllm_site import paths
from mockllm_site.serve import chat
from mockllm_site.serve.database import prepare_in_memory
from scenarios_app.catalog import catalog
from scenarios_app.catalog.files import LOADED, FileWatcher
from scenarios_app.cluster import redis_connections
from scenarios_app.engine.document import DocumentError, ScenarioDocument
from scenarios_app.engine.document.files import ScenarioFiles
from scenarios_app.models import CatalogVersion
from scenarios_app.recording.files import read_all
from scenarios_app.recording.upstreams import UpstreamError, read_upstreams
from scenarios_app.serving.services import services
from scenarios_app.store.documents import load

ADMIN = "admin"
DEMO = "demo"
PROFILES = "profiles"
TEST_MODE = "test_mode"
AUTO = "auto"
# Added to the error for a chat fixture in a light server.
NEEDS_CHAT = " A light server has no chat: use `serve` without --light, or `light=False`."

_preparing = Lock()


class CannotLoad(Exception):
    """A requested file or fixture cannot be loaded; the message names it and the place in it."""


def read_scenarios(files: ScenarioFiles) -> list[ScenarioDocument]:
    """Return the documents of MOCKLLM_SCENARIOS; print notes on them. Raise CannotLoad."""
    try:
        scenarios = read_all(files)
    except DocumentError as error:
        raise CannotLoad(f"MOCKLLM_SCENARIOS: {error}") from None
    for note in scenarios.notes:
        print(f"mockllm: MOCKLLM_SCENARIOS: {note}", file=sys.stderr, flush=True)
    files.notes.clear()
    return scenarios.documents


def watch_files(files: ScenarioFiles, documents: Sequence[ScenarioDocument]) -> None:
    """Let the catalog reload the files when they change; `documents` are their present content."""

    def clear_scenario(name: str) -> None:
        async_to_sync(services().state.clear_scenario)(name)

    catalog.files = FileWatcher(files, documents, forget=clear_scenario)


def check_redis() -> None:
    """Raise CannotLoad if Redis is configured and does not answer."""
    shared = redis_connections()
    if shared is not None and (problem := shared.problem()):
        raise CannotLoad(f"REDIS_URL: Redis does not answer ({problem})")


def check_outbound_settings() -> None:
    """Raise CannotLoad if MCP_SERVERS or MOCKLLM_UPSTREAMS is wrong; open no connections."""
    if problem := chat.mcp_servers_problem():
        raise CannotLoad(f"MCP_SERVERS: {problem}")
    try:
        read_upstreams(settings.MOCKLLM_UPSTREAMS)
    except UpstreamError as error:
        raise CannotLoad(f"MOCKLLM_UPSTREAMS: {error}") from None


def load_scenarios(documents: Sequence[ScenarioDocument]) -> None:
    """Store the files' scenarios; each replaces the one of its name. Raise CannotLoad."""
    try:
        load(documents, reason=LOADED)
    except DocumentError as error:
        raise CannotLoad(f"MOCKLLM_SCENARIOS: {error}") from None


def load_fixtures(names: Sequence[str]) -> None:
    """Load shipped fixtures, by name, and fixture files; each completely. Raise CannotLoad."""
    ours = paths.fixture_names()
    for name in names:
        try:
            path = str(paths.FIXTURES / f"{name}.json") if name in ours else name
            call_command("loaddata", path, verbosity=0)
        except CommandError as error:
            hint = NEEDS_CHAT if settings.MOCKLLM_LIGHT and "model identifier" in str(error) else ""
            raise CannotLoad(f"--fixture {name}: {error}{hint}") from error


def load_test_mode() -> None:
    """In test mode load the scenario that answers every request with lorem ipsum."""
    if settings.MOCKLLM_ENV == "test":
        load_fixtures([TEST_MODE])


def prepare_test_mode() -> None:
    """Create the tables of an in-memory database, if it has none, and load test mode's scenario."""
    with _preparing:
        if prepare_in_memory():
            load_test_mode()


def load_demo(*, demo: bool = True, catch_all: bool = True) -> None:
    """Load the fixtures `demo` and `auto` into a new database of a full server in dev; deleted rows
    stay deleted."""
    # This row exists once a scenario was ever stored; it is never deleted.
    if not chat.is_installed() or settings.MOCKLLM_ENV != "dev" or CatalogVersion.objects.exists():
        return
    # If the start is interrupted here, the next one begins again.
    with transaction.atomic():
        if demo:
            load_fixtures([DEMO] if chat.has_profiles() else [DEMO, PROFILES])
        if catch_all:
            load_fixtures([AUTO])


def create_admin() -> None:
    """Create the user `admin` if it is missing, in dev or with MOCKLLM_ADMIN_PASSWORD. Without that
    print a random password. A light server has no admin."""
    if settings.MOCKLLM_LIGHT:
        return
    users = get_user_model().objects
    password = settings.MOCKLLM_ADMIN_PASSWORD
    if not password and settings.MOCKLLM_ENV != "dev":
        return
    if users.filter(username=ADMIN).exists():
        return
    chosen = password or secrets.token_urlsafe(12)
    users.create_superuser(ADMIN, password=chosen)
    if not password:
        # The password is shown only here.
        print(f"created the user {ADMIN}, password {chosen}", file=sys.stderr, flush=True)
