"""Buttons beside those that save a page's form, as the theme wants to be given them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Button:
    """`to` is the address that the form is sent to, where it is not the page's own."""

    action_name: str
    description: str
    to: str = ""
    icon: str = ""

    @property
    def attrs(self) -> dict[str, str]:
        return {"formaction": self.to} if self.to else {}
