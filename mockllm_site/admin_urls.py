"""The admin's routes, a module of their own: Django imports it at the first request for one."""

from django.contrib import admin

admin.autodiscover()

urlpatterns, _, _ = admin.site.urls
