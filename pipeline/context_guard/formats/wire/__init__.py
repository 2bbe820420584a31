"""What the model sees of a transcript, in the words of the three wire formats, put together as Pi does it.

These lists are for checks and for export. A codec that sends edits patches the host's own messages instead, and never
rebuilds them. Bytes of pictures are not here: each stands as a reference to its source.
"""

from context_guard.formats.wire.anthropic import to_anthropic
from context_guard.formats.wire.openai_chat import to_openai_chat
from context_guard.formats.wire.openai_responses import to_openai_responses

__all__ = ["to_anthropic", "to_openai_chat", "to_openai_responses"]
