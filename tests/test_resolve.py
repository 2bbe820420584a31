"""From a reference to a judge: who is asked, where, under which model and with which key."""

import subprocess
import sys

import pytest

from context_guard.servers import PROVIDERS, endpoint, find_server
from context_guard_effects.judges.chain import Chain
from context_guard_effects.judges.local import LocalJudge
from context_guard_effects.judges.logprobs import LogprobsJudge
from context_guard_effects.judges.resolve import resolve_judge
from context_guard_effects.judges.system_one import SystemOneJudge


@pytest.mark.parametrize(
    ("reference", "url", "model", "key"),
    [
        ("jev", "https://api.typesafe.ai/v1/systemone", "jev-1.13.0", "TYPESAFE_API_KEY"),
        ("jev/jev-latest", "https://api.typesafe.ai/v1/systemone", "jev-latest", "TYPESAFE_API_KEY"),
        ("typesafe/jev-1.14.0", "https://api.typesafe.ai/v1/systemone", "jev-1.14.0", "TYPESAFE_API_KEY"),
        (
            "openrouter/~typesafe/jev-latest",
            "https://openrouter.ai/api/v1/systemone",
            "~typesafe/jev-latest",
            "OPENROUTER_API_KEY",
        ),
        ("openrouter", "https://openrouter.ai/api/v1/systemone", "typesafe/jev-1.13", "OPENROUTER_API_KEY"),
        (
            "vercel",
            "https://ai-gateway.vercel.sh/typesafe/v1/systemone",
            "typesafe-ai/jev-1.13.0",
            "AI_GATEWAY_API_KEY",
        ),
        ("opencode", "https://opencode.ai/inference/systemone", "jev-1.13", "OPENCODE_API_KEY"),
        ("litellm", "http://127.0.0.1:4000/typesafe/v1/systemone", "jev-1.13.0", "LITELLM_API_KEY"),
        ("laya", "http://127.0.0.1:8000/v1/systemone", "laya-rl-agent", "LAYA_API_KEY"),
        ("llama.cpp/qwen", "http://127.0.0.1:8080/v1/chat/completions", "qwen", "LLAMA_CPP_API_KEY"),
        ("ollama/qwen3.5:9b", "http://127.0.0.1:11434/v1/chat/completions", "qwen3.5:9b", "OLLAMA_API_KEY"),
        ("http://127.0.0.1:8080/v1#m", "http://127.0.0.1:8080/v1/systemone", "m", "CONTEXT_GUARD_JUDGE_KEY"),
        ("https://judge.example/x#a/b", "https://judge.example/x/v1/systemone", "a/b", "CONTEXT_GUARD_JUDGE_KEY"),
        (
            "logprobs:http://localhost:8000/v1#m",
            "http://localhost:8000/v1/chat/completions",
            "m",
            "CONTEXT_GUARD_JUDGE_KEY",
        ),
        (
            "logprobs:openrouter/qwen/qwen3",
            "https://openrouter.ai/api/v1/chat/completions",
            "qwen/qwen3",
            "OPENROUTER_API_KEY",
        ),
    ],
)
def test_a_reference_names_a_server(reference: str, url: str, model: str, key: str) -> None:
    server = find_server(reference, {}).unwrap()
    assert (server.url, server.model, server.key_name) == (url, model, key)


@pytest.mark.parametrize(
    ("root", "full"),
    [
        ("https://x", "https://x/v1/systemone"),
        ("https://x/", "https://x/v1/systemone"),
        ("https://x/v1/", "https://x/v1/systemone"),
        ("https://x/api", "https://x/api/v1/systemone"),
        ("https://x/v1/systemone", "https://x/v1/systemone"),
        ("https://x/api/alpha/decisions", "https://x/api/alpha/decisions"),
    ],
)
def test_a_root_becomes_an_endpoint(root: str, full: str) -> None:
    assert endpoint(root, "system-one") == full


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("nobody", "'nobody' is no known provider"),
        ("ollama", "ollama needs a model: ollama/MODEL"),
        ("http://127.0.0.1:8080/v1", "add #MODEL"),
        ("http://judge.example/v1#m", "is not https"),
        ("https://user:pass@judge.example/v1#m", "CONTEXT_GUARD_JUDGE_KEY"),
        ("https:///v1#m", "names no host"),
        ("https://judge.example:port/v1#m", "cannot be read"),
        ("https://judge.example/v1?ctx=3#m", "unknown part ?ctx="),
        ("https://judge.example/v1?context=many#m", "no whole number"),
        ("local+", "is no known provider"),
    ],
)
def test_a_wrong_reference_is_told_in_one_line(reference: str, says: str) -> None:
    told = resolve_judge(reference, {}).failure()
    assert says in told
    assert "\n" not in told
    assert "pass@" not in told


def test_addresses_and_models_come_from_the_environment() -> None:
    """The variables that other clients read, too."""
    environment = {
        "TYPESAFE_BASE_URL": "https://eu.typesafe.example/",
        "TYPESAFE_DEFAULT_MODEL": "jev-1.14.0",
        "OLLAMA_HOST": "127.0.0.1:5000",
        "LITELLM_BASE_URL": "https://proxy.example",
    }
    jev = find_server("jev", environment).unwrap()
    assert (jev.url, jev.model) == ("https://eu.typesafe.example/v1/systemone", "jev-1.14.0")
    assert find_server("ollama/m", environment).unwrap().url == "http://127.0.0.1:5000/v1/chat/completions"
    assert find_server("litellm", environment).unwrap().url == "https://proxy.example/typesafe/v1/systemone"
    assert find_server("http://10.0.0.7:8000#m", {"CONTEXT_GUARD_ALLOW_HTTP": "1"}).unwrap().model == "m"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:5000", "http://127.0.0.1:5000"),
        (":5000", "http://127.0.0.1:5000"),
        ("::", "http://[::1]:11434"),
        ("[::1]:5000", "http://[::1]:5000"),
        ("localhost", "http://localhost:11434"),
        (" http://0.0.0.0:8080/ ", "http://127.0.0.1:8080"),
    ],
)
def test_where_ollama_listens_is_where_it_is_asked(host: str, url: str) -> None:
    """OLLAMA_HOST as its server takes it: every interface means this machine, the port may be missing."""
    assert find_server("ollama/m", {"OLLAMA_HOST": host}).unwrap().url == f"{url}/v1/chat/completions"


def test_every_interface_is_this_machine_by_every_name() -> None:
    """In an address and in another provider's variable too."""
    assert find_server("http://0.0.0.0:8080/v1#m", {}).unwrap().url == "http://127.0.0.1:8080/v1/systemone"
    vllm = find_server("vllm/m", {"VLLM_BASE_URL": "http://[::]:8000/v1"}).unwrap()
    assert vllm.url == "http://[::1]:8000/v1/chat/completions"


@pytest.mark.parametrize(
    ("reference", "variable", "value", "says"),
    [
        ("jev", "TYPESAFE_BASE_URL", "ftp://x", "TYPESAFE_BASE_URL is no http(s) address: give it as http(s)://HOST"),
        ("jev", "TYPESAFE_BASE_URL", "https://", "TYPESAFE_BASE_URL names no host"),
        ("jev", "TYPESAFE_BASE_URL", "https://x:port", "TYPESAFE_BASE_URL cannot be read"),
        ("jev", "TYPESAFE_BASE_URL", "https://x/?key=secret", "TYPESAFE_BASE_URL holds more than an address"),
        ("jev", "TYPESAFE_BASE_URL", "https://a:secret@x", "TYPESAFE_BASE_URL holds a user or a password"),
        ("jev", "TYPESAFE_BASE_URL", "api.example", "(from TYPESAFE_BASE_URL) is not https"),
        ("ollama/m", "OLLAMA_HOST", "my host", "OLLAMA_HOST names no host"),
        ("ollama/m", "OLLAMA_HOST", "10.0.0.7", "http://10.0.0.7:11434/v1/chat/completions (from OLLAMA_HOST) is not"),
    ],
)
def test_a_bad_address_is_told_by_its_variable(reference: str, variable: str, value: str, says: str) -> None:
    """What to look at is the environment, not the reference; a secret in it is not repeated."""
    told = resolve_judge(reference, {variable: value}).failure()
    assert says in told
    assert "secret" not in told


def test_a_context_size_can_be_given() -> None:
    assert find_server("http://127.0.0.1:8000/v1?context=8192#m", {}).unwrap().context_tokens == 8_192
    assert find_server("http://127.0.0.1:8000/v1#m", {}).unwrap().context_tokens == 28_000


def test_models_are_pinned_unless_latest_is_asked_for() -> None:
    assert not [name for name, provider in PROVIDERS.items() if "latest" in provider.model]


def test_each_kind_of_judge() -> None:
    assert isinstance(resolve_judge("local", {}).unwrap(), LocalJudge)
    assert isinstance(resolve_judge("jev", {}).unwrap(), SystemOneJudge)
    assert isinstance(resolve_judge("ollama/m", {}).unwrap(), LogprobsJudge)
    chain = resolve_judge("local+jev", {}).unwrap()
    assert isinstance(chain, Chain)
    assert (chain.name, chain.otherwise, chain.asks_all) == ("local/trained-1+typesafe/jev-1.13.0", "keep", False)
    chain = resolve_judge("local+jev,local", {}).unwrap()
    assert isinstance(chain, Chain)
    assert (chain.otherwise, chain.asks_all) == ("local", False)
    fallback = resolve_judge("openrouter/~typesafe/jev-latest,local", {}).unwrap()
    assert isinstance(fallback, Chain)
    assert (fallback.name, fallback.otherwise, fallback.asks_all) == ("openrouter/~typesafe/jev-latest", "local", True)
    assert isinstance(resolve_judge("jev,keep", {}).unwrap(), SystemOneJudge)


def test_no_key_goes_to_a_server_that_is_not_its_own() -> None:
    keys = {"TYPESAFE_API_KEY": "typesafe-secret", "OPENROUTER_API_KEY": "openrouter-secret"}
    judge = resolve_judge("https://judge.example/v1#m", keys).unwrap()
    assert "secret" not in repr(vars(judge)["_connection"].__dict__)


def test_httpx_is_imported_only_to_ask() -> None:
    """Choosing a judge imports nothing of the network: that would cost every command its start."""
    code = (
        "import sys; sys.path[:0] = ['pipeline', 'effects']\n"
        "from context_guard_effects.judges.resolve import resolve_judge\n"
        "resolve_judge('local+jev', {}).unwrap()\n"
        "print(sorted({'httpx', 'h11', 'httpcore', 're2'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
