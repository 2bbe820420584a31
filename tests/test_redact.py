"""Secrets leave no machine: what is masked in the judge's copy, what is not, and that nothing else ever changes."""

import json
import re

import msgspec
import pytest
from build import answer, call, prompt, result, session
from hypothesis import given
from hypothesis import strategies as st
from judge_requests import run, segment_request

from context_guard.config import Config
from context_guard.history import Exchange, History
from context_guard.judge_copy import write_copy
from context_guard.recall import recall
from context_guard.redact import redact, redact_pieces, redact_request
from context_guard.requests import Part
from context_guard.stages import plan
from context_guard.system_one import encode_request
from context_guard_effects.guard import distill
from context_guard_effects.judges.system_one import SystemOneJudge
from context_guard_effects.testing import fake_system_one

AWS_KEY = "AKIA" + "IOSFODNN7" + "EXAMPLE"
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY"
GITHUB = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
JWT = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7bq1\n" * 3 + "-----END RSA PRIVATE KEY-----"
"""Put together here, so that no scanner takes this file for a leak."""

MASKS = re.compile(r"\[redacted [a-z-]+\]|\[[0-9,]+ characters of base64\]")

SECRETS = [
    (AWS_KEY, f"aws_access_key_id = {AWS_KEY}"),
    (AWS_SECRET, f"AWS_SECRET_ACCESS_KEY={AWS_SECRET}"),
    (AWS_SECRET, f'config/prod.env:3:export AWS_SECRET_ACCESS_KEY="{AWS_SECRET}"'),
    (GITHUB, f"remote: https://{GITHUB}@github.com/a/b"),
    (GITHUB, f"GITHUB_TOKEN={GITHUB}"),
    ("github_pat_" + "11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz", "github_pat_" + "11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz"),
    ("glpat-" + "abcdefghij0123456789", "token: glpat-" + "abcdefghij0123456789"),
    ("xoxb-" + "123456789012-abcdefABCDEF", "SLACK=xoxb-" + "123456789012-abcdefABCDEF"),
    ("sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc", "stripe.api_key = 'sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc'"),
    ("sk-proj-" + "abcdEFGH1234567890_abcdEFGH", "OPENAI=sk-proj-" + "abcdEFGH1234567890_abcdEFGH"),
    ("sk-ant-api03-" + "abcdefgh-1234567890_ABCDEFGH", "key sk-ant-api03-" + "abcdefgh-1234567890_ABCDEFGH"),
    ("AIza" + "SyA-1234567890abcdefghijklmnopqrstu", "maps?key=AIza" + "SyA-1234567890abcdefghijklmnopqrstu"),
    (
        "npm_" + "abcdefghijklmnopqrstuvwxyz0123456789",
        "//registry/:_authToken=npm_" + "abcdefghijklmnopqrstuvwxyz0123456789",
    ),
    ("hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH", "login(hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH)"),
    (JWT, f"cookie: session={JWT}; theme=dark"),
    (JWT, f"Authorization: Bearer {JWT}"),
    ("s3cr3t-pw", "DATABASE_URL=postgres://app:s3cr3t-pw@db.internal:5432/app"),
    ("hunter2hunter2", '{"user": "bob", "password": "hunter2hunter2"}'),
    ("hunter22", "  password: hunter22"),
    ("dXNlcjpwYXNz", 'curl -H "Authorization: Basic dXNlcjpwYXNz" https://x'),
    ("pw-of-bob", "curl -u bob:pw-of-bob https://x"),
    ("0a1b2c3d4e5f", "GET /login?user=bob&access_token=0a1b2c3d4e5f&next=/"),
    ("c0ffee-c0ffee-42", "client_secret = c0ffee-c0ffee-42"),
    ("correct-horse", "PGPASSWORD=correct-horse psql -h db"),
    ("MIIEpAIBAAKCAQEA7bq1", PEM),
    ("pa55-Wort", "<server><username>bob</username><password>pa55-Wort</password></server>"),
    ("topsecret", "<ns:apiKey type='x'>\n  topsecret\n</ns:apiKey>"),
    ("topsecret", '<datasource user="sa" password="topsecret"/>'),
    ("topsecret", '<add key="SmtpPassword" value="topsecret" />'),
    ("topsecret", '<property name="hibernate.connection.password">topsecret</property>'),
    ("topsecret", "<key>API_TOKEN</key>\n\t<string>topsecret</string>"),
    ("topsecret", "machine example.com login bob password topsecret"),
    ("topsecret", "machine example.com\n  login bob\n  password topsecret"),
    ("topsecret", "mysql -u root -ptopsecret shop"),
    ("topsecret", "mysqldump --user=root --password=topsecret shop > shop.sql"),
    ("topsecret", "psql-tool --db-password topsecret --yes"),
    ("topsecret", '["tool", "--password", "topsecret"]'),
    ("topsecret", "docker login -u bob -p topsecret registry.example.com"),
    ("topsecret", "redis-cli -h cache -a topsecret ping"),
    ("topsecret", "openssl rsa -in k.pem -passin pass:topsecret"),
    ("topsecret", "SMTP_PASS=topsecret"),
    ("topsecret", "export PASS=topsecret"),
    ("topsecret", "smtp_pass: 'topsecret'"),
    ("Ym9iOnRvcHNlY3JldA==", "//npm.example.com/:_auth=Ym9iOnRvcHNlY3JldA=="),
    ("Ym9iOnRvcHNlY3JldA==", '{"auths": {"r.example.com": {"auth": "Ym9iOnRvcHNlY3JldA=="}}}'),
    ("Sommer2024!", "Passwort: Sommer2024!"),
    ("geheim", 'kennwort = "geheim"'),
    ("Soleil-2024", "mot de passe : Soleil-2024"),
    ("soleil", "MOT_DE_PASSE=soleil"),
    ("soleil", "DB_MDP=soleil"),
    ("Verano2024", "contraseña: Verano2024"),
    ("verano", "CLAVE_API=verano"),
    ("verao", "'senha': 'verao'"),
    ("AbCdEf0123456789", "AccountName=x;AccountKey=AbCdEf0123456789AbCdEf0123456789==;EndpointSuffix=y"),
]

HARMLESS = [
    "def authenticate(token: str, password: str | None = None) -> User:",
    "    token = tokens.next()",
    "    if password == expected: return True",
    "max_tokens: 4096",
    "  --password PASSWORD   the password of the user",
    "  --token string        Bearer token for authentication to the API server",
    "--password is asked for when it is left out",
    "mysql -u root -p",
    "mkdir -pv build && mysql -u root shop",
    "--- PASS: TestPool (0.00s)",
    '{"pass": 12, "fail": 0}',
    "# pass 12",
    "bypass: true",
    "self._auth = BasicAuth(user)",
    "<label for='password'>Password</label>",
    "<TokenList><item>one</item></TokenList>",
    "the machine asks for login and password at once",
    "la clave: el valor",
    "Passwort vergessen?",
    "cp -p a b; docker run -p 8080:80 nginx",
    "input_tokens=1500",
    "tokenizer = AutoTokenizer.from_pretrained('gpt2')",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "src/auth/token_store.py:12:class TokenStore:",
    "password: ${DB_PASSWORD}",
    "API_KEY=<your key here>",
    'secret: "{{ vault.secret }}"',
    "PASSWORD=$1",
    "https://example.com/path?page=2&sort=name",
    "2026-11-30T19:02:11Z INFO key rotated in 12 ms",
    "sorted(items, key=lambda item: item.name)",
    "////////////////////////////////////////////////////////////////////////////////" * 4,
    "node_modules/@scope/package/dist/esm/internal/operators/index.js:44:  return operate(source);",
    "glacier-fips.us-west-2.amazonaws.com",
]


@pytest.mark.parametrize(("secret", "line"), SECRETS)
def test_a_secret_is_masked(secret: str, line: str) -> None:
    masked = redact(f"first line\n{line}\nlast line")
    assert secret not in masked
    assert "[redacted " in masked
    assert masked.startswith("first line\n")
    assert masked.endswith("\nlast line")


@pytest.mark.parametrize("line", HARMLESS)
def test_what_is_no_secret_stays(line: str) -> None:
    assert redact(line) == line


def test_what_stands_around_a_secret_stays() -> None:
    """The name tells the judge what the line is; only the value goes."""
    assert redact(f"AWS_SECRET_ACCESS_KEY={AWS_SECRET}") == "AWS_SECRET_ACCESS_KEY=[redacted secret]"
    assert redact("postgres://app:s3cr3t@db:5432/app") == "postgres://app:[redacted password]@db:5432/app"
    assert redact(f"Authorization: Bearer {JWT}, x") == "Authorization: Bearer [redacted jwt], x"


def test_every_value_of_an_env_file_is_masked() -> None:
    """`cat .env`: also the values whose names tell nothing; comments and names stay."""
    request = segment_request(parts=2, text="# settings {}\nHOST=db-{}\nEMPTY=\n")
    state = msgspec.structs.replace(request.state, args='{"command":"cat /app/.env.local"}')
    texts = [part.text for part in redact_request(msgspec.structs.replace(request, state=state)).state.parts]
    assert texts == [f"# settings {n}\nHOST=[redacted env-value]\nEMPTY=\n" for n in (1, 2)]
    untouched = redact_request(request).state.parts
    assert untouched == request.state.parts


def test_a_key_cut_in_two_by_the_chunks_is_masked_in_both() -> None:
    lines = PEM.split("\n")
    first, second = (
        redact_pieces(["before", "\n".join(lines[:2])]),
        redact_pieces(["\n".join(lines[:2]), "\n".join(lines[2:])]),
    )
    assert first == ["before", "[redacted private-key]"]
    assert second == ["[redacted private-key]", "[redacted private-key]"]


def test_base64_is_elided_with_its_size() -> None:
    """T16: a data URL of 120,250 characters is one short line, the text beside it whole."""
    blob = "iVBORw0KGgoAAAANSUhEUgAAB4" * 4_625
    text = f'{{"data_url": "data:image/png;base64,{blob}", "tree": "button OK"}}'
    assert redact(text) == '{"data_url": "data:image/png;base64,[120,250 characters of base64]", "tree": "button OK"}'
    body = "\n".join(["aGVsbG8gV29ybGQhIGhlbGxvIFdvcmxkISBoZWxsbyBXb3JsZCEgaGVsbG8"] * 6)
    assert redact(f"a\n{body}\nb") == f"a\n[{len(body):,} characters of base64]\nb" or "of base64]" in redact(body)


def test_everything_that_is_told_is_masked() -> None:
    """Question, answer, notes, history, arguments, labels: a secret may stand in any of them."""
    request = segment_request(parts=1)
    dirty = f"it is {GITHUB} there"
    state = msgspec.structs.replace(
        request.state,
        history=History(summary=dirty, first_request=dirty, exchanges=(Exchange(dirty, dirty),)),
        question=dirty,
        answer=dirty,
        notes=dirty,
        latest_note=dirty,
        later_calls=(dirty,),
        superseded=dirty,
        tool=dirty,
        args=dirty,
        parts=(Part(id="chunk_1", text=dirty, tool=dirty, superseded=dirty, reply=dirty, calls=(dirty,)),),
    )
    for phase in ("run-end", "mid-run"):
        for kind in ("segment", "small", "exchange"):
            copy = write_copy(msgspec.structs.replace(request, state=state, phase=phase, kind=kind))
            assert GITHUB not in encode_request(copy, "m").decode()
            assert GITHUB not in msgspec.json.encode(copy).decode()


def test_an_env_file_in_a_kept_chunk() -> None:
    """T25: the judge reads masks, the replacement keeps the lines as they were, recall gives back every byte."""
    env = f"AWS_ACCESS_KEY_ID={AWS_KEY}\nAWS_SECRET_ACCESS_KEY={AWS_SECRET}\nGITHUB_TOKEN={GITHUB}\n"
    output = env + "\n".join(f"line {number} of the listing, of no interest" for number in range(400))
    transcript = session(
        prompt("Which keys are set?"),
        call("bash", {"command": "cat .env; ls -R"}),
        result(output),
        answer("AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and GITHUB_TOKEN are set in .env."),
    )

    async def test() -> tuple[str, str]:
        def said(name: str, question: object) -> float | str | None:
            return "chunk_1" if name == "focus" else {"keep_whole": 0.1, "chunk_1": 0.9}.get(name, 0.05)

        async with fake_system_one(said) as server:
            distilled = await distill(transcript, Config(min_run_chars=0), SystemOneJudge(server.server, server.key))
            (replacement,) = (d.replacement[0] for d in distilled.settlement.decisions if d.replacement is not None)
            return "".join(request.raw.decode() for request in server.requests), replacement

    sent, replacement = run(test)
    for secret in (AWS_KEY, AWS_SECRET, GITHUB):
        assert secret not in sent
        assert secret in replacement
    assert env.rstrip("\n") in replacement
    assert "[redacted " not in replacement
    assert recall(transcript, "e3").unwrap().raw == output


def test_a_request_without_secrets_is_sent_as_it_is() -> None:
    request = segment_request()
    assert write_copy(request) == request


FRAGMENTS = [
    AWS_KEY,
    GITHUB,
    PEM,
    "://u:p@",
    "\ud800",
    "password",
    "token",
    "=",
    ": ",
    '"',
    "'",
    "\n",
    " ",
    "a1",
    "b-2",
    "x" * 30,
]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=20).map("".join))
def test_masking_only_ever_replaces(text: str) -> None:
    """Any text, twice the same: what is not a mask is a slice of the text, in its order."""
    masked = redact(text)
    assert redact(text) == masked
    at = 0
    for kept in MASKS.split(masked):
        found = text.find(kept, at)
        assert found >= 0
        at = found + len(kept)


@given(st.lists(st.text(max_size=60), min_size=1, max_size=5))
def test_pieces_stay_pieces(texts: list[str]) -> None:
    assert len(redact_pieces(texts)) == len(texts)


def test_the_plan_itself_holds_the_truth() -> None:
    """Only the copy is masked: requests of the plan, and with them chunks and keep sets, are the session's own."""
    output = "\n".join(f"{GITHUB} {number}" for number in range(300))
    transcript = session(prompt("Why?"), call("bash", {"command": "x"}), result(output), answer("So."))
    requests = plan(transcript, Config(min_run_chars=0)).requests
    assert GITHUB in json.dumps(msgspec.to_builtins(requests))
