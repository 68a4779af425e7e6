"""The admin's routes, apart from the others: Django imports them with the first that is wanted."""

from django.contrib import admin

admin.autodiscover()

urlpatterns, _, _ = admin.site.urls
