"""The command line. A command's module, and with it the pipeline, is imported only when that command runs."""

import contextlib
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from context_guard_effects.cli.exits import EXIT_CODES, INTERRUPTED, OK, OUR_DEFECT, UNWRITABLE, USAGE, Stop
from context_guard_effects.cli.nearest import NearestGroup
from context_guard_effects.cli.output import warn

COMMANDS = (
    *("distill", "explain", "status", "stage", "trace", "recall", "doctor", "config", "judge"),
    *("audit", "report"),
    *("replay", "diff", "case"),
    *("store", "pin", "unpin", "restore", "why"),
    *("proxy", "watch", "mcp", "install", "uninstall", "bridge"),
)
WORDS = ("pin", "unpin", "restore")
"""Commands that share a module."""


class ContextGuard(NearestGroup):
    """Every error ends here: as one line on stderr and an exit code, whatever went wrong."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in WORDS:
            from context_guard_effects.cli import words

            return words.command(cmd_name)
        command: click.Command = import_module(f"context_guard_effects.cli.{cmd_name}").command
        return command

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, *_: Any, **extra: Any) -> NoReturn:
        for name in ("complete_var", "standalone_mode", "windows_expand_args"):
            extra.pop(name, None)
        try:
            with self.make_context("context-guard", list(sys.argv[1:] if args is None else args), **extra) as context:
                self.invoke(context)
            sys.stdout.flush()
        except BaseException as error:
            sys.exit(_report(error))
        sys.exit(OK)


def _report(error: BaseException) -> int:
    """Says what went wrong, what had been done all the same, and gives the exit code."""
    message, code = _told(error)
    if message:
        warn("; ".join([message, *getattr(error, "__notes__", ())]))
    return code


def _told(error: BaseException) -> tuple[str, int]:
    match error:
        case click.exceptions.Exit(exit_code=code):
            return "", int(code)
        case SystemExit(code=int(code)):
            return "", code
        case Stop(message=message, code=code):
            return message, code
        case click.UsageError(ctx=context):
            said = error.format_message()
            stop = "" if said.endswith((".", "?", "!")) else "."
            hint = f"{stop} Try: {context.command_path} --help" if context else ""
            return f"{said}{hint}", USAGE
        case KeyboardInterrupt() | click.Abort():
            return "interrupted", INTERRUPTED
        case BaseExceptionGroup() if error.subgroup(KeyboardInterrupt):
            return "interrupted", INTERRUPTED
        case OSError():
            _forget_stdout()
            return f"cannot write to stdout: {(error.strerror or str(error)).lower()}", UNWRITABLE
        case MemoryError():
            return "out of memory", OUR_DEFECT
        case _:
            return f"a defect of context-guard, please report it: {type(error).__name__}: {error}", OUR_DEFECT


def _forget_stdout() -> None:
    """What is left in its buffer would fail once more when the interpreter ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from context_guard_effects.version import installed_version

        click.echo(f"context-guard {installed_version() or '(not installed)'}")
        ctx.exit()


@click.group(
    cls=ContextGuard,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EXIT_CODES,
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version, help="Show the version."
)
@click.pass_context
def main(ctx: click.Context) -> None:
    """Keep the lines of a tool output that the work still needs.

    SESSION is a recorded session: of Claude Code, Codex, Pi, OpenCode, Cline, OpenHands, mini-swe-agent or SWE-agent,
    an ATIF trajectory, or a provider's message list. Only `distill --write` and `doctor --repair` change one, of Pi
    alone, and they only append.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
