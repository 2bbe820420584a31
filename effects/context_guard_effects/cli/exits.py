"""How a command ends: exit codes for scripts, and the exception that carries one."""

OK = 0
WARNED = 1
DIFFERENT = 1
USAGE = 2
UNREADABLE = 3
UNWRITABLE = 4
UNJUDGED = 5
UNHEALTHY = 6
UNREACHABLE = 7
OUR_DEFECT = 70
INTERRUPTED = 130

EXIT_CODES = """\b
Exit codes:
  0    done; also when there was nothing to do
  1    config check has warnings; replay or diff found a difference
  2    usage: an unknown command, option or setting
  3    an input cannot be read, is foreign, or has no such entry
  4    something could not be written
  5    the judge is not available, or answered no request
  6    doctor found what bricks or shortens the session, and it is still there
  7    the Dask cluster cannot be reached, or cannot do the work
  70   a defect of context-guard
  130  interrupted"""


class Stop(Exception):
    """Ends the command with one line on stderr."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


def missing(packages: str, extra: str) -> Stop:
    """What a command needs that is not here."""
    return Stop(f"{packages} is not installed: pip install 'context-guard[{extra}]', in a clone '.[{extra}]'", USAGE)
