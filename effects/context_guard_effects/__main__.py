"""Where the program starts: an interrupt while the command line is still being imported ends it without a traceback."""

import sys


def run() -> None:
    try:
        from context_guard_effects.cli import main

        main()
    except KeyboardInterrupt:
        sys.stderr.write("context-guard: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    run()
