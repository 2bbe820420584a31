"""What the proxy counts, for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

from context_guard.transcript import Usage
from context_guard_effects.proxy.jobs import Done

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Seconds."""


class Metrics:
    """Labels are words of ours, never anything that a request brings: their number is bounded."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each, which nobody asked for
        registry = self.registry = CollectorRegistry()
        self.requests = Counter(
            "context_guard_requests", "Requests passed on, by API and outcome.", ("api", "outcome"), registry=registry
        )
        self.refusals = Counter(
            "context_guard_refusals", "Requests refused, by reason.", ("reason",), registry=registry
        )
        self.unguarded = Counter(
            "context_guard_unguarded", "Requests passed on unedited, by reason.", ("reason",), registry=registry
        )
        self.kept_out = Counter(
            "context_guard_kept_out_bytes", "Bytes of requests that were not sent.", registry=registry
        )
        self.added = Histogram(
            "context_guard_added_seconds",
            "Time between the last byte of a request and its being passed on.",
            buckets=BUCKETS,
            registry=registry,
        )
        self.upstream = Histogram(
            "context_guard_upstream_seconds",
            "Time until the provider's reply began.",
            buckets=(*BUCKETS, 10.0, 30.0, 60.0),
            registry=registry,
        )
        self.upstream_errors = Counter(
            "context_guard_upstream_errors", "Replies that did not come or broke off.", registry=registry
        )
        self.open = Gauge("context_guard_open_requests", "Requests under way.", registry=registry)
        self.tokens = Counter(
            "context_guard_tokens", "Tokens as providers counted them.", ("api", "kind"), registry=registry
        )
        self.passes = Counter("context_guard_passes", "Passes, by outcome.", ("outcome",), registry=registry)
        self.dropped = Counter(
            "context_guard_passes_dropped", "Passes that found no room and kept everything.", registry=registry
        )
        self.edits = Counter("context_guard_edits", "Edits that passes made.", registry=registry)
        self.judge_requests = Counter("context_guard_judge_requests", "Requests to the judge.", registry=registry)
        self.judge_cost = Counter("context_guard_judge_usd", "What the judge said it cost.", registry=registry)
        self.problems = Counter("context_guard_problems", "Faults after which everything was kept.", registry=registry)

    def text(self) -> bytes:
        return bytes(generate_latest(self.registry))

    def count_usage(self, api: str, usage: Usage) -> None:
        counts = {
            "input": usage.input,
            "output": usage.output,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
        }
        for kind, count in counts.items():
            self.tokens.labels(api, kind).inc(max(0, count))

    def count_pass(self, done: Done) -> None:
        outcome = "failed" if done.problem else "edited" if done.edits else "waiting" if done.waits else "kept"
        self.passes.labels(outcome).inc()
        self.edits.inc(done.edits)
        self.judge_requests.inc(max(0, done.requests))
        self.judge_cost.inc(max(0.0, done.cost_usd))
