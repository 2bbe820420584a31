"""Puts additions into settings files and takes them out again: to the byte where nothing else has changed.

What a file held before lies beside it as `NAME.before-context-guard`; a ledger in the user's data directory says which
files were written, and the digest of what was written.
"""

import contextlib
import hashlib
import os
import stat
from difflib import unified_diff
from pathlib import Path

import msgspec
from msgspec import Struct

from context_guard.redact import redact
from context_guard_effects.agents.document import DocumentError
from context_guard_effects.agents.settings import Addition, Setting, open_document, put_in, take_out

BACKUP = ".before-context-guard"


class Written(Struct, frozen=True):
    """One file, as the ledger has it."""

    file: str
    digest: str
    settings: tuple[Setting, ...]
    existed: bool
    folders: int = 0
    """Made for the file, from its own one up."""


Ledger = dict[str, tuple[Written, ...]]


class Change(Struct, frozen=True):
    file: Path
    now: bytes | None
    """None where there is no file."""
    then: bytes | None
    """None: the file goes."""
    original: bytes | None = None
    """What it held before the guard, for the backup."""
    settings: tuple[Setting, ...] = ()
    said: str = ""
    """What the user should know beside the difference."""

    def diff(self) -> str:
        """For the user's eyes; what looks like a secret in a line nearby is masked."""
        old, new = ((data or b"").decode("utf-8", "replace").splitlines() for data in (self.now, self.then))
        before, after = (str(self.file) if it is not None else os.devnull for it in (self.now, self.then))
        return redact("".join(f"{line}\n" for line in unified_diff(old, new, before, after, lineterm="", n=1)))


class Installer:
    """For one agent."""

    def __init__(self, agent: str, ledger: Path) -> None:
        self._agent = agent
        self._ledger = ledger
        self._written = {Path(it.file): it for it in self._read().get(agent, ())}

    @property
    def additions(self) -> tuple[Addition, ...]:
        """As they were installed; none where the ledger knows of nothing."""
        return tuple(Addition(file, it.settings) for file, it in self._written.items())

    def install(self, additions: tuple[Addition, ...]) -> tuple[Change, ...]:
        """What installing would change: nothing in a file that is as it would be. Raises DocumentError."""
        found = [self._added(addition) for addition in additions]
        return tuple(change for change in found if change.now != change.then)

    def uninstall(self, additions: tuple[Addition, ...]) -> tuple[Change, ...]:
        """What uninstalling would change."""
        found = [self._taken(addition) for addition in additions]
        return tuple(change for change in found if change is not None)

    def put(self, changes: tuple[Change, ...]) -> None:
        """Raises OSError, with the file's name; what was written until then is in the ledger."""
        for change in changes:
            assert change.then is not None
            made = sum(not folder.exists() for folder in change.file.parents)
            change.file.parent.mkdir(parents=True, exist_ok=True)
            known = self._written.get(change.file)
            if change.original is not None:
                _write(backup_of(change.file), change.original, change.file)
            _write(change.file, change.then)
            self._written[change.file] = Written(
                file=str(change.file),
                digest=_digest(change.then),
                settings=change.settings,
                existed=change.original is not None,
                folders=known.folders if known else made,
            )
            self._save()

    def take_back(self, changes: tuple[Change, ...]) -> None:
        for change in changes:
            known = self._written.pop(change.file, None)
            if change.then is None:
                change.file.unlink()
                for folder in list(change.file.parents)[: known.folders if known else 0]:
                    with contextlib.suppress(OSError):  # something else is in it by now
                        folder.rmdir()
            else:
                _write(change.file, change.then)
            backup_of(change.file).unlink(missing_ok=True)
            self._save()

    def _added(self, addition: Addition) -> Change:
        file = _real(addition.file)
        now = _read(file)
        original = self._original(file, now)
        try:
            then = put_in(open_document(file, original or b""), addition.settings).data()
        except DocumentError as error:
            raise DocumentError(f"{file}: {error}. Nothing was written.") from error
        return Change(file, now, then, original, addition.settings)

    def _original(self, file: Path, now: bytes | None) -> bytes | None:
        """The file without the guard: as it was, or, changed since, without what the guard had added."""
        known = self._written.get(file)
        if now is None or known is None:
            return now
        if _digest(now) == known.digest:
            return self._before(file)
        before = open_document(file, self._before(file) or b"")
        return take_out(open_document(file, now), before, known.settings)[0].data()

    def _before(self, file: Path) -> bytes | None:
        known = self._written.get(file)
        return _read(backup_of(file)) if known is not None and known.existed else None

    def _taken(self, addition: Addition) -> Change | None:
        file = _real(addition.file)
        now, known = _read(file), self._written.get(file)
        if now is None:
            return None
        if known is not None and _digest(now) == known.digest and (not known.existed or self._before(file) is not None):
            return Change(file, now, self._before(file))
        before = open_document(file, self._before(file) or b"")
        document, foreign = take_out(open_document(file, now), before, addition.settings)
        if document.data() == now and not foreign:
            return None
        said = f"{file} has changed since the guard was installed: only the guard's part goes, all other changes stay"
        if foreign:
            said += f"; left, since somebody changed them: {', '.join('.'.join(keys) for keys in foreign)}"
        return Change(file, now, document.data(), said=said)

    def _read(self) -> Ledger:
        data = _read(self._ledger)
        try:
            return msgspec.json.decode(data, type=Ledger) if data is not None else {}
        except msgspec.MsgspecError as error:
            raise DocumentError(
                f"{self._ledger} is broken ({error}). Remove it: then only the guard's keys go."
            ) from error

    def _save(self) -> None:
        ledger = {**self._read(), self._agent: tuple(self._written.values())}
        kept = {agent: written for agent, written in ledger.items() if written}
        if kept:
            self._ledger.parent.mkdir(parents=True, exist_ok=True)
            _write(self._ledger, msgspec.json.format(msgspec.json.encode(kept)))
        else:
            self._ledger.unlink(missing_ok=True)


def backup_of(file: Path) -> Path:
    return file.with_name(file.name + BACKUP)


def _real(file: Path) -> Path:
    """A link stays a link: what it leads to is written."""
    return file.resolve() if file.is_symlink() else file


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _write(file: Path, data: bytes, like: Path | None = None) -> None:
    """Whole or not at all, with the rights of the file that is there (or of `like`), else for its owner alone."""
    partial = file.with_name(f"{file.name}.{os.getpid()}.partial")
    try:
        mode = stat.S_IMODE((like or file).stat().st_mode)
    except FileNotFoundError:
        mode = 0o600
    try:
        with open(partial, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        partial.chmod(mode)
        partial.replace(file)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
