"""People in the admin: a name, a password and a role. A grant is limited by one's own rights."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, Permission, User
from django.contrib.auth.password_validation import validate_password
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from unfold.forms import AdminPasswordChangeForm, UserChangeForm
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminSelectWidget

from mockllm_site.kit.admin.kept_forms import KeptFormAdmin
from mockllm_site.roles import ROLES

admin.site.unregister(User)
admin.site.unregister(Group)


def permissions_of(row: User | Group) -> set[int]:
    """Return the keys of a group's permissions, or of those that a user has if they are active."""
    holds = Q(group=row) if isinstance(row, Group) else Q(user=row) | Q(group__user=row)
    return set(Permission.objects.filter(holds).values_list("pk", flat=True))


def may_manage(request: HttpRequest, row: User | Group | None) -> bool:
    """Return True if a user or group can do nothing that the person of the request cannot."""
    person: Any = request.user
    if row is None or row.pk is None or person.is_superuser:
        return True
    if isinstance(row, User) and row.is_superuser:
        return False
    return permissions_of(row) <= permissions_of(person)


def role_of(user: User) -> Group | None:
    """Return the first of a user's roles in the order of ROLES, which begins with the most."""
    groups = {group.name: group for group in user.groups.filter(name__in=ROLES)}
    return next((groups[name] for name in ROLES if name in groups), None)


class RoleForm(forms.ModelForm):
    """A form of a user with their role; the admin sets the `roles` that it offers."""

    role = forms.ModelChoiceField(
        Group.objects.none(),
        required=False,
        empty_label="No role: sees nothing yet",
        widget=UnfoldAdminSelectWidget,
        help_text="What each role may do is in the documentation (Help).",
    )
    roles: QuerySet[Group] = Group.objects.none()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if (field := self.fields.get("role")) is not None:
            field.queryset = self.roles  # type: ignore[attr-defined]
            self.initial["role"] = self.instance.pk and role_of(self.instance)

    def save_role(self) -> None:
        """Store the role of a stored user, if it was changed; other groups stay."""
        if "role" not in self.changed_data:
            return
        self.instance.groups.remove(*Group.objects.filter(name__in=ROLES))
        if (role := self.cleaned_data["role"]) is not None:
            self.instance.groups.add(role)


class AddPersonForm(RoleForm):
    password = forms.CharField(
        strip=False, widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"})
    )

    class Meta:
        model = User
        fields = ("username",)

    def clean_password(self) -> str:
        """Return the password; raise a ValidationError for a weak one."""
        password: str = self.cleaned_data["password"]
        validate_password(password, self.instance)
        return password

    def save(self, commit: bool = True) -> User:
        """Return the user, who may log in."""
        self.instance.set_password(self.cleaned_data["password"])
        self.instance.is_staff = True
        user: User = super().save(commit)
        return user


class PersonForm(RoleForm, UserChangeForm):
    def save(self, commit: bool = True) -> User:
        """Return the user; one who gets a role may log in."""
        if "role" in self.changed_data and self.cleaned_data["role"] is not None:
            self.instance.is_staff = True
        user: User = super().save(commit)
        return user


@admin.register(User)
class PersonAdmin(UserAdmin, KeptFormAdmin):
    form = PersonForm
    add_form = AddPersonForm
    change_password_form = AdminPasswordChangeForm
    # A form would cut their microseconds off.
    readonly_fields = ("last_login", "date_joined")
    list_display = ("username", "role", "is_active", "last_login")
    list_filter = ("groups", "is_active")
    add_fieldsets = ((None, {"fields": ("username", "password", "role")}),)
    fieldsets = (
        (None, {"fields": ("username", "password", "role", "is_active")}),
        ("Contact", {"fields": (("first_name", "last_name"), "email"), "classes": ["collapse"]}),
    )
    advanced: ClassVar[tuple[str, dict[str, Any]]] = (
        "Advanced",
        {
            "fields": (
                ("is_staff", "is_superuser"), "groups", "user_permissions",
                ("last_login", "date_joined"),
            ),
            "classes": ["collapse"],
        },
    )  # fmt: skip

    @admin.display(description="Role")
    def role(self, user: User) -> str:
        return "superuser" if user.is_superuser else str(role_of(user) or "–")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the fields; only superusers see permissions and groups."""
        fieldsets = super().get_fieldsets(request, obj)
        is_superuser = getattr(request.user, "is_superuser", False)
        return (*fieldsets, self.advanced) if obj and is_superuser else fieldsets

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kw: Any
    ) -> Any:
        """Return the form with the roles that the person may grant."""
        form: Any = super().get_form(request, obj, change=change, **kw)
        roles = Group.objects.filter(name__in=ROLES)
        granted = [role.pk for role in roles if may_manage(request, role)]
        form.roles = roles.filter(pk__in=granted).order_by("name")
        return form

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Save groups and permissions, then the role."""
        super().save_related(request, form, formsets, change)
        form.save_role()

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and may_manage(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and may_manage(request, obj)


@admin.register(Group)
class ThemedGroupAdmin(GroupAdmin, KeptFormAdmin):
    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and may_manage(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and may_manage(request, obj)

    def formfield_for_manytomany(self, db_field: Any, request: Any = None, **kwargs: Any) -> Any:
        """Return the field; of permissions, it offers those that the person has."""
        field: Any = super().formfield_for_manytomany(db_field, request, **kwargs)
        if db_field.name == "permissions" and field and not request.user.is_superuser:
            own: Sequence[int] = sorted(permissions_of(request.user))
            field.queryset = field.queryset.filter(pk__in=own)
        return field
