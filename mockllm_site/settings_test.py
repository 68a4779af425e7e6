"""Test mode: an in-memory database, clean at each start, plain HTTP on 5099, a frozen clock."""

from mockllm_site.kit import env

# Before the star: test mode ignores both addresses, also those of the environment and `.env`.
env.variables().update(MOCKLLM_ENV="test", DATABASE_URL="", REDIS_URL="")

from mockllm_site.settings import *  # noqa: E402, F403

MOCKLLM_ENV = "test"
MOCKLLM_PORT = 5099
MOCKLLM_CLOCK = "2025-01-01T00:00:00Z"

# `memdb` is one database for all threads of the process, alive while a connection is open;
# the `mode=memory` inside the test name is for Django's eyes, SQLite does not know the key.
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": "file:/mockllm?vfs=memdb",
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20},
        "TEST": {"NAME": "file:/mockllm_test?vfs=memdb&xmode=memory"},
    }
}
# A database that is new at each start is never migrated: its tables are made of the models, in a
# fifth of the time.
MIGRATION_MODULES = dict.fromkeys(
    (
        *("admin", "auth", "axes", "contenttypes", "sessions"),
        *("chat_app", "scenarios_app", "traces_app"),
    )
)
# Nothing here outlives the process: logging in may be cheap.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
