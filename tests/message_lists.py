"""Message lists of the three providers at random, each as hosts write them: strings or parts, parallel calls, pictures.

A list grows by reading a tape (see `transcripts`), run by run, and is valid for its provider but for lone surrogates.
"""

import json
import struct
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct
from transcripts import OUTPUTS, PROMPTS, SAYINGS, Tape

from context_guard.formats.codec import CODECS, Codec
from context_guard.formats.codec import Provider as Name

Json = dict[str, Any]
PICTURE = b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">IIBBBBB", 800, 600, 8, 2, 0, 0, 0)).decode()
"""As much of a picture as a reader of its size needs."""

TOOLS = ("bash", "read", "grep", "edit", "recall", "shot")
MARK = {"type": "ephemeral"}


class Call(Struct, frozen=True):
    id: str
    name: str
    args: str
    is_custom: bool = False


class Growing:
    """What the kinds of lists share; `messages` only ever grows."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.messages: list[Json] = []
        self.made = 0
        self.id = tape.pick(("call_{}", "toolu_{}", "call-{}_x"))
        self.marks = 0
        self.complete: list[int] = [0]
        """Lengths at which the list was whole: no response or batch of results is cut there."""

    @property
    def is_full(self) -> bool:
        return self.tape.is_spent or len(self.messages) > 60

    def call(self) -> Call:
        self.made += 1
        args: Json = {"path": f"src/module_{self.tape.below(5)}.py", "note": "ü 😀", "n": [1.5, None, 2**70]}
        name = self.tape.pick(TOOLS)
        given = {"command": f"rg value{self.tape.below(3)}"} if name == "bash" else args
        text = json.dumps(given, ensure_ascii=self.tape.below(2) == 1)
        return Call(self.id.format(self.made), name, self.tape.pick((text, text, text, "{}")))

    def _output(self) -> str:
        """Every long text is one of its own."""
        text = self.tape.pick(OUTPUTS)
        return f"{text}\n#{self.made}.{len(self.messages)}" if len(text) > 100 else text

    def _mark(self) -> Json:
        if self.marks >= 4 or not self.tape.chance(4):
            return {}
        self.marks += 1
        return {"cache_control": MARK}

    def _picture(self) -> str:
        return f"data:image/png;base64,{PICTURE}"


class AnthropicHost(Growing):
    def prompt(self, text: str) -> None:
        parts: list[Json] = [{"type": "text", "text": text, **self._mark()}]
        if self.tape.chance(8):
            parts.insert(0, self._image())
        if self.tape.chance(4):
            parts.insert(0, {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}})
        is_text = len(parts) == 1 and not self.marks and self.tape.below(2)
        self.messages.append({"role": "user", "content": text if is_text else parts})
        if self.tape.chance(4):
            self.messages.append({"role": "system", "content": "The budget is half spent."})

    def turn(self, calls: list[Call]) -> None:
        said = self.tape.pick(SAYINGS).strip()
        uses = [{"type": "tool_use", "id": it.id, "name": it.name, "input": json.loads(it.args)} for it in calls]
        texts = [{"type": "text", "text": said}] if said else []
        self.messages.append({"role": "assistant", "content": [*self._thinking(), *texts, *uses]})
        order = calls if self.tape.below(4) else calls[::-1]
        content = [self._result(it) for it in order]
        if self.tape.chance(10):
            content.append({"type": "text", "text": "No, the other one.", **self._mark()})
        self.messages.append({"role": "user", "content": content})

    def answer(self, text: str) -> None:
        searched: list[Json] = []
        if self.tape.chance(5):
            searched = [
                {
                    "type": "server_tool_use",
                    "id": f"srvtoolu_{self.made}",
                    "name": "web_search",
                    "input": {"query": "q"},
                },
                {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{self.made}", "content": []},
            ]
        parts = [*self._thinking(), *searched, {"type": "text", "text": text, **self._mark()}]
        is_text = len(parts) == 1 and "cache_control" not in parts[0] and self.tape.below(2)
        self.messages.append({"role": "assistant", "content": text if is_text else parts})

    def _result(self, call: Call) -> Json:
        text = self._output()
        row: Json = {"type": "tool_result", "tool_use_id": call.id}
        is_error = self.tape.pick((None, None, False, True))
        inner: list[Json] = [{"type": "text", "text": text}] if text.strip() else []
        if not is_error and (call.name == "shot" or self.tape.chance(4)):
            inner.append(self._image())
        if not is_error and self.tape.chance(4):
            inner.append(
                self.tape.pick(
                    (
                        {"type": "tool_reference", "tool_name": "deferred"},
                        {
                            "type": "search_result",
                            "source": "s",
                            "title": "t",
                            "content": [{"type": "text", "text": "x"}],
                        },
                    )
                )
            )
        if len(inner) == 1 and self.tape.chance(5):
            inner[0] |= self._mark()
        is_text = all(it["type"] == "text" and "cache_control" not in it for it in inner) and self.tape.below(3)
        if inner or self.tape.below(2):
            row["content"] = text if is_text else inner
        if is_error is not None:
            row["is_error"] = is_error
        return {**row, **self._mark()}

    def _image(self) -> Json:
        sources: tuple[Json, ...] = (
            {"type": "base64", "media_type": "image/png", "data": PICTURE},
            {"type": "url", "url": "https://image.invalid/1.png"},
            {"type": "file", "file_id": "file_1"},
        )
        return {"type": "image", "source": self.tape.pick(sources)}

    def _thinking(self) -> list[Json]:
        if not self.tape.chance(30):
            return []
        if self.tape.below(3) == 0:
            return [{"type": "redacted_thinking", "data": f"enc{len(self.messages)}"}]
        return [{"type": "thinking", "thinking": "I think", "signature": f"sig{len(self.messages)}"}]


class ChatHost(Growing):
    def prompt(self, text: str) -> None:
        if self.tape.chance(5):
            self.messages.append({"role": "developer", "content": "Be brief."})
        parts: list[Json] = [{"type": "text", "text": text}]
        if self.tape.chance(8):
            parts.append({"type": "image_url", "image_url": {"url": self._picture()}})
        if self.tape.chance(4):
            parts.append({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}})
        is_text = len(parts) == 1 and self.tape.below(2)
        self.messages.append({"role": "user", "content": text if is_text else parts, **self._name()})

    def turn(self, calls: list[Call]) -> None:
        said = self.tape.pick(SAYINGS).strip()
        row: Json = {"role": "assistant", "content": said or None, "tool_calls": list(map(self._use, calls))}
        if self.tape.chance(25):
            row["reasoning_content"] = "I think"
        self.messages.append(row)
        for call in calls if self.tape.below(4) else calls[::-1]:
            text = self._output()
            is_parts = text and self.tape.below(3) == 0
            content = [{"type": "text", "text": text}] if is_parts else text
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
        if self.tape.chance(8):
            self.messages.append({"role": "user", "content": "No, the other one."})

    def answer(self, text: str) -> None:
        parts = [{"type": "text", "text": text}]
        self.messages.append({"role": "assistant", "content": text if self.tape.below(2) else parts})

    def _use(self, call: Call) -> Json:
        if self.tape.chance(10):
            return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": "free text"}}
        return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.args}}

    def _name(self) -> Json:
        return {"name": "ann"} if self.tape.chance(10) else {}


class ResponsesHost(Growing):
    def prompt(self, text: str) -> None:
        if self.tape.chance(5):
            self.messages.append({"type": "message", "role": "developer", "content": "Be brief."})
        parts: list[Json] = [{"type": "input_text", "text": text}]
        if self.tape.chance(8):
            parts.append({"type": "input_image", "image_url": self._picture()})
        if self.tape.chance(4):
            parts.append({"type": "input_file", "file_id": "file_1"})
        is_text = len(parts) == 1 and self.tape.below(2)
        kind: Json = {} if self.tape.below(2) else {"type": "message"}
        self.messages.append({**kind, "role": "user", "content": text if is_text else parts})

    def turn(self, calls: list[Call]) -> None:
        self._say(self.tape.pick(SAYINGS).strip())
        kinds: dict[str, str] = {}
        for call in calls:
            kinds[call.id] = self._use(call)
        for call in calls if self.tape.below(4) else calls[::-1]:
            self._result(call, kinds[call.id])
        if self.tape.chance(8):
            self.messages.append({"role": "user", "content": "No, the other one."})

    def answer(self, text: str) -> None:
        if self.tape.chance(5):
            self.messages.append({"type": "web_search_call", "id": f"ws_{len(self.messages)}", "status": "completed"})
        self._say(text)
        if self.tape.chance(3):
            self.messages.append({"type": "compaction", "encrypted_content": "enc"})

    def _say(self, text: str) -> None:
        place = len(self.messages)
        if text and self.tape.chance(30):
            row = {"type": "reasoning", "id": f"rs_{place}", "summary": [], "encrypted_content": f"enc{place}"}
            self.messages.append(row)
        if text:
            part = {"type": "output_text", "text": text, "annotations": []}
            self.messages.append({"type": "message", "role": "assistant", "id": f"msg_{place}", "content": [part]})

    def _use(self, call: Call) -> str:
        match self.tape.below(12):
            case 11:
                row: Json = {"type": "custom_tool_call", "call_id": call.id, "name": call.name, "input": "free text"}
            case 10:
                row = {"type": "local_shell_call", "call_id": call.id, "action": {"type": "exec", "command": ["ls"]}}
            case _:
                row = {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.args}
        self.messages.append(row)
        return str(row["type"])

    def _result(self, call: Call, kind: str) -> None:
        text = self._output()
        output: Any = text
        if text and kind != "local_shell_call" and (call.name == "shot" or self.tape.below(3) == 0):
            pictures = [{"type": "input_image", "image_url": self._picture()}] if call.name == "shot" else []
            output = [{"type": "input_text", "text": text}, *pictures]
        self.messages.append({"type": f"{kind}_output", "call_id": call.id, "output": output})


Host = AnthropicHost | ChatHost | ResponsesHost


def run(host: Host) -> Iterator[None]:
    """A prompt, turns with calls, an answer; stops behind every turn."""
    host.prompt(host.tape.pick(PROMPTS).strip() or "Go on.")
    for _ in range(host.tape.pick((0, 1, 2, 3, 5))):
        host.turn([host.call() for _ in range(1 + host.tape.pick((0, 0, 1, 2)))])
        host.complete.append(len(host.messages))
        yield
    host.answer(host.tape.pick(SAYINGS).strip() or "Done.")
    host.complete.append(len(host.messages))


class Provider(Struct, frozen=True):
    name: Name
    codec: Codec[Json]
    host: Callable[[Tape], Host]


PROVIDERS = (
    Provider("anthropic", CODECS["anthropic"], AnthropicHost),
    Provider("openai-chat", CODECS["openai-chat"], ChatHost),
    Provider("openai-responses", CODECS["openai-responses"], ResponsesHost),
)
