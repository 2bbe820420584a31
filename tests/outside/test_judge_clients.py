"""The System One wire against clients and servers that others wrote: both sides have to agree with ours."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from socket import AF_INET, create_connection, socket

import pytest
import trio
from judge_requests import keep_set, run, segment_request
from test_redact import SECRETS

from context_guard.answers import Answers, Asked
from context_guard.redact import redact
from context_guard.servers import Server
from context_guard_effects.judges.ask_all import ask_all
from context_guard_effects.judges.system_one import SystemOneJudge
from context_guard_effects.testing import fake_system_one

pytestmark = pytest.mark.outside

ROOT = Path(__file__).resolve().parents[2]
UNREACHABLE = 3

SDK = """
import json, sys
from typesafe_sdk import Choice, Noul, RetryPolicy, Score, TypeSafeClient, TypeSafeError
retry = RetryPolicy(max_retries=2, backoff_initial=0.01)
client = TypeSafeClient(api_key=sys.argv[2], base_url=sys.argv[1], retry=retry)
questions = {
    "keep_whole": Noul(instructions="Is all needed?"),
    "focus": Choice(instructions="Which?", criteria={"whole": "Most.", "none": "None.", "chunk_1": None}),
    "how much": Score(instructions="How much?", criteria=["none", "some", "all"]),
}
try:
    reply = client.system_one({"chunks": {"chunk_1": "text"}}, questions, model="jev-1.13.0")
    print(json.dumps({"model": reply.model, "answers": sorted(reply.answers), "tokens": reply.usage.input_tokens}))
except TypeSafeError as error:
    print(json.dumps({"error": type(error).__name__, "status": getattr(error, "status", None)}))
"""


@pytest.fixture(scope="session")
def python() -> str:
    """An interpreter with the packages."""
    done = subprocess.run([ROOT / "scripts" / "install_outside.sh"], capture_output=True, text=True, check=False)
    if done.returncode == UNREACHABLE:
        pytest.skip(f"the independent clients are needed: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().removeprefix("python=")


@pytest.mark.parametrize(
    ("fault", "key", "says"),
    [
        ("", "", {"model": "jev-1.13.0", "answers": ["focus", "how much", "keep_whole"]}),
        ("http 429 soon", "", {"model": "jev-1.13.0"}),
        ("http 529", "", {"model": "jev-1.13.0"}),
        ("other model", "", {"model": "jev-9.99.0"}),
        ("token counts as floats", "", {"error": "TypeSafeAPIResponseValidationError"}),
        ("http 400 overflow", "", {"error": "TypeSafeBadRequestError", "status": 400}),
        ("http 422", "", {"error": "TypeSafeUnprocessableEntityError", "status": 422}),
        ("", "wrong-key", {"error": "TypeSafeAuthenticationError", "status": 401}),
        ("html", "", {"error": "TypeSafeAPIResponseValidationError"}),
    ],
)
def test_the_official_sdk_reads_our_fake_server(python: str, fault: str, key: str, says: dict[str, object]) -> None:
    """Answers as answers, each refusal as the error that the SDK has for it."""

    async def test() -> tuple[dict[str, object], list[str]]:
        async with fake_system_one(faults=[fault] if fault else []) as server:
            command = [python, "-c", SDK, server.url, key or server.key]
            done = await trio.to_thread.run_sync(partial(subprocess.run, command, capture_output=True, timeout=60))
            return json.loads(done.stdout or done.stderr), [request.path for request in server.requests]

    said, paths = run(test)
    assert {name: said.get(name) for name in says} == says
    assert set(paths) == {"/v1/systemone"}


@contextmanager
def mock_server(python: str, *options: str) -> Iterator[str]:
    """jevcompat's reference server on a free port, until the block ends."""
    with socket(AF_INET) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(Path(python).with_name("jevcompat")), "mock", "--port", str(port), *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(200):
                try:
                    create_connection(("127.0.0.1", port), 0.1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/v1/systemone"
        finally:
            process.terminate()


ALL = {"keep_whole", "focus", "chunk_1", "chunk_2", "chunk_3"}
NOULS = ALL - {"focus"}


@pytest.mark.parametrize(
    ("fault", "answered"),
    [
        ("", ALL),
        ("plain-content-type", ALL),
        ("forbid-extra", ALL),
        ("string-only-text", ALL),
        ("noul-two-sided", ALL),
        ("noul-needs-instructions", ALL),
        ("no-null-description", ALL),
        ("strict-ids", ALL),
        ("nfd-keys", ALL),
        ("no-usage", ALL),
        ("float-usage", ALL),
        ("extra-answer", ALL),
        ("nan", ALL),
        ("unprefixed-extra", ALL),
        ("choice-no-confidence", ALL),
        ("choice-key-case", ALL),
        ("confidence-over", ALL),
        ("confidence-margin", ALL),
        ("first-question-only", {"keep_whole"}),
        ("boolean-type", {"focus"}),
        ("noul-range", {"focus"}),
        ("choice-sum", NOULS),
        ("wrong-route", None),
        ("xssi-200", None),
        ("auth-x-api-key", None),
    ],
)
def test_our_judge_reads_the_reference_server(python: str, fault: str, answered: set[str] | None) -> None:
    """What the reference server answers is read, what it breaks on purpose costs what it breaks and no more."""

    async def test(url: str) -> Asked:
        server = Server(name="mock/jev-latest", wire="system-one", url=url, model="jev-latest")
        return await ask_all((segment_request(),), SystemOneJudge(server, "k-1234"), 10_000)

    options = ["--key", "k-1234", *(["--fault", fault] if fault else [])]
    with mock_server(python, *options) as url:
        asked = run(test, url)
    outcome = asked.outcomes[0]
    if answered is None:
        assert not isinstance(outcome, Answers)
        assert keep_set(segment_request(), asked).keeps_all
    else:
        assert isinstance(outcome, Answers)
        assert {answer.id for answer in outcome.answers} == answered
        if answered != ALL:
            assert keep_set(segment_request(), asked).reason == "no-answer"


SCAN = """
import json, sys
from detect_secrets.core.scan import scan_line
from detect_secrets.settings import transient_settings
names = json.loads(sys.argv[1])
with transient_settings({"plugins_used": [{"name": name} for name in names]}):
    print(json.dumps([[secret.type for secret in scan_line(line)] for line in json.loads(sys.stdin.read())]))
"""
DETECTORS = [
    "AWSKeyDetector", "AzureStorageKeyDetector", "BasicAuthDetector", "GitHubTokenDetector", "GitLabTokenDetector",
    "JwtTokenDetector", "NpmDetector", "OpenAIDetector", "PrivateKeyDetector", "PypiTokenDetector", "SendGridDetector",
    "SlackDetector", "StripeDetector", "TelegramBotTokenDetector", "TwilioKeyDetector",
]  # fmt: skip


def test_a_scanner_of_others_finds_nothing_in_what_is_sent(python: str) -> None:
    """detect-secrets finds most of the made-up secrets before, and none after they were masked."""

    def found(lines: list[str]) -> int:
        done = subprocess.run(
            [python, "-c", SCAN, json.dumps(DETECTORS)],
            input=json.dumps(lines),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return sum(bool(types) for types in json.loads(done.stdout))

    assert found([line for _, line in SECRETS]) >= 8
    assert found([redact(line) for _, line in SECRETS]) == 0
