"""`context-guard bridge`: the Python side of the extension inside Pi. Pi starts it; people do not."""

import click


@click.command()
def command() -> None:
    """Serve Pi, whose extension starts this: JSON lines on stdin and stdout."""
    import os
    import sys
    from functools import partial

    import trio

    from context_guard_effects.pi_bridge.server import Bridge

    # Whatever prints must not break the protocol.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    sys.stdout = sys.stderr
    stdin = sys.stdin.buffer

    def write(line: bytes) -> None:
        out.write(line)
        out.flush()

    # In a thread, since the pipes of Windows know no other way; at the end of the process it is abandoned.
    read_line = partial(trio.to_thread.run_sync, stdin.readline, abandon_on_cancel=True)
    try:
        trio.run(Bridge(write, os.environ).serve, read_line)
    except* BrokenPipeError:  # Pi has gone without closing our stdin first
        pass
    os._exit(0)
