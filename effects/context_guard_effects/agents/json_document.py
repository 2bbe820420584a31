"""JSON, with or without comments and trailing commas, changed in place. tree-sitter tells where everything stands."""

import codecs
import json
from functools import cache
from typing import Any

import tree_sitter_json
from tree_sitter import Language, Node, Parser

from context_guard_effects.agents.document import MISSING, DocumentError, Path

INDENT = "  "


class JsonDocument:
    def __init__(self, data: bytes) -> None:
        self._data = data
        root = _parser().parse(data).root_node
        for error in _errors(root):
            if not _is_last_comma(error):
                raise DocumentError(f"line {error.start_point.row + 1} is no JSON")
        tops = [node for node in root.named_children if node.type not in ("comment", "ERROR")]
        if not tops and data.strip():
            raise DocumentError("it holds no JSON object")
        if tops and (len(tops) > 1 or tops[0].type != "object"):
            raise DocumentError("it is not one JSON object")
        self._top = tops[0] if tops else None

    def get(self, path: Path) -> Any:
        node = self._find(path)
        return MISSING if node is None else _value(node)

    def set(self, path: Path, value: Any) -> "JsonDocument":
        if self._top is None:
            return JsonDocument(b"{}\n").set(path, value)
        if (old := self._find(path)) is not None:
            return self._spliced(old.start_byte, old.end_byte, self._printed(value, self._indent_of(old)))
        at = next(length for length in range(len(path) - 1, -1, -1) if self._find(path[:length]) is not None)
        parent = self._find(path[:at])
        assert parent is not None
        if parent.type != "object":
            raise DocumentError(f"{'.'.join(path[:at])} is not an object")
        for key in reversed(path[at + 1 :]):
            value = {key: value}
        return self._added(parent, path[at], value)

    def remove(self, path: Path) -> "JsonDocument":
        parent = self._find(path[:-1])
        pair = _pair(parent, path[-1])
        if parent is None or pair is None:
            return self
        if parent.named_children == [pair]:
            return self._spliced(parent.start_byte + 1, parent.end_byte - 1, "")
        start, end = pair.start_byte, pair.end_byte
        comma = _comma_behind(pair)
        if comma is not None:
            end = comma.end_byte
        elif (before := _comma_before(pair)) is not None:
            start = before.start_byte
        if start == pair.start_byte:  # with the line that it began
            start = len(self._data[:start].rstrip(b" \t\r\n"))
        return self._spliced(start, end, "")

    def data(self) -> bytes:
        return self._data

    def _find(self, path: Path) -> Node | None:
        node = self._top
        for key in path:
            pair = _pair(node, key)
            node = pair.child_by_field_name("value") if pair is not None else None
        return node

    def _added(self, parent: Node, key: str, value: Any) -> "JsonDocument":
        pairs = _pairs(parent)
        outer = self._indent_of(parent)
        if not pairs:
            inner = outer + self._unit()
            rest = self._data[parent.start_byte + 1 : parent.end_byte - 1]
            text = f"\n{inner}{json.dumps(key)}: {self._printed(value, inner)}"
            if rest.strip():  # comments
                return self._spliced(parent.start_byte + 1, parent.start_byte + 1, text)
            return self._spliced(parent.start_byte + 1, parent.end_byte - 1, f"{text}\n{outer}")
        last, comma = pairs[-1], _comma_behind(pairs[-1])
        if b"\n" not in self._data[parent.start_byte : last.start_byte]:
            text = f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        else:
            indent = self._indent_of(last)
            text = f"\n{indent}{json.dumps(key)}: {self._printed(value, indent)}"
        end = comma or last
        at = _behind_comments(end).end_byte
        between = self._data[end.end_byte : at].decode()
        return self._spliced(end.end_byte, at, f"{'' if comma is not None else ','}{between}{text}")

    def _printed(self, value: Any, indent: str) -> str:
        return json.dumps(value, ensure_ascii=False, indent=self._unit()).replace("\n", f"\n{indent}")

    def _unit(self) -> str:
        """By which the file indents."""
        first = _pairs(self._top)[:1] if self._top is not None else []
        return (self._indent_of(first[0]) if first else "") or INDENT

    def _indent_of(self, node: Node) -> str:
        line = self._data[: node.start_byte].rpartition(b"\n")[2].removeprefix(codecs.BOM_UTF8).decode()
        return line[: len(line) - len(line.lstrip())]

    def _spliced(self, start: int, end: int, text: str) -> "JsonDocument":
        if b"\r\n" in self._data:
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        return JsonDocument(self._data[:start] + text.encode() + self._data[end:])


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_json.language()))


def _errors(node: Node) -> list[Node]:
    if not node.has_error and not node.is_missing:
        return []
    if node.type == "ERROR" or node.is_missing:
        return [node]
    return [error for child in node.children for error in _errors(child)]


def _is_last_comma(error: Node) -> bool:
    """Behind the last member or item: forbidden in JSON, usual in settings."""
    if error.is_missing:
        return error.prev_sibling is not None and error.prev_sibling.type == "," and error.parent is not None
    return error.text == b","


def _pairs(node: Node) -> list[Node]:
    return [child for child in node.named_children if child.type == "pair"]


def _pair(node: Node | None, key: str) -> Node | None:
    """The last one counts, as for every reader of JSON."""
    if node is None or node.type != "object":
        return None
    return next((pair for pair in reversed(_pairs(node)) if _value(pair.child_by_field_name("key")) == key), None)


def _comma_behind(pair: Node) -> Node | None:
    node = pair.next_sibling
    while node is not None and node.type == "comment":
        node = node.next_sibling
    return node if node is not None and (node.text or b"").strip() == b"," else None


def _comma_before(pair: Node) -> Node | None:
    node = pair.prev_sibling
    while node is not None and node.type == "comment":
        node = node.prev_sibling
    return node if node is not None and node.type == "," else None


def _behind_comments(node: Node) -> Node:
    """The last comment that begins on the line where the node ends, or the node."""
    row = node.end_point.row
    while (later := node.next_sibling) is not None and later.type == "comment" and later.start_point.row == row:
        node = later
    return node


def _value(node: Node | None) -> Any:
    """Without the comments inside it."""
    if node is None:
        return MISSING
    if node.type == "object":
        return {_value(it.child_by_field_name("key")): _value(it.child_by_field_name("value")) for it in _pairs(node)}
    if node.type == "array":
        return [
            _value(child)
            for child in node.named_children
            if child.type not in ("comment", "ERROR") and not child.is_missing
        ]
    try:
        return json.loads((node.text or b"").decode(), strict=False)
    except ValueError as error:
        raise DocumentError(f"line {node.start_point.row + 1} is no JSON") from error
