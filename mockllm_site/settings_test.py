"""Test mode: an in-memory database, clean at each start, plain HTTP on 5099, a frozen clock."""

import secrets

from mockllm_site.kit import env
from mockllm_site.secret_key import NEW_KEY_BYTES

# Before the import below: test mode ignores both addresses, also those of `.env`.
env.variables().update(MOCKLLM_ENV="test", DATABASE_URL="", REDIS_URL="")

from mockllm_site.settings import *  # noqa: E402, F403

MOCKLLM_ENV = "test"
# Logins end with the database.
SECRET_KEY = env.variables().get("SECRET_KEY") or secrets.token_urlsafe(NEW_KEY_BYTES)
MOCKLLM_PORT = 5099
MOCKLLM_CLOCK = "2025-01-01T00:00:00Z"

# With `memdb` all threads of the process share one database while a connection is open. Django
# looks for `mode=memory` in the test name; SQLite ignores it.
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": "file:/mockllm?vfs=memdb",
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20},
        "TEST": {"NAME": "file:/mockllm_test?vfs=memdb&xmode=memory"},
    }
}
# A new in-memory database needs no migrations: creating tables from models takes a fifth of the
# time.
MIGRATION_MODULES = dict.fromkeys(
    (
        *("admin", "auth", "axes", "contenttypes", "sessions"),
        *("chat_app", "scenarios_app", "traces_app"),
    )
)
# Passwords do not outlive the process, so a fast hash is enough.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# For projects whose settings begin with these.
TEST_RUNNER = "mockllm_site.test_runner.TestRunner"
