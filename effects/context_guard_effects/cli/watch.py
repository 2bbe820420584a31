"""`context-guard watch`: what a running proxy does, live."""

import click

from context_guard_effects.cli.exits import UNREADABLE, Stop
from context_guard_effects.cli.output import write

ADDRESS = "http://127.0.0.1:8484"
TOKEN = "CONTEXT_GUARD_PROXY_TOKEN"


@click.command()
@click.argument("address", default=ADDRESS)
@click.option("--token", envvar=TOKEN, metavar="TOKEN", help=f"The proxy's own; better in ${TOKEN}.")
@click.option("--every", type=click.FloatRange(0.2, 3_600), default=1.0, show_default=True, metavar="SECONDS")
@click.option("--once", is_flag=True, help="Print one view and end.")
def command(address: str, token: str | None, every: float, once: bool) -> None:
    """Show a proxy's conversations, their size with and without the guard, and its last decisions.

    ADDRESS is what `context-guard proxy` printed. [default: http://127.0.0.1:8484]
    """
    import sys
    import time

    from rich.console import Console
    from rich.live import Live

    from context_guard_effects.cli.table import printed
    from context_guard_effects.cli.watched import Watched, read_status, view

    headers = {"x-context-guard-token": token} if token else {}

    def ask() -> Watched:
        try:
            return read_status(address, headers)
        except ValueError as error:
            raise Stop(str(error), UNREADABLE) from None

    watched = ask()
    if once or not sys.stdout.isatty():
        write(printed(view(watched, time.time())))
        return
    with Live(view(watched, time.time()), console=Console(), screen=True, auto_refresh=False) as live:
        while True:
            time.sleep(every)
            live.update(view(ask(), time.time()), refresh=True)
