"""What can go wrong with a server, as data: each fault is what it sends instead of its answer."""

import json
from typing import Any, Literal

from msgspec import Struct

Break = Literal["", "never", "late", "drop before", "drop inside", "slow body"]

JSON = "application/json"
LATE_SECONDS = 1.0
HUGE_BYTES = 20_000_000


class Fault(Struct, frozen=True):
    """A reply in place of the answer; `body` None sends the true answer, changed by `answers`."""

    name: str
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    how: Break = ""
    answers: str = ""
    """How the true answers are spoilt: see `spoil`."""
    content_type: str = JSON
    repeat: int = 1
    """The body, so many times over, without a word on its length before."""


def _detail(kind: str, message: str = "") -> bytes:
    said = {"error_type": kind} | ({"message": message} if message else {})
    return json.dumps({"detail": said}).encode()


_PAGE = b"<!doctype html><html><title>502 Bad Gateway</title><body>nginx</body></html>"
_INVALID = json.dumps(
    {
        "detail": [
            {
                "type": "missing",
                "loc": ["body", "questions", "focus", "choice", "criteria"],
                "msg": "Field required",
                "input": {"instructions": "ECHO OF THE REQUEST"},
            }
        ]
    }
).encode()

_ALL = (
    Fault("never", how="never"),
    Fault("late", how="late"),
    Fault("drop before", how="drop before"),
    Fault("drop inside", how="drop inside"),
    Fault("half a body", how="drop inside"),
    Fault("slow body", how="slow body"),
    Fault("http 400 overflow", 400, body=_detail("max_tokens_exceeded")),
    Fault("http 400 usage", 400, body=_detail("api_usage_error", "Unknown model: jev-0")),
    Fault("http 400 text", 400, body=b"A choice takes 2 to 255 options.", content_type="text/plain"),
    Fault("http 401", 401, body=_detail("authentication_error", "Cannot authenticate with the server.")),
    Fault(
        "http 402",
        402,
        body=json.dumps({"error": {"code": 402, "message": "Insufficient credits", "metadata": None}}).encode(),
    ),
    Fault("http 403", 403, body=_detail("authentication_error", "Missing credentials.")),
    Fault("http 404", 404, body=_detail("not_found", "No such path.")),
    Fault("http 408", 408, body=_detail("timeout_error")),
    Fault("http 413", 413, body=b"Payload too large", content_type="text/plain"),
    Fault("http 422", 422, body=_INVALID),
    Fault("http 429", 429, body=_detail("rate_limit_error", "Too many requests")),
    Fault("http 429 soon", 429, (("retry-after-ms", "20"), ("retry-after", "3600")), _detail("rate_limit_error")),
    Fault("http 429 one hour", 429, (("retry-after", "3600"),), _detail("rate_limit_error")),
    Fault("http 429 date", 429, (("retry-after", "Fri, 01 Jan 2100 00:00:00 GMT"),), _detail("rate_limit_error")),
    Fault("http 429 nonsense", 429, (("retry-after", "soon"), ("retry-after-ms", "nan")), _detail("rate_limit_error")),
    Fault("http 500", 500, body=_detail("internal_error")),
    Fault("http 502 html", 502, body=_PAGE, content_type="text/html"),
    Fault("http 503", 503, body=b""),
    Fault("http 524", 524, body=json.dumps({"error": {"code": 524, "message": "Edge timeout"}}).encode()),
    Fault("http 529", 529, body=_detail("overloaded_error", "The service is saturated")),
    Fault("redirect", 307, (("location", "http://127.0.0.1:9/elsewhere"),), b""),
    Fault("html", body=_PAGE, content_type="text/html"),
    Fault("empty", body=b""),
    Fault("not utf-8", body=b'{"answers": {"a": "\xff"}}'),
    Fault("byte order mark", answers="byte order mark"),
    Fault("wrong json", body=b'{"answers": ['),
    Fault("json array", body=b"[1, 2]"),
    Fault("deep json", body=b"[" * 100_000),
    Fault("huge body", body=b" " * 100_000, repeat=HUGE_BYTES // 100_000),
    Fault("compressed", headers=(("content-encoding", "gzip"),), body=b"\x1f\x8b\x08\x00"),
    Fault("no answers", body=b'{"model": "jev-1.13.0", "usage": {"input_tokens": 5}}'),
    Fault("answers twice", answers="answers twice"),
    *(
        Fault(name, answers=name)
        for name in (
            "missing answer",
            "every answer missing",
            "extra answer",
            "wrong type",
            "above one",
            "below zero",
            "as text",
            "null",
            "true",
            "nan",
            "duplicate id",
            "duplicate key",
            "unknown option",
            "option missing",
            "option renamed",
            "sum of a half",
            "no probabilities",
            "no confidence",
            "no usage",
            "token counts as floats",
            "other model",
        )
    ),
)

FAULTS: dict[str, Fault] = {fault.name: fault for fault in _ALL}


def spoil(reply: dict[str, Any], how: str) -> bytes:
    """The true reply, spoilt in its first yes/no answer, its choices or its surroundings."""
    answers: dict[str, Any] = reply["answers"]
    choices = [answer for answer in answers.values() if answer["type"] == "choice"]
    first = next((name for name, answer in answers.items() if answer["type"] == "noul"), "")
    values: dict[str, Any] = {"above one": 1.7, "below zero": -0.1, "as text": "0.5", "null": None, "true": True}
    values["nan"] = float("nan")
    if how in values:
        answers[first]["noul"] = values[how]
    match how:
        case "missing answer":
            del answers[first]
        case "every answer missing":
            answers.clear()
        case "extra answer":
            answers["nobody_asked"] = {"type": "noul", "noul": 0.5}
        case "wrong type":
            answers[first]["type"] = "boolean"
        case "unknown option":
            for choice in choices:
                choice["choice"] = "chunk_999"
        case "option missing":
            for choice in choices:
                choice["probabilities"].popitem()
        case "option renamed":
            for choice in choices:
                choice["probabilities"] = {name.upper(): p for name, p in choice["probabilities"].items()}
        case "sum of a half":
            for choice in choices:
                choice["probabilities"] = {name: p / 2 for name, p in choice["probabilities"].items()}
        case "no probabilities" | "no confidence":
            for choice in choices:
                del choice[how.removeprefix("no ")]
        case "no usage":
            del reply["usage"]
        case "token counts as floats":
            reply["usage"] = {name: float(count) for name, count in reply["usage"].items()}
        case "other model":
            reply["model"] = "jev-9.99.0"
    text = json.dumps(reply, ensure_ascii=False)
    said = json.dumps(answers.get(first))
    match how:
        case "duplicate id":
            text = text.replace(f'"{first}": {said}', f'"{first}": {said}, "{first}": {{"type": "noul", "noul": 0.0}}')
        case "duplicate key":
            text = text.replace(said, said.removesuffix("}") + ', "noul": 0.0}', 1)
        case "answers twice":
            text = text.removesuffix("}") + ', "answers": {}}'
        case "byte order mark":
            text = "\ufeff" + text
    return text.encode()
