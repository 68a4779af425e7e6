"""Settings of the suite: test mode without this machine's environment and `.env`.

TEST_DATABASE=postgres selects PostgreSQL.
"""

import os

from environ import Env

from mockllm_site.kit import env
from tests.support.database_engine import ON_POSTGRES, POSTGRES

env.variables().maps[1:] = []

from mockllm_site.settings_test import *  # noqa: E402, F403

if ON_POSTGRES:
    # As in dev and prod; SQLite's run has the tables of test mode.
    MIGRATION_MODULES = {}
    DATABASES = {
        "default": {
            **Env.db_url_config(POSTGRES),
            # No test checks what a power failure leaves.
            "OPTIONS": {"options": "-c synchronous_commit=off"},
            # One database for each process: the server may have other runs at the same time.
            "TEST": {"NAME": f"mockllm_suite_{os.getpid()}"},
        }
    }
