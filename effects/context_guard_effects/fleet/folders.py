"""The folder that a run writes into: on this machine or in an object store. A file in it is whole, or not there."""

import os
import posixpath
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Protocol

from context_guard_effects.fleet.engine import FleetError
from context_guard_effects.fleet.urls import is_url

PARTIAL = ".partial"


class Folder(Protocol):
    """Names are relative, with `/`. Everything raises FleetError where the place does not do as it should."""

    place: str

    def names(self) -> frozenset[str]: ...

    def read(self, name: str) -> bytes: ...

    def write(self, name: str, data: bytes) -> None: ...

    def writing(self, name: str) -> Any:
        """A context with a file to write to, which is there as a whole once the context ends well."""
        ...


def open_folder(place: str) -> Folder:
    return RemoteFolder(place) if is_url(place) else LocalFolder(Path(place))


class LocalFolder:
    """For its owner alone: paths and names of sessions tell of their user."""

    def __init__(self, path: Path) -> None:
        self.place = str(path)
        self._path = path

    def names(self) -> frozenset[str]:
        try:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = [it for it in self._path.rglob("*") if it.is_file()]
        except OSError as error:
            raise FleetError(f"{self.place} cannot be used: {_said(error)}") from error
        return frozenset(it.relative_to(self._path).as_posix() for it in found if it.suffix != PARTIAL)

    def read(self, name: str) -> bytes:
        try:
            return (self._path / name).read_bytes()
        except OSError as error:
            raise FleetError(f"{self._path / name} cannot be read: {_said(error)}") from error

    def write(self, name: str, data: bytes) -> None:
        with self.writing(name) as file:
            file.write(data)

    @contextmanager
    def writing(self, name: str) -> Iterator[IO[bytes]]:
        path = self._path / name
        partial = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL}")
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            with open(partial, "wb", opener=_private) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except OSError as error:
            raise FleetError(f"{path} cannot be written: {_said(error)}") from error
        finally:
            with suppress(OSError):
                partial.unlink(missing_ok=True)


class RemoteFolder:
    """An object is there once it was sent as a whole."""

    def __init__(self, url: str) -> None:
        from context_guard_effects.fleet.objects import open_url

        self.place = url
        self._files, self._path = open_url(url)

    def names(self) -> frozenset[str]:
        try:
            self._files.invalidate_cache()
            found = self._files.find(self._path)
        except FileNotFoundError:
            return frozenset()
        except Exception as error:
            raise FleetError(f"{self.place} cannot be listed: {_said(error)}") from error
        return frozenset(posixpath.relpath(it, self._path) for it in found)

    def read(self, name: str) -> bytes:
        try:
            return bytes(self._files.cat_file(posixpath.join(self._path, name)))
        except Exception as error:
            raise FleetError(f"{self.place}/{name} cannot be read: {_said(error)}") from error

    def write(self, name: str, data: bytes) -> None:
        try:
            self._files.pipe_file(posixpath.join(self._path, name), data)
        except Exception as error:
            raise FleetError(f"{self.place}/{name} cannot be written: {_said(error)}") from error

    @contextmanager
    def writing(self, name: str) -> Iterator[IO[bytes]]:
        try:
            with self._files.open(posixpath.join(self._path, name), "wb") as file:
                yield file
        except FleetError:
            raise
        except Exception as error:
            raise FleetError(f"{self.place}/{name} cannot be written: {_said(error)}") from error


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _said(error: Exception) -> str:
    return getattr(error, "strerror", None) or " ".join(f"{error or type(error).__name__}".split())
