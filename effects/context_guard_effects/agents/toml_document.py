"""TOML, changed in place by tomlkit, which keeps comments, order and spacing."""

import codecs
import tomllib
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AbstractTable
from tomlkit.toml_document import TOMLDocument

from context_guard_effects.agents.document import MISSING, DocumentError, Path, shared_start


class TomlDocument:
    def __init__(self, data: bytes) -> None:
        self._data = data
        parsed = self._parsed()
        if tomlkit.dumps(parsed).encode() != self._text().encode():
            raise DocumentError("it would not keep its form")

    def get(self, path: Path) -> Any:
        node: Any = self._parsed().unwrap()
        for key in path:
            if not isinstance(node, dict) or key not in node:
                return MISSING
            node = node[key]
        return node

    def set(self, path: Path, value: Any) -> "TomlDocument":
        document = self._parsed()
        table: Any = document
        for place, key in enumerate(path[:-1]):
            if key not in table:
                table[key] = tomlkit.table(is_super_table=place < len(path) - 2 or isinstance(value, dict))
            table = table[key]
            if not isinstance(table, AbstractTable):
                raise DocumentError(f"{'.'.join(path[: place + 1])} is not a table")
        if table is document and path[-1] not in document and not isinstance(value, dict):
            return self._on_top(path[-1], value)
        table[path[-1]] = _item(value)
        return self._changed(document)

    def remove(self, path: Path) -> "TomlDocument":
        document = self._parsed()
        table: Any = document
        for key in path[:-1]:
            if not isinstance(table, dict) or key not in table:
                return self
            table = table[key]
        if not isinstance(table, dict) or path[-1] not in table:
            return self
        del table[path[-1]]
        left = tomlkit.dumps(document)
        at = shared_start(left, self._text())
        if left[:at].endswith("\n\n") and (at == len(left) or left[at] == "\n"):
            left = left[: at - 1] + left[at:]  # the blank line that parted it from what stands before
        return self._written(left)

    def data(self) -> bytes:
        return self._data

    def _on_top(self, key: str, value: Any) -> "TomlDocument":
        """A key of the whole file stands before its first table; tomlkit would put it behind the comments there."""
        return self._written(tomlkit.dumps({key: value}) + self._text())

    def _changed(self, document: TOMLDocument) -> "TomlDocument":
        return self._written(tomlkit.dumps(document))

    def _written(self, text: str) -> "TomlDocument":
        """With the line ends and the mark of the file."""
        if self._data.count(b"\r\n") == self._data.count(b"\n") > 0:
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        mark = codecs.BOM_UTF8 if self._data.startswith(codecs.BOM_UTF8) else b""
        return TomlDocument(mark + text.encode())

    def _text(self) -> str:
        try:
            return self._data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DocumentError("it is not UTF-8") from error

    def _parsed(self) -> TOMLDocument:
        try:
            return tomlkit.parse(self._text())
        except (TOMLKitError, ValueError) as error:
            raise DocumentError(f"it is no TOML: {_fault(self._text()) or error}") from error


def _fault(text: str) -> str:
    """As Python's own reader says it, whose words tell more; empty where it sees none."""
    try:
        tomllib.loads(text)
    except ValueError as error:
        return str(error)
    return ""


def _item(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    table = tomlkit.table()
    for key, inner in value.items():
        table[key] = tomlkit.inline_table() if inner == {} else inner
    return table
