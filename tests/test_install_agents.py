"""`install` into agents with settings of their own, and `uninstall`: the guard's keys alone; every other byte stays."""

import json
from pathlib import Path

import pytest
import tomlkit
from click.testing import CliRunner
from command_line import complaint, guard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_guard_effects.agents.document import MISSING, DocumentError
from context_guard_effects.agents.installer import BACKUP
from context_guard_effects.agents.json_document import JsonDocument
from context_guard_effects.agents.settings import Setting, put_in, take_out
from context_guard_effects.agents.toml_document import TomlDocument
from context_guard_effects.cli import main

QUICK = settings(deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow])

CLAUDE = '{\n  "model": "opus", // mine\n  "env": {"ANTHROPIC_API_KEY": "sk-ant-api03-%s"}\n}\n' % ("aB3" * 20)
CODEX = '# mine\nmodel = "gpt-5.5"   # the good one\n\n[tools]\nweb = true\n\n[mcp_servers.other]\ncommand = "x"\n'
OPENCODE = '{\r\n\t// mine\r\n\t"model": "openai/gpt-5.5",\r\n\t"mcp": {"other": {"type": "remote", "url": "https://a.example"}},\r\n}'

FILES = {
    "claude-code": (".claude/settings.json", CLAUDE),
    "codex": (".codex/config.toml", CODEX),
    "opencode": (".config/opencode/opencode.jsonc", OPENCODE),
}
AGENTS = tuple(FILES)
URL = "http://127.0.0.1:8484"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user of all three agents."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "CONTEXT_GUARD_STORE"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "home"
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setattr("platformdirs.user_data_path", lambda *_: tmp_path / "data" / "context-guard")
    for name, text in FILES.values():
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(text.encode())
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def done(*words: str) -> str:
    run = guard(*words)
    assert (0, "") == (run.exit_code, run.stderr), run.output
    return run.stdout


def read(home: Path, agent: str) -> JsonDocument | TomlDocument:
    name = FILES[agent][0]
    data = (home / name).read_bytes()
    return TomlDocument(data) if name.endswith(".toml") else JsonDocument(data)


def test_each_agent_is_pointed_at_the_proxy_and_given_the_server(home: Path) -> None:
    """As the real ones read it: tests/outside/test_agents.py."""
    for agent in AGENTS:
        done("install", agent, "--yes")
    claude, codex, opencode = (read(home, agent) for agent in AGENTS)
    assert f"{URL}/anthropic" == claude.get(("env", "ANTHROPIC_BASE_URL"))
    server = JsonDocument((home / ".claude.json").read_bytes()).get(("mcpServers", "context-guard"))
    assert ("stdio", ["-P", "-m", "context_guard_effects.cli", "mcp"], True) == (
        server["type"],
        server["args"],
        server["alwaysLoad"],
    )
    assert "context-guard" == codex.get(("model_provider",))
    assert f"{URL}/openai/v1" == codex.get(("model_providers", "context-guard", "base_url"))
    assert server["command"] == codex.get(("mcp_servers", "context-guard", "command"))
    assert f"{URL}/openai/v1" == opencode.get(("provider", "openai", "options", "baseURL"))
    assert MISSING is opencode.get(("provider", "anthropic"))
    assert [server["command"], *server["args"]] == opencode.get(("mcp", "context-guard", "command"))


@pytest.mark.parametrize("agent", AGENTS)
def test_uninstalling_gives_every_byte_back(agent: str, home: Path, tmp_path: Path) -> None:
    """After installing twice too, with another port; no backup and no ledger stays."""
    before = tree(tmp_path)
    done("install", agent, "--yes")
    assert FILES[agent][1].encode() == (home / f"{FILES[agent][0]}{BACKUP}").read_bytes()
    assert "is set up already" in done("install", agent, "--yes")
    done("install", agent, "--yes", "--proxy", "http://127.0.0.1:9999")
    assert b":9999/" in (home / FILES[agent][0]).read_bytes()
    assert b":8484" not in (home / FILES[agent][0]).read_bytes()
    done("uninstall", agent, "--yes")
    assert before == tree(tmp_path)
    assert "Nothing of context-guard" in done("uninstall", agent, "--yes")


@pytest.mark.parametrize("agent", AGENTS)
def test_every_line_of_the_user_stays(agent: str, home: Path) -> None:
    """Comments, order, indentation and line ends."""
    done("install", agent, "--yes")
    now = (home / FILES[agent][0]).read_bytes().decode()
    comments = [line for line in FILES[agent][1].splitlines() if "mine" in line or "good one" in line]
    assert comments
    assert set(comments) <= set(now.splitlines())
    if "\r\n" in FILES[agent][1]:
        assert "\n" not in now.replace("\r\n", "")


@pytest.mark.parametrize("agent", AGENTS)
def test_from_a_file_that_has_changed_only_our_keys_go(agent: str, home: Path) -> None:
    """And it says so; what somebody has changed of ours stays, with its name."""
    done("install", agent, "--yes")
    file = home / FILES[agent][0]
    changed = read(home, agent).set(("later",), {"mine": True})
    file.write_bytes(changed.data())
    run = guard("uninstall", agent, "--yes")
    assert 0 == run.exit_code
    assert "has changed since the guard was installed: only the guard's part goes" in complaint(run)
    assert f"removed the guard's part from {file}; what changed there since is kept" in run.stdout
    assert "restored" not in run.stdout.replace("restored " + str(home / ".claude.json"), "")
    left = read(home, agent)
    assert {"mine": True} == left.get(("later",))
    assert "context-guard" not in left.data().decode()
    assert "8484" not in left.data().decode()
    assert read_text(FILES[agent][1], agent).get(("mcp_servers", "other")) == left.get(("mcp_servers", "other"))


EDITS = {
    "claude-code": [
        ('"model": "opus"', '"model": "sonnet"'),
        ("{\n", '{\n  "new": [1],\n'),
        ("\n}\n", ',\n  "z": {}\n}\n'),
    ],
    "codex": [
        ("# mine\n", "# mine\nz = 1\n"),
        ("web = true", "web = false"),
        ('command = "x"\n', 'command = "y" # !\n'),
    ],
    "opencode": [("// mine", "// yours"), ('"model"', '"new": [1],\r\n\t"model"'), ("\r\n}", ',\r\n\t"z": {}\r\n}')],
}


@pytest.mark.parametrize(("agent", "old", "new"), [(agent, *edit) for agent in AGENTS for edit in EDITS[agent]])
def test_what_the_user_wrote_since_stands_as_if_the_guard_had_never_been_there(
    agent: str, old: str, new: str, home: Path
) -> None:
    """Every byte: no blank line, comma or bracket is left behind or taken along."""
    file = home / FILES[agent][0]
    done("install", agent, "--yes")
    file.write_bytes(file.read_bytes().replace(old.encode(), new.encode(), 1))
    guard("uninstall", agent, "--yes")
    assert FILES[agent][1].replace(old, new, 1) == file.read_bytes().decode()


@pytest.mark.parametrize("end", ["", "\n", "\n\n[later]\na = 1\n"])
def test_a_rewritten_table_goes_with_the_blank_line_before_it(end: str) -> None:
    """Where the bytes of the install no longer stand, the key is taken out, and leaves no gap."""
    before = b"a = 1\n"
    ours = (Setting(("mcp", "guard"), {"on": True}),)
    now = f"a = 1\n\n[mcp.guard]\non=true{end}".encode()
    out, foreign = take_out(TomlDocument(now), TomlDocument(before), ours)
    assert ("a = 1\n" + end.removeprefix("\n"), []) == (out.data().decode(), foreign)


def read_text(text: str, agent: str) -> JsonDocument | TomlDocument:
    return TomlDocument(text.encode()) if agent == "codex" else JsonDocument(text.encode())


def test_a_key_of_ours_that_somebody_changed_is_left(home: Path) -> None:
    done("install", "claude-code", "--yes")
    changed = read(home, "claude-code").set(("env", "ANTHROPIC_BASE_URL"), "https://gateway.example")
    (home / FILES["claude-code"][0]).write_bytes(changed.data())
    run = guard("uninstall", "claude-code", "--yes")
    assert "left, since somebody changed them: env.ANTHROPIC_BASE_URL" in complaint(run)
    assert "https://gateway.example" == read(home, "claude-code").get(("env", "ANTHROPIC_BASE_URL"))


def test_nothing_is_written_unless_the_user_agrees(home: Path, tmp_path: Path) -> None:
    """The difference is shown first; a key that stands nearby is not."""
    before = tree(tmp_path)
    dry = done("install", "claude-code", "--dry-run")
    assert f'"ANTHROPIC_BASE_URL": "{URL}/anthropic"' in dry
    assert "aB3aB3" not in dry
    no = CliRunner().invoke(main, ["install", "claude-code"], input="n\n")
    assert (0, True) == (no.exit_code, no.stdout.endswith("Nothing was written.\n"))
    nobody = guard("install", "claude-code")
    assert 2 == nobody.exit_code
    assert "--yes writes without asking" in complaint(nobody)
    assert before == tree(tmp_path)
    yes = CliRunner().invoke(main, ["install", "claude-code"], input="y\n")
    assert 0 == yes.exit_code
    assert before != tree(tmp_path)


@pytest.mark.parametrize(
    ("agent", "text", "told"),
    [
        ("claude-code", '{"env": {"ANTHROPIC_BASE_URL": "https://gateway.example"}}', "--upstream anthropic=URL"),
        ("codex", 'model_provider = "azure"', "--upstream openai=URL"),
        (
            "opencode",
            '{"provider": {"openai": {"options": {"baseURL": "https://x.example"}}}}',
            "--upstream openai=URL",
        ),
        ("claude-code", '{"env": []}', "env is not an object"),
        ("claude-code", "[1]", "it is not one JSON object"),
        ("claude-code", '{"a": 1', "line 1 is no JSON"),
        ("claude-code", '{"a": nul}', "line 1 is no JSON"),
        ("codex", "model = ", "it is no TOML"),
        ("codex", 'mcp_servers = "x"', "mcp_servers is not a table"),
    ],
)
def test_what_must_not_be_overwritten_is_refused(agent: str, text: str, told: str, home: Path, tmp_path: Path) -> None:
    """With the file's name and what to do; nothing is written."""
    file = home / FILES[agent][0]
    file.write_text(text)
    before = tree(tmp_path)
    run = guard("install", agent, "--yes")
    assert 3 == run.exit_code
    assert told in complaint(run)
    assert str(file) in complaint(run)
    assert before == tree(tmp_path)


def test_a_linked_settings_file_stays_a_link(home: Path, tmp_path: Path) -> None:
    """As those who keep their settings in a repository have it; the rights of the file stay too."""
    file = home / FILES["codex"][0]
    kept = tmp_path / "dotfiles" / "codex.toml"
    kept.parent.mkdir()
    file.rename(kept)
    kept.chmod(0o644)
    file.symlink_to(kept)
    done("install", "codex", "--yes")
    assert file.is_symlink()
    assert "context-guard" in kept.read_text()
    assert 0o644 == kept.stat().st_mode & 0o777
    done("uninstall", "codex", "--yes")
    assert (True, CODEX.encode()) == (file.is_symlink(), kept.read_bytes())


def test_an_agent_without_settings_gets_files_that_go_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the folders that were made for them."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CONTEXT_GUARD_STORE", str(tmp_path / "own.db"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("platformdirs.user_data_path", lambda *_: tmp_path / "data")
    for agent in AGENTS:
        done("install", agent, "--yes")
    config = json.loads((tmp_path / "home" / ".config" / "opencode" / "opencode.json").read_text())
    assert {"CONTEXT_GUARD_STORE": str(tmp_path / "own.db")} == config["mcp"]["context-guard"]["environment"]
    for agent in AGENTS:
        done("uninstall", agent, "--yes")
    assert [] == list((tmp_path / "home").iterdir())
    assert [] == list((tmp_path / "data").iterdir())


def test_without_the_libraries_it_says_what_to_install(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in [name for name in sys.modules if name.startswith("context_guard_effects.agents.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tomlkit", None)
    run = guard("install", "codex", "--yes")
    assert 2 == run.exit_code
    assert "pip install 'context-guard[agents]'" in complaint(run)


KEYS = st.text('ab"\\ü ', min_size=1, max_size=3)
LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.text('x"\\\nü/{,', max_size=4)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3))
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
OURS = (Setting(("env", "URL"), "http://x"), Setting(("mcp", "guard"), {"command": ["a", "b"], "on": True}))


@QUICK
@given(OBJECTS, st.sampled_from([None, 1, 4, "\t"]))
def test_any_json_is_changed_in_place(value: dict[str, object], indent: int | str | None) -> None:
    """All of it stays in its order, ours is beside it, and taking ours out leaves the same value."""
    text = json.dumps(value, indent=indent, ensure_ascii=False).encode()
    document = JsonDocument(text)
    assert value == document.get(())
    added = put_in(document, OURS)
    whole = json.loads(added.data())
    assert value == {key: whole[key] for key in whole if key not in ("env", "mcp")}
    assert ("http://x", {"command": ["a", "b"], "on": True}) == (whole["env"]["URL"], whole["mcp"]["guard"])
    out, foreign = take_out(added, document, OURS)
    assert (value, []) == (json.loads(out.data()), foreign)


NAMES = st.sampled_from(["a", "b", "mcp", "env", "c d"])
TOML_VALUES = st.recursive(
    st.booleans() | st.integers(-9, 9) | st.text('x"\\\nü#[', max_size=4),
    lambda inner: st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


@QUICK
@given(st.dictionaries(st.sampled_from(["a", "b", "c d"]), TOML_VALUES, max_size=3))
def test_any_toml_is_changed_in_place(value: dict[str, object]) -> None:
    document = TomlDocument(tomlkit.dumps(value).encode())
    ours = (Setting(("provider",), "g"), *OURS)
    added = put_in(document, ours)
    whole = tomlkit.parse(added.data().decode()).unwrap()
    assert value == {key: whole[key] for key in whole if key not in ("env", "mcp", "provider")}
    assert ("g", "http://x") == (whole["provider"], whole["env"]["URL"])
    out, foreign = take_out(added, document, ours)
    assert (value, []) == (tomlkit.parse(out.data().decode()).unwrap(), foreign)


def test_json_with_a_comma_too_much_is_read_and_two_values_are_not() -> None:
    assert {"a": [1, 2]} == JsonDocument(b'{"a": [1, /* x */ 2,], }').get(())
    for text in (b'{"a": 1} {"b": 2}', b'{"a": 1,, "b": 2}x', b"{'a': 1}", b"// only"):
        with pytest.raises(DocumentError):
            JsonDocument(text)
