"""What one request carries, block by block: keys that tell whether two requests begin alike, tokens, and a body."""

from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any

from msgspec import Struct

from context_guard.cache.marks import order_of, read_marks
from context_guard.sizes import CHARS_PER_TOKEN, block_chars
from context_guard.transcript import AnyBlock, Entry, Image, Text, Thinking, ToolCall, ToolResult, Transcript, shown

Key = tuple[str, int, int]
"""Entry, block, and how often the entry was edited."""
Body = dict[str, Any]
MARK = {"cache_control": {"type": "ephemeral"}}
TOOLS_SHARE = 0.6
"""Of system prompt and tools together, the tools; it decides nothing but where a mark stands."""


class Prompt(Struct, frozen=True):
    prefixes: tuple[int, ...]
    """A number for everything up to and with each block: tools, system prompt, then the messages."""
    tokens: tuple[float, ...]
    """Up to and with each block."""
    positions: tuple[int, ...]
    """The provider's own count of each block: neighbouring calls are one, neighbouring results too."""
    orders: dict[tuple[int, int, int], int]
    """Block of each place in the body."""
    body: Body
    """An Anthropic Messages request with the host's three marks; its texts are stand-ins."""

    @property
    def total(self) -> float:
        return self.tokens[-1]

    def marked(self, body: Body) -> tuple[int, ...]:
        """The blocks at which the body carries a mark, in order."""
        return tuple(sorted({self.orders[order_of(mark.path)] for mark in read_marks(body)}))


class Tokens(Struct, frozen=True):
    """How characters become tokens in one session."""

    chars_per_token: float = CHARS_PER_TOKEN
    overhead: int = 1_600
    """Of system prompt and tools; where no usage tells, what Pi's own take."""
    is_fitted: bool = False
    """Whether both come from the recorded usage."""


class Prompts:
    """The requests of one session; equal beginnings have equal numbers."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._numbers: dict[tuple[int, Key], int] = {}

    def build(self, transcript: Transcript, versions: Mapping[str, int]) -> Prompt:
        """The request that the host sends now; `versions` counts the edits of each entry."""
        return _build(transcript, versions, self._tokens, self._number)

    def _number(self, before: int, key: Key) -> int:
        return self._numbers.setdefault((before, key), len(self._numbers) + 1)


def _build(
    transcript: Transcript, versions: Mapping[str, int], tokens: Tokens, number_of: Callable[[int, Key], int]
) -> Prompt:
    keys: list[Key] = [("tools", 0, 0), ("system", 0, 0)]
    sizes = [tokens.overhead * TOOLS_SHARE, tokens.overhead * (1 - TOOLS_SHARE)]
    kinds = ["tools", "system"]
    orders = {(0, 0, 0): 0, (1, 0, 0): 1}
    messages: list[Body] = []
    for entry in shown(transcript):
        blocks = () if entry.role in ("meta", "system") or _failed(entry) else _sent(entry)
        if not blocks:
            continue
        if entry.role != "tool" or not messages or not messages[-1]["results"]:
            role = "assistant" if entry.role == "assistant" else "user"
            messages.append({"role": role, "content": [], "results": entry.role == "tool"})
        content = messages[-1]["content"]
        for number, block in enumerate(blocks):
            orders[2, len(messages) - 1, len(content)] = len(keys)
            content.append(_stand_in(block))
            keys.append((entry.id, number, versions.get(entry.id, 0)))
            kinds.append(content[-1]["type"])
            sizes.append(block_chars(block) / tokens.chars_per_token)
    for message in messages:
        del message["results"]
    if messages:
        last = messages[-1]["content"]
        last[-1] = last[-1] | MARK
    fresh = (
        kind != before or kind not in ("tool_use", "tool_result")
        for before, kind in zip(["", *kinds], kinds, strict=False)
    )
    return Prompt(
        prefixes=tuple(accumulate(keys, number_of, initial=0))[1:],
        tokens=tuple(accumulate(sizes)),
        positions=tuple(accumulate(map(int, fresh))),
        orders=orders,
        body={
            "tools": [{"name": "tool", **MARK}],
            "system": [{"type": "text", "text": "system", **MARK}],
            "messages": messages,
        },
    )


def _failed(entry: Entry) -> bool:
    """Hosts leave attempts that failed out of their requests."""
    return entry.role == "assistant" and entry.stop in ("error", "aborted")


def _sent(entry: Entry) -> tuple[AnyBlock, ...]:
    return tuple(block for block in entry.visible or () if not isinstance(block, Text) or block.text.strip())


def _stand_in(block: AnyBlock) -> Body:
    match block:
        case ToolCall(id=name):
            return {"type": "tool_use", "id": name}
        case ToolResult(call_id=name):
            return {"type": "tool_result", "tool_use_id": name}
        case Thinking():
            return {"type": "thinking"}
        case Image():
            return {"type": "image"}
        case _:
            return {"type": "text", "text": "text"}
