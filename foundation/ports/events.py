"""What a bucket tells of its objects, through a queue: at least once, in no order, and not always."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ObjectNotice:
    """Something has happened to the objects at these keys; what, shows a look at them."""

    keys: tuple[str, ...]
    receipt: str
    """By which the queue knows the notice again."""


class ObjectEvents(Protocol):
    def receive(self) -> list[ObjectNotice]:
        """A few notices, none when none come for a while. Each comes again later unless it is `done`.

        Unavailable, ConfigurationError.
        """

    def done(self, notices: Sequence[ObjectNotice]) -> None:
        """Nothing is left to be done about these; they do not come again."""
