"""`make docs`, or `python -m tests.docs`: update tables and addresses in the pages, and build the
site."""

import os

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()

# Only now: the tables of the control API want Django's settings.
from tests.docs import llms, repository, site, tables  # noqa: E402

tables.main()
repository.main()
site.main()
llms.write(site.BUILT)
