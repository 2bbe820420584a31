"""Context guard, the pure pipeline: keeps the lines of a tool output that the work still needs.

    host data → Transcript → span → candidates → chunks → segments → requests → (ask) → answers → keep sets → drafts

`plan` runs the stages up to the requests, `settle` the rest. Asking is the host's; see `context_guard_effects`.
"""

from context_guard.answers import Answered, Answers, Asked, ChoiceAnswer, Unanswered, YesNoAnswer
from context_guard.candidates import Candidate, pick_candidates
from context_guard.chunks import Chunk, Cut, cut_chunks
from context_guard.config import Config
from context_guard.decisions import Decision, decide_output
from context_guard.drafts import Append, Draft, Omit, Replace, write_drafts
from context_guard.keep_sets import KeepSet, decide_keep_set
from context_guard.records import Record
from context_guard.requests import Choice, Request, YesNo, build_request
from context_guard.segments import Segment, pack_segments
from context_guard.settings import parse_config
from context_guard.span import Span, find_spans
from context_guard.stages import Plan, Settlement, plan, settle
from context_guard.transcript import Entry, Transcript

__all__ = [
    "Answered",
    "Answers",
    "Append",
    "Asked",
    "Candidate",
    "Choice",
    "ChoiceAnswer",
    "Chunk",
    "Config",
    "Cut",
    "Decision",
    "Draft",
    "Entry",
    "KeepSet",
    "Omit",
    "Plan",
    "Record",
    "Replace",
    "Request",
    "Segment",
    "Settlement",
    "Span",
    "Transcript",
    "Unanswered",
    "YesNo",
    "YesNoAnswer",
    "build_request",
    "cut_chunks",
    "decide_keep_set",
    "decide_output",
    "find_spans",
    "pack_segments",
    "parse_config",
    "pick_candidates",
    "plan",
    "settle",
    "write_drafts",
]
