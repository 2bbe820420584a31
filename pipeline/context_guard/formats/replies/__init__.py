"""A provider's reply, read while it streams by: the assistant's message as the agent will send it back.

    reader = open_reply("anthropic", content_type)
    for piece in body: reader.feed(piece)
    reply = reader.close()          # None: no opinion

Only a whole reply gives one. Unknown events and parts are left out or carried; whatever cannot be read gives None, and
never an error.
"""

from context_guard.formats.replies.reader import ReplyReader, open_reply
from context_guard.formats.replies.reply import Reply

__all__ = ["Reply", "ReplyReader", "open_reply"]
