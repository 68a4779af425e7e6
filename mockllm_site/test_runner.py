"""Runs the tests of a Django project that has mockllm among its apps."""

from typing import Any

from django.test.runner import DiscoverRunner

from mockllm_site.serve import lifespan


class TestRunner(DiscoverRunner):
    """Stops the services before the test database is deleted: PostgreSQL keeps a used one."""

    def teardown_databases(self, old_config: Any, **kwargs: Any) -> None:
        lifespan.stop(0.0)
        super().teardown_databases(old_config, **kwargs)
