"""What a host's module says when it cannot do what it was asked."""


class HostError(Exception):
    """The host's data could not be read or written. One line for people: what is wrong, and what to do."""

    @property
    def message(self) -> str:
        return str(self)
