"""`make docs`, or `python -m tests.docs`: writes the tables of the pages anew."""

import os

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()

# Only now: the tables of the control API want Django's settings.
from tests.docs.tables import main  # noqa: E402

main()
