"""A request as Pi's own `modelRegistry.classify` takes it, and what Pi says as the answers to it.

Pi calls a question with yes and no `bool` where the wire has `noul`, and reports its price for the call.
"""

import json
from typing import TYPE_CHECKING, Any

from context_guard.answers import Answers, Unanswered, read_answers
from context_guard.requests import Request
from context_guard.system_one import compact, question_of, state_of
from context_guard.text import one_line, shorten, without_lone_surrogates

if TYPE_CHECKING:
    from returns.result import Result

SAID_CHARS = 200


def write_pi_request(copy: Request) -> dict[str, Any]:
    """State and questions; `copy` is what may leave."""
    questions = {question.id: question_of(question) for question in copy.questions}
    named = {
        name: question | {"type": "bool"} if question["type"] == "noul" else question
        for name, question in questions.items()
    }
    found: dict[str, Any] = json.loads(without_lone_surrogates(compact({"state": state_of(copy), "questions": named})))
    return found


def read_pi_result(request: Request, result: dict[str, Any]) -> "Result[Answers, Unanswered]":
    """Pi never throws for what a provider does: it names a `stopReason`."""
    from returns.result import Failure

    stopped = result.get("stopReason")
    if stopped != "stop":
        said = result.get("errorMessage")
        detail = shorten(one_line(said), SAID_CHARS) if isinstance(said, str) and said else "Pi gave no answer"
        return Failure(
            Unanswered(
                request_id=request.id,
                reason="aborted" if stopped == "aborted" else "error",
                detail=detail,
                replied=True,
            )
        )
    answers = _object(result.get("answers"))
    usage = _object(result.get("usage"))
    reply = {
        "answers": {name: _on_the_wire(answer) for name, answer in answers.items()},
        "usage": {
            "input_tokens": usage.get("input"),
            "output_tokens": usage.get("output"),
            "cost": _object(usage.get("cost")).get("total"),
        },
        "model": result.get("model"),
    }
    return read_answers(request, json.dumps(reply).encode())


def _on_the_wire(answer: Any) -> Any:
    if isinstance(answer, dict) and answer.get("type") == "bool":
        return {"type": "noul", "noul": answer.get("probability")}
    return answer


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
