"""The Django project: settings, routes, entry points."""

__version__ = "0.1.0"
