"""What the edits of a logged pass take from the model's sight, and which outputs give it back."""

from context_guard.edit_log import LoggedPass, Omitted, Replaced


def ways_back(pass_: LoggedPass) -> dict[str, tuple[str, ...]]:
    """For each target that the pass hides, the ids any one of which recalls it: its own, or that of the prompt whose
    exchange was omitted with it."""
    prompts: dict[str, list[str]] = {}
    for result in pass_.record.results if pass_.record else ():
        for member in result.omitted or ():
            prompts.setdefault(member, []).append(result.entry_id)
    hidden: dict[str, tuple[str, ...]] = {}
    for edit in pass_.edits:
        match edit:
            case Replaced(target=target):
                hidden[target] = (target,)
            case Omitted(target=target):
                hidden.setdefault(target, (target, *prompts.get(target, ())))
    return hidden


def is_word(pass_: LoggedPass) -> bool:
    """Whether it is the user's own word about outputs, which hides nothing and quotes nothing."""
    return pass_.record is None and not ways_back(pass_)


def mentioned(pass_: LoggedPass) -> frozenset[str]:
    """Every id that the pass edits or says something about."""
    results = pass_.record.results if pass_.record else ()
    return frozenset([*(edit.target for edit in pass_.edits), *(result.entry_id for result in results)])
