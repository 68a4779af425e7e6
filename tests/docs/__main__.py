"""`make docs`, or `python -m tests.docs`: update tables and addresses in the pages, and build the
site."""

import os

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()

# Imported late: the tables of the control API need Django's settings.
from tests.docs import llms, repository, site, tables, terminal  # noqa: E402

tables.main()
repository.main()
terminal.main()
site.main()
llms.write(site.BUILD_FOLDER)
