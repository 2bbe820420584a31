"""From a reference to a judge: `local`, `jev`, `openrouter/~typesafe/jev-latest`, `local+jev`, `jev,local`, …

REFERENCE = JUDGE [ "," OTHERWISE ]     OTHERWISE: `keep` (the default) or `local`, where JUDGE has no answer
JUDGE     = `local` | SERVER | `local+` SERVER
SERVER    = PROVIDER [ "/" MODEL ] | http(s)://HOST[/PATH][?context=TOKENS]#MODEL, either behind `logprobs:`
"""

from collections.abc import Callable, Mapping

from returns.result import Result, Success

from context_guard.local_judge import USUAL, Settings
from context_guard.servers import Server, find_server
from context_guard_effects.judges.chain import Chain
from context_guard_effects.judges.local import LocalJudge
from context_guard_effects.judges.logprobs import LogprobsJudge
from context_guard_effects.judges.port import Judge
from context_guard_effects.judges.system_one import SystemOneJudge

LOCAL = "local"
FIRST_LOCAL = "local+"


HostJudge = Callable[[str], Judge | None]
"""A host's own way to the server of a reference, with the host's log-in; None where it has none."""


def resolve_judge(
    reference: str,
    environment: Mapping[str, str],
    settings: Settings = USUAL,
    of_host: HostJudge = lambda _: None,
) -> Result[Judge, str]:
    """The judge, or one line on what is wrong with the reference; that a key is missing, the judge says when asked.

    `settings` are those of the embedded judge, wherever it takes part. A host is asked for servers that are not known
    here, and for those whose key the environment lacks.
    """
    local = LocalJudge(settings)
    name, otherwise = _otherwise(reference.strip())
    if name == LOCAL:
        return Success(local)
    is_first_local = name.startswith(FIRST_LOCAL)
    named = name.removeprefix(FIRST_LOCAL)
    found: Result[Server, str] = find_server(named, environment)
    if host_provider(reference, environment) and (hosted := of_host(named)) is not None:
        return Success(_judge(local, hosted, is_first_local, otherwise))
    return found.map(lambda server: _judge(local, _remote(server, environment), is_first_local, otherwise))


def host_provider(reference: str, environment: Mapping[str, str]) -> str:
    """The provider for which a host may have a log-in where the environment has no key; empty when none is needed."""
    name, _ = _otherwise(reference.strip())
    named = name.removeprefix(FIRST_LOCAL)
    if name == LOCAL or "://" in named or "/" not in named:
        return ""
    found: Result[Server, str] = find_server(named, environment)
    return named.partition("/")[0] if found.map(lambda server: _lacks_key(server, environment)).value_or(True) else ""


def _lacks_key(server: Server, environment: Mapping[str, str]) -> bool:
    return server.needs_key and not environment.get(server.key_name, "").strip()


def _otherwise(reference: str) -> tuple[str, bool]:
    """What follows the last comma is a policy only when it is one: a model's name may hold a comma."""
    name, _, policy = reference.rpartition(",")
    if name and policy in (LOCAL, "keep"):
        return name, policy == LOCAL
    return reference, False


def _judge(local: Judge, remote: Judge, is_first_local: bool, otherwise_local: bool) -> Judge:
    if is_first_local:
        return Chain(local, remote, "local" if otherwise_local else "keep")
    return Chain(local, remote, "local", asks_all=True) if otherwise_local else remote


def _remote(server: Server, environment: Mapping[str, str]) -> Judge:
    key = environment.get(server.key_name, "")
    return LogprobsJudge(server, key) if server.wire == "logprobs" else SystemOneJudge(server, key)
