"""What a caller is told whose scene or feature map cannot be used."""

from __future__ import annotations


class BadScene(ValueError):
    """A scene, a request of one, or a feature map that cannot be used.

    ``code`` says what is wrong, ``field`` where (as a path in the message), ``value`` and ``unit`` what stands there,
    ``allowed`` what may stand there; each is empty where there is nothing to say.
    """

    def __init__(
        self, message: str, *, code: str, field: str = "", value: object = "", unit: str = "", allowed: str = ""
    ) -> None:
        super().__init__(message)
        self.message, self.code, self.field = message, code, field
        self.value, self.unit, self.allowed = str(value), unit, allowed

    def of(self, field: str) -> BadScene:
        """Return the same, of a named input."""
        self.field = field
        return self
