"""What a provider would refuse, found before it is sent: one validator a wire format, over plain message lists.

A validator reads the list as JSON gives it, changes nothing and never fails: what it cannot understand it names.
"""

from context_guard.validate.anthropic import validate_anthropic
from context_guard.validate.openai_chat import validate_openai_chat
from context_guard.validate.openai_responses import validate_openai_responses
from context_guard.validate.problem import Problem

__all__ = ["Problem", "validate_anthropic", "validate_openai_chat", "validate_openai_responses"]
