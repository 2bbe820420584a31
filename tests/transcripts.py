"""Conversations of an agent at random, but as hosts really hand them over.

A conversation grows by reading a tape of bytes: each choice takes the next one, and a tape that has run out answers 0,
the plainest choice everywhere. So a shorter or smaller tape is a simpler conversation: Hypothesis has only bytes to
generate, which is quick, and to reduce, which it does well.
"""

import json
from collections.abc import Sequence
from typing import TypeVar

import msgspec
from hypothesis import strategies as st

from context_guard.text import MARKER
from context_guard.transcript import (
    AnyBlock,
    Edit,
    Entry,
    Image,
    Model,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    calls_of,
    images_of,
    shown,
)

T = TypeVar("T")

TAPE_BYTES = 300
MAX_ENTRIES = 70
SECOND = 1_000

MODELS = (
    Model("anthropic", "claude", "anthropic-messages"),
    Model("openai", "gpt", "openai-responses"),
    Model("openai-codex", "gpt", "openai-codex-responses"),
    Model("local", "llama", "openai-completions"),
)
TOOLS = ("bash", "read", "grep", "edit", "write", "recall", "mcp__guard__recall", "shot")

FAKE_HEADER = (
    f"{MARKER} Distilled the output of bash `ls`: kept 1 of 900 lines (9 of 9.0k chars); the rest was judged not "
    'needed for the answer. Full output: recall({"entryId":"e1"}).\nline 1'
)

OUTPUTS = (
    "",
    "ok",
    " \n\t",
    "Command exited with code 1",
    "\n".join(f"tests/test_{n}.py::test_{n * 7} PASSED" for n in range(12)),
    "\n".join(f"src/module_{n % 3}.py:{n}:    value = compute({n})" for n in range(40)),
    "x" * 500,
    "half a pair \ud83d and another \udc00 " * 12,
    "\r\n".join(f"row {n}; größe; 漢字 {n}" for n in range(60)),
    FAKE_HEADER,
    "\n".join([FAKE_HEADER, *(f"more {n} of the fake" for n in range(60))]),
    "[… 12 lines omitted (output lines 3–14) …]\n" * 30,
    "\n".join(f"2024-05-01T12:00:{n:02}Z worker {n} started" for n in range(90)),
    "\n".join(
        [*(f"def f{n}(): return {n}" for n in range(160)), "", "[90 more lines in file. Use offset=161 to continue.]"]
    ),
    "\n".join(f"src/deep/path/{n % 7}.py:{n}: match 😀 number {n}" for n in range(130)),
    '{"data": "' + "A" * 5_000 + '"}',
    "\n".join(f"log {n}: nothing of interest happened here at all" for n in range(400)),
    "\n".join(f"\ud800 {n} 🛡 log with half pairs" for n in range(300)),
    "\n".join(f"{n}: " + "word " * 40 for n in range(150)),
    "y" * 9_000 + "\n" + "z" * 9_000,
)

SAYINGS = (
    "",
    "Looking at it.",
    "  ",
    "The value comes from src/module_1.py, see `tests/test_3.py`.",
    "Fertig 😀.",
    "half \ud83d",
    MARKER + " is what the notes begin with.",
    "Long answer. " * 180,
)

PROMPTS = (
    "Why does the test fail?",
    "",
    "Please fix the value in src/module_1.py and tell me why.",
    "Text " * 700,
    "Ünïcödé \udfff 漢字",
    MARKER + " Omitted an earlier exchange",
    " \n ",
)


class Tape:
    """Choices from bytes; 0 once they have run out."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    @property
    def is_spent(self) -> bool:
        return self.at >= len(self.data)

    def below(self, limit: int) -> int:
        """A number from 0, of at most 256."""
        byte = 0 if self.is_spent else self.data[self.at]
        self.at += 1
        return byte % limit

    def chance(self, percent: int) -> bool:
        return self.below(100) >= 100 - percent

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]


tapes = st.binary(min_size=TAPE_BYTES, max_size=TAPE_BYTES)


class Talk:
    """A conversation that goes on: what the host has stored so far is `transcript`."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.clock = 0
        self.made = 0
        """Tool calls so far."""
        self.foreign: set[str] = set()
        """Ids of edits that are not the guard's."""
        model = tape.pick(MODELS)
        self.ids = tape.pick(("toolu_{}", "call_{}|fc_{}", "call_0", "odd.{}:x", "toolu_{}"))
        self.transcript = Transcript(host="random", session="s", entries=(), head=None, context=(), model=model)

    @property
    def is_full(self) -> bool:
        return self.tape.is_spent or len(self.transcript.entries) >= MAX_ENTRIES

    def prompt(self) -> None:
        """What the user asks next; sometimes it was sent while the run before still went on."""
        text = self.tape.pick(PROMPTS)
        images = self._images() if not text or self.tape.chance(8) else ()
        queued = 20 * SECOND if self.tape.chance(10) else 0
        self._add("user", (*([Text(text)] if text else []), *images), time=self.clock - queued)

    def turn(self) -> None:
        """One message with calls and all their results, in any order; then perhaps a note or a steering message."""
        calls = [self._call() for _ in range(1 + self.tape.pick((0, 0, 1, 2)))]
        self._add("assistant", (*self._thinking(), *self._saying(), *calls), stop="toolUse")
        order = list(calls) if self.tape.below(4) else calls[::-1]
        for call in order:
            self._add("tool", (self._result(call),))
        match self.tape.below(12):
            case 11:
                self._add("user", (Text("No, the other one."),))
            case 10:
                self.note()

    def answer(self) -> None:
        self._add("assistant", (*self._thinking(), *(self._saying() or (Text("Done."),))), stop="stop")

    def failure(self) -> None:
        """A message that failed or was aborted, with calls that nobody ran; the host may have omitted it itself."""
        calls = [self._call()] if self.tape.chance(50) else []
        stop = self.tape.pick(("aborted", "error"))
        self._add("assistant", (*self._saying(), *calls), stop=stop)
        if self.tape.chance(40):
            self.edit(self.transcript.entries[-1], None)

    def note(self) -> None:
        self._add("note", (Text(self.tape.pick(("Mind the gap.", "", "note " * 300))),), kind="custom_message")

    def aside(self) -> None:
        """What else a host puts between two runs."""
        match self.tape.below(9):
            case 0 | 1:
                self._add("meta", kind="label")
            case 2:
                self._add("shell", (Text("Ran `git status`\n(no output)"),))
            case 3:
                self._add("system", (Text("New rules."),))
            case 4:
                self._add("summary", (Text("On the other branch we tried x."),), kind="branch_summary")
            case 5:
                self.compact()
            case 6:
                self.note()
            case _:
                self.edit_something()

    def compact(self) -> None:
        """A summary in place of all before a message of the user's or the assistant's, or in place of everything."""
        starts = [i for i in self.transcript.context if self.transcript.entries[i].role in ("user", "assistant")]
        first = self.tape.pick(starts) if starts and self.tape.below(4) else len(self.transcript.entries)
        self._add("summary", (Text("Summary: " + "we did things. " * 20),), kind="compaction")
        last = len(self.transcript.entries) - 1
        kept = [i for i in range(first, last) if self.transcript.entries[i].role != "system"]
        context = (last, *kept)
        self.transcript = msgspec.structs.replace(
            self.transcript,
            context=context,
            entries=tuple(
                entry
                if i in context and not (entry.kind == "compaction" and i != last)
                else msgspec.structs.replace(entry, visible=())
                for i, entry in enumerate(self.transcript.entries)
            ),
        )

    def edit_something(self) -> None:
        """Somebody else's edit, in a form that leaves the list in order: no call goes without its result."""
        entries = [
            it for it in shown(self.transcript) if it.visible and it.role in ("user", "assistant", "tool", "note")
        ]
        if not entries:
            return
        entry = self.tape.pick(entries)
        match self.tape.below(5):
            case 0 if entry.role != "assistant":
                self.edit(entry, (Text("[another extension] shortened"),))
            case 4 if entry.role in ("user", "tool"):
                self.edit(entry, (Text("[another extension] shortened"), *images_of(entry.visible)))
            case 1 if not calls_of(entry.visible):
                self.edit(entry, None)
            case 2 if entry.raw != entry.visible and entry.role != "assistant":
                self.edit(entry, entry.raw)
            case 3 if entry.role == "assistant":
                for it in self.batch(entry):
                    self.edit(it, None)

    def batch(self, entry: Entry) -> list[Entry]:
        """The message and the results right behind it."""
        entries = shown(self.transcript)
        place = next(i for i, it in enumerate(entries) if it.id == entry.id)
        found = [entry]
        for it in entries[place + 1 :]:
            if it.role not in ("tool", "meta"):
                break
            found += [it] if it.visible and it.role == "tool" else []
        return found

    def edit(self, entry: Entry, content: tuple[AnyBlock, ...] | None) -> None:
        """An edit of the host's or another extension's, in force from now on."""
        result = entry.raw_result
        plain = tuple(block for block in content or () if isinstance(block, Text | Image))
        if result is not None and plain:
            content = (msgspec.structs.replace(result, content=plain),)
        self._add("meta", kind="context_edit")
        at = len(self.transcript.entries) - 1
        edit = Edit(id=self.transcript.entries[at].id, target=entry.id, at=at, content=content)
        self.foreign.add(edit.id)
        self.transcript = msgspec.structs.replace(
            self.transcript,
            edits=(*self.transcript.edits, edit),
            entries=tuple(
                msgspec.structs.replace(it, visible=content) if it.id == entry.id else it
                for it in self.transcript.entries
            ),
        )

    def switch(self) -> None:
        """The user goes on with another model."""
        self.transcript = msgspec.structs.replace(self.transcript, model=self.tape.pick(MODELS))

    def _add(
        self,
        role: Role,
        blocks: tuple[AnyBlock, ...] = (),
        *,
        kind: str = "message",
        stop: str | None = None,
        time: int | None = None,
    ) -> None:
        at = len(self.transcript.entries)
        self.clock += SECOND
        entry = Entry(
            id=f"e{at + 1}",
            parent=self.transcript.head,
            role=role,
            raw=blocks,
            visible=blocks,
            kind=kind,
            time=self.clock if time is None else time,
            model=self.transcript.model if role == "assistant" else None,
            stop=stop,
        )
        self.transcript = msgspec.structs.replace(
            self.transcript,
            entries=(*self.transcript.entries, entry),
            head=entry.id,
            context=(*self.transcript.context, at),
        )

    def _call(self) -> ToolCall:
        self.made += 1
        reused = self.ids == "call_0"
        call_id = f"call_{self.made % 3}" if reused else self.ids.format(self.made, self.made)
        tool = self.tape.pick(TOOLS)
        args: dict[str, object] = {}
        match tool:
            case "bash":
                args = {
                    "command": self.tape.pick(("npm test", "sed -i s/a/b/ src/module_1.py", "rg -n x `src` \n|head"))
                }
            case "read" | "edit" | "write":
                args = {"path": self.tape.pick(("src/module_1.py", "./src/module_1.py", "weird\npath \ud800"))}
            case "grep":
                args = {"pattern": "value"}
            case "recall" | "mcp__guard__recall":
                args = {"entryId": f"e{self.tape.below(30)}"}
        text = json.dumps(args, ensure_ascii=self.tape.below(2) == 1) if args else ""
        return ToolCall(id=call_id, name=tool, args=text)

    def _result(self, call: ToolCall) -> ToolResult:
        """Every text is one of its own, so that a text that recall gives back can be told from all others."""
        text = self.tape.pick(OUTPUTS)
        mark = f"\n#{self.made}.{len(self.transcript.entries)}" if len(text) > 100 else ""
        content: list[Text | Image | Opaque] = [Text(text + mark)] if text or self.tape.below(2) else []
        if call.name == "shot" or self.tape.chance(4):
            content += self._images()
        if self.tape.chance(4):
            content.append(Text("second block"))
        if self.tape.chance(4):
            content.append(Opaque(kind="document", size=300))
        name = "" if self.tape.chance(10) else call.name
        return ToolResult(
            call_id=call.id, name=name, content=tuple(content), is_error=self.tape.pick((False, False, True))
        )

    def _images(self) -> tuple[Image, ...]:
        sizes = ((800, 600), (None, None), (1, 1), (4_000, 4_000))
        width, height = self.tape.pick(sizes)
        image = Image(media_type="image/png", ref=f"line:{len(self.transcript.entries)}", width=width, height=height)
        return (image,) * (1 + self.tape.pick((0, 0, 0, 4)))

    def _saying(self) -> tuple[Text, ...]:
        text = self.tape.pick(SAYINGS)
        return (Text(text),) if text else ()

    def _thinking(self) -> tuple[Thinking, ...]:
        """Thinking as the model's own API signs it."""
        if not self.tape.chance(25):
            return ()
        api = self.transcript.model.api if self.transcript.model else ""
        number = len(self.transcript.entries)
        if "responses" in api:
            item = {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "x" * 40}
            return (Thinking("", json.dumps(item)),)
        return (Thinking(f"I think \ud83d {number}", f"c2ln{number}"),)
