"""The form in which a request to be tried is described."""

from typing import Any

from django import forms

from scenarios_app.wire.registry import owns, ways
from scenarios_app.wire.samples import Asked


class TryForm(forms.Form):
    """A request in a few fields, or as it stands: then `path` and `body` are sent."""

    user = forms.CharField(
        label="User message", required=False, strip=False, widget=forms.Textarea({"rows": 3})
    )
    provider = forms.ChoiceField(
        label="Provider",
        choices=lambda: [(name, wire.title) for name, wire in ways().items()],
    )
    model = forms.CharField(label="Model", required=False, initial="gpt-4o")
    system = forms.CharField(
        label="System prompt", required=False, strip=False, widget=forms.Textarea({"rows": 2})
    )
    tools = forms.CharField(label="Tools offered", required=False)
    called = forms.CharField(label="Tool that was called", required=False)
    result = forms.CharField(
        label="Its result", required=False, strip=False, widget=forms.Textarea({"rows": 2})
    )
    turn = forms.IntegerField(label="Turn", min_value=1, max_value=1_000, initial=1)
    stream = forms.BooleanField(label="Streamed", required=False, initial=True)
    session = forms.CharField(label="Session", required=False, max_length=200)
    path = forms.CharField(label="Path", required=False)
    body = forms.CharField(
        label="Body", required=False, strip=False, widget=forms.Textarea({"rows": 8})
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            widget = field.widget
            if not isinstance(widget, forms.CheckboxInput):
                area = " sc-area" if isinstance(widget, forms.Textarea) else ""
                widget.attrs["class"] = f"sc-input{area}"

    def clean_path(self) -> str:
        path: str = self.cleaned_data["path"].strip()
        if path and not owns(path.partition("?")[0]):
            raise forms.ValidationError("No provider answers there.")
        return path

    def asked(self) -> Asked:
        given = self.cleaned_data
        names = (name.strip() for name in given["tools"].split(","))
        return Asked(
            user=given["user"],
            model=given["model"] or "gpt-4o",
            system=given["system"],
            tools=tuple(name for name in names if name),
            called=given["called"].strip(),
            result=given["result"],
            turn=given["turn"],
            stream=given["stream"],
        )
