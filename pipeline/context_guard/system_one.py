"""A request as a System One server reads it: `POST …/v1/systemone`, one JSON object, the same bytes every time."""

import json
from typing import Any, assert_never

from context_guard.history import Exchange, History
from context_guard.requests import Choice, Part, Question, Request, RequestKind, State, YesNo
from context_guard.text import without_lone_surrogates

NO_CALLS = "none yet"
FAILED = "failed"

PARTS: dict[RequestKind, str] = {"segment": "chunks", "small": "items", "exchange": "exchanges"}


def encode_request(request: Request, model: str) -> bytes:
    """The body to send. It holds no image and no lone surrogate."""
    body = {
        "model": model,
        "state": state_of(request),
        "questions": {question.id: question_of(question) for question in request.questions},
    }
    return without_lone_surrogates(compact(body)).encode()


def state_of(request: Request) -> dict[str, Any]:
    """What the judge is told, under the names that the questions use; what is empty is left out."""
    state = request.state
    mid_run = request.phase == "mid-run"
    told: dict[str, Any] = {
        "situation": state.situation,
        "earlier_conversation": _history(state.history),
        "user_question": state.question,
        "final_answer": state.answer,
        "agent_notes_during_the_run": "" if mid_run else state.notes,
        "agent_progress": _progress(state) if mid_run else None,
        "later_tool_calls": None if state.later_calls is None else list(state.later_calls) or NO_CALLS,
        "superseded": state.superseded,
        "tool": state.tool,
        "tool_status": state.status,
        "tool_arguments": state.args,
        "output_size": state.size,
        PARTS[request.kind]: {part.id: _part(part, request.kind) for part in state.parts},
    }
    return {name: value for name, value in told.items() if value}


def compact(value: Any) -> str:
    """JSON without spaces, non-ASCII as it is, keys in their order; never NaN."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _history(history: History) -> dict[str, Any]:
    told: dict[str, Any] = {
        "summary": history.summary,
        "first_request": history.first_request,
        "recent_exchanges": [_exchange(exchange) for exchange in history.exchanges],
    }
    return {name: value for name, value in told.items() if value}


def _exchange(exchange: Exchange) -> dict[str, str]:
    told = {"user": exchange.user}
    return told | {"assistant": exchange.assistant} if exchange.assistant else told


def _progress(state: State) -> dict[str, str]:
    told = {"latest_note": state.latest_note, "earlier_notes": state.notes}
    return {name: value for name, value in told.items() if value}


def _part(part: Part, kind: RequestKind) -> str | dict[str, Any]:
    match kind:
        case "segment":
            return part.text
        case "small":
            small = {"tool": part.tool, "status": FAILED if part.failed else "", "superseded": part.superseded}
            return {name: value for name, value in small.items() if value} | {"output": part.text}
        case "exchange":
            return {
                "user_prompt": part.text,
                "final_answer": part.reply,
                "tool_calls": list(part.calls),
                "size": part.size,
            }
        case _:
            assert_never(kind)


def question_of(question: Question) -> dict[str, Any]:
    """As the wire has it."""
    match question:
        case YesNo(instructions=instructions, yes=yes, no=no):
            return {"type": "noul", "instructions": instructions, "criteria": {"true": yes, "false": no}}
        case Choice(instructions=instructions, options=options):
            return {"type": "choice", "instructions": instructions, "criteria": dict(options)}
        case _:
            assert_never(question)
