"""Users and groups in the theme of the admin."""

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from mockllm_site.kit.admin.kept_forms import KeptFormAdmin

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class ThemedUserAdmin(UserAdmin, KeptFormAdmin):  # type: ignore[misc]
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    # A save would cut their microseconds off.
    readonly_fields = ("last_login", "date_joined")


@admin.register(Group)
class ThemedGroupAdmin(GroupAdmin, KeptFormAdmin):
    pass
