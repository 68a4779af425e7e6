"""The admin's login form, which names who can help an account without a role. It is not in
`admin.py`, because the admin site imports it while it is made."""

from typing import Any

from django.core.exceptions import ValidationError
from unfold.forms import AuthenticationForm

from mockllm_site.kit.permissions import without_role


class PersonLoginForm(AuthenticationForm):
    def confirm_login_allowed(self, user: Any) -> None:
        """Raise a ValidationError, for an account without staff status with who can help."""
        if user.is_active and not user.is_staff:
            raise ValidationError(without_role(user), code="no_role")
        super().confirm_login_allowed(user)
