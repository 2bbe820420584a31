"""One fault of a session, where it is, and what to append so that it is gone."""

from msgspec import Struct

from context_guard.doctor.kinds import KINDS, UNMENDED, Severity
from context_guard.formats.pi_mends import Mend


class Finding(Struct, frozen=True):
    kind: str
    severity: Severity
    what: str
    harm: str
    remedy: str
    line: int | None = None
    """Physical line of the file, from 1."""
    entry: str | None = None
    mends: tuple[Mend, ...] = ()
    """What to append so that the finding is gone; empty where nothing that is appended would help."""

    @property
    def key(self) -> tuple[str, str | None, int | None]:
        """What it is about: a finding of the same key is the same fault, however it is worded."""
        return (self.kind, self.entry, None if self.entry else self.line)

    @property
    def is_urgent(self) -> bool:
        return self.severity != "harmless"


def found(
    kind: str,
    detail: str = "",
    line: int | None = None,
    entry: str | None = None,
    mends: tuple[Mend, ...] = (),
    severity: Severity | None = None,
) -> Finding:
    """A finding of this kind; `detail` goes behind what the kind says of itself, without a full stop of its own."""
    row = KINDS[kind]
    detail = detail.rstrip(".")
    return Finding(
        kind=kind,
        severity=severity or row.severity,
        what=f"{row.what}: {detail}" if detail else row.what,
        harm=row.harm,
        remedy=row.remedy if mends or row.severity == "harmless" else UNMENDED.get(kind, row.remedy),
        line=line,
        entry=entry,
        mends=mends,
    )
