"""Django settings of dev and prod. `kit.settings_table` declares what the environment sets.

A light server has the providers and the control API alone (MOCKLLM_LIGHT, decision 0048).
"""

import re
import secrets
import sys
from functools import partial
from typing import Any

import msgspec
from django.utils.functional import SimpleLazyObject

from mockllm_site import __version__, paths
from mockllm_site.kit import env
from mockllm_site.kit.setting_kinds import parse_database
from mockllm_site.secret_key import NEW_KEY_BYTES, key_file, load_or_store_key

# Test mode is the module `settings_test`; this module in test mode means dev.
PROD = env.read_mode(env.variables()) == "prod"

# Every setting of the table becomes a variable of this module, except the database's address, which
# may contain a password.
_VALUES = env.read_settings(prod=PROD)
globals().update(msgspec.structs.asdict(_VALUES))
del globals()["DATABASE_URL"]
_DATABASE = _VALUES.DATABASE_URL or parse_database("")
MOCKLLM_ENV = "prod" if PROD else "dev"

if not _VALUES.MOCKLLM_LIGHT:
    env.require_server()
if PROD:
    env.check_secret_key("SECRET_KEY")
# Resolved at its first use: commands that sign nothing leave no file.
SECRET_KEY: Any = _VALUES.SECRET_KEY or SimpleLazyObject(
    partial(load_or_store_key, key_file(_DATABASE), secrets.token_urlsafe(NEW_KEY_BYTES))
)
DEBUG = _VALUES.DEBUG and not PROD
_ADMIN_HOST = [_VALUES.MOCKLLM_ADMIN_HOST] if _VALUES.MOCKLLM_ADMIN_HOST else []
ALLOWED_HOSTS = [*_VALUES.ALLOWED_HOSTS, *(re.sub(r":\d+$", "", host) for host in _ADMIN_HOST)]
DATABASES = {"default": _DATABASE}
MOCKLLM_PORT = 8000
MOCKLLM_CLOCK: str | None = None
# In-process transports for clients, as dotted paths, so that the chat does not import the mock.
MOCKLLM_TRANSPORT = "scenarios_app.serving.transport.MockTransport"
MOCKLLM_SYNC_TRANSPORT = "scenarios_app.serving.sync_transport.SyncMockTransport"

# Django's limits are just above ours, so that our errors are shown. The admin page of a scenario
# with 300 steps posts thousands of fields.
DATA_UPLOAD_MAX_MEMORY_SIZE = _VALUES.MOCKLLM_MAX_BODY_BYTES + 1
DATA_UPLOAD_MAX_NUMBER_FIELDS = 50_000


# ── Django ──
def _unless_light(*names: str) -> tuple[str, ...]:
    """Return the names, or none in a light server."""
    return () if _VALUES.MOCKLLM_LIGHT else names


INSTALLED_APPS = [
    # Importing Twisted takes a second, so only `runserver` does it.
    *(_unless_light("daphne") if "runserver" in sys.argv else ()),
    *_unless_light(
        "unfold",
        "unfold.contrib.filters",
        "unfold.contrib.forms",
        "mockllm_site.lazy_admin.LazyAdmin",
    ),
    "django.contrib.auth",
    "django.contrib.contenttypes",
    *_unless_light(
        "django.contrib.sessions", "django.contrib.messages", "django.contrib.staticfiles"
    ),
    "rest_framework",
    *_unless_light("drf_spectacular", "channels", "axes"),
    "mockllm_site",
    "scenarios_app",
    *_unless_light("chat_app", "traces_app"),
]

# All of it runs in the event loop, and only the first two for providers' requests. A site's own
# middleware may stand anywhere, and sees these too.
MIDDLEWARE = [
    "mockllm_site.kit.streams.close_lost_streams",
    "mockllm_site.middleware.provider_requests.ProviderRequests",
    "mockllm_site.pages.errors.CompleteErrors",
    "mockllm_site.middleware.pages.TestMode",
    "mockllm_site.middleware.pages.Security",
    "mockllm_site.middleware.pages.SecurityHeaders",
    "mockllm_site.middleware.pages.AdminHost",
    *_unless_light("mockllm_site.middleware.static_files.StaticFiles"),
    "mockllm_site.middleware.pages.Common",
    "mockllm_site.middleware.pages.FrameOptions",
    *_unless_light(
        "mockllm_site.middleware.logins.Sessions",
        "mockllm_site.middleware.logins.Csrf",
        "mockllm_site.middleware.logins.Users",
        "mockllm_site.middleware.logins.Messages",
        "mockllm_site.middleware.logins.Authors",
        "axes.middleware.AxesMiddleware",
    ),
]

ROOT_URLCONF = "mockllm_site.routes.light" if _VALUES.MOCKLLM_LIGHT else "mockllm_site.urls"
ASGI_APPLICATION = "mockllm_site.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        # Searched before the apps, because some templates replace the admin theme's.
        "DIRS": [paths.PACKAGE / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {"page_links": "mockllm_site.pages.home"},
        },
    }
]
if _VALUES.MOCKLLM_LIGHT:
    TEMPLATES = []
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# Django refuses an app's own fixture folder here.
FIXTURE_DIRS = [] if paths.IN_WHEEL else [paths.FIXTURES]
# Rows of scenarios in fixtures are documents.
SERIALIZATION_MODULES = {
    name: f"scenarios_app.store.fixtures.{name}" for name in ("json", "jsonl", "yaml")
}
LANGUAGE_CODE = "en"
FORMAT_MODULE_PATH = "mockllm_site.formats"
TIME_ZONE = "UTC"
USE_TZ = True

if not _VALUES.MOCKLLM_LIGHT:
    from mockllm_site.pages.theme import UNFOLD as UNFOLD
LOGIN_URL = "/admin/login/"
LOGIN_REDIRECT_URL = "/admin/"
# Ten wrong passwords for a name from one address lock that pair; each is logged.
AUTHENTICATION_BACKENDS = [
    *_unless_light("axes.backends.AxesStandaloneBackend"),
    "django.contrib.auth.backends.ModelBackend",
]
AXES_FAILURE_LIMIT = 10
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_COOLOFF_TIME = "mockllm_site.kit.client_address.cool_off"
AXES_CLIENT_IP_CALLABLE = "mockllm_site.kit.client_address.client_address"
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_LOCKOUT_CALLABLE = "mockllm_site.pages.errors.locked_out"
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
# The log shows the names, to tell who tries passwords.
AXES_SENSITIVE_PARAMETERS: list[str] = []
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# Static files are served from the packages, without `collectstatic`.
STATIC_URL = "/static/"
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False

if _VALUES.REDIS_URL:
    CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.core.RedisChannelLayer",
            # Longer than the 5 s for which a listener waits for each message.
            "CONFIG": {"hosts": [{"address": _VALUES.REDIS_URL, "socket_timeout": 30}]},
        }
    }
else:
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}

REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "mockllm",
    "DESCRIPTION": "Scenarios, journal and verification of the mock server.",
    "VERSION": __version__,
    # OpenAPI 3.1 uses JSON Schema, in which scenario documents are described.
    "OAS_VERSION": "3.1.0",
    # The only choices that occur under several field names.
    "ENUM_NAME_OVERRIDES": {"RunStatusEnum": "traces_app.models.Status"},
    # Each API has its own document, which tests compare with its answers; this check would merge
    # all into one, in which names collide.
    "ENABLE_DJANGO_DEPLOY_CHECK": False,
}

# A proxy in front ends TLS (`serve` speaks plain HTTP and trusts no forwarded header). So prod has
# secure cookies and trusts the https origins of its hosts, but never redirects.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PROD
# HSTS and redirects of plain HTTP belong to the proxy that ends TLS: Django does not know the
# client's scheme here.
# Django looks for its own middleware by name, and finds subclasses of it.
SILENCED_SYSTEM_CHECKS = [f"security.W00{number}" for number in (1, 2, 3, 4, 8)]
CSRF_TRUSTED_ORIGINS = [
    f"https://{'*' if host.startswith('.') else ''}{host}"
    for host in _ADMIN_HOST or _VALUES.ALLOWED_HOSTS
    if PROD and host != "*"
]

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "mockllm_site.log_filter.MaskingFormatter",
            "fmt": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        }
    },
    "filters": {
        "one_line": {"()": "mockllm_site.log_filter.WithoutTraceback"},
        "scripted": {"()": "mockllm_site.log_filter.WithoutScriptedErrors"},
    },
    # Standard output is for the ready line and the output of commands.
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "stream": "ext://sys.stderr",
            "formatter": "line",
        }
    },
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        "django.server": {"handlers": [], "level": "INFO", "propagate": True},
        # Providers' errors are answers, which the journal has.
        "django.request": {"filters": ["scripted"]},
        # Any client can send a wrong Host header.
        "django.security.DisallowedHost": {"filters": ["one_line"]},
        # Only wrong passwords; at INFO it logs four lines for each login.
        "axes": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        "httpcore2": {"level": "WARNING"},
        "mcp": {"level": "WARNING"},
        "watchfiles": {"level": "WARNING"},
    },
}
