"""Pi's `context-guard.json`, the original's own file: found, read, and one key of it changed."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from returns.result import Failure, Success

from context_guard.config import Config
from context_guard.settings import ConfigError, ParsedConfig, parse_config, patch_config

FILE_NAME = "context-guard.json"


class SettingsFile(Struct, frozen=True):
    path: Path
    config: Config
    warnings: tuple[str, ...] = ()


class SettingsError(Exception):
    """The file could not be changed; one line that says why and what to do."""


def agent_folder(environment: Mapping[str, str]) -> Path:
    """Where Pi keeps its settings, its extensions and its sessions."""
    named = environment.get("PI_CODING_AGENT_DIR")
    return Path(named).expanduser() if named else Path.home() / ".pi" / "agent"


def settings_path(environment: Mapping[str, str]) -> Path:
    named = environment.get("PI_CONTEXT_GUARD_CONFIG")
    return Path(named).expanduser() if named else agent_folder(environment) / FILE_NAME


def load_settings(environment: Mapping[str, str]) -> SettingsFile:
    """A missing file is the defaults; one that cannot be used is the defaults with a warning."""
    path = settings_path(environment)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return SettingsFile(path, Config())
    except OSError as error:
        return SettingsFile(path, Config(), (f"cannot read {path}: {(error.strerror or str(error)).lower()}",))
    match parse_config(data):
        case Success(ParsedConfig() as parsed):
            return SettingsFile(path, parsed.config, tuple(f"{path}: {said}" for said in parsed.warnings))
        case Failure(ConfigError(message=said)):
            return SettingsFile(path, Config(), (f"{path}: {said}; using the defaults",))
        case other:
            raise AssertionError(other)


def save_setting(environment: Mapping[str, str], changes: dict[str, Any]) -> None:
    """Lays the changes over the file, which is made if there is none; raises SettingsError and leaves it as it was."""
    path = settings_path(environment)
    try:
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            data = b"{}"
        match patch_config(data, changes):
            case Success(str(text)):
                _replace(path.resolve(), text)
            case Failure(error):
                raise SettingsError(f"{path} is {error.message}: mend or delete it first. Nothing was written.")
    except OSError as error:
        raise SettingsError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from error


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, "utf-8")
        if path.exists():
            partial.chmod(path.stat().st_mode & 0o777)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
