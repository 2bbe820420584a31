"""What a single line of a tool says: no failure of many tools is missed, no ordinary line is taken for one."""

import pytest

from context_guard.signs import sign_of

FAILURES = [
    "src/a.c:12:5: error: 'foo' undeclared",
    "src/a.c:12:5: fatal error: a.h: No such file or directory",
    "/usr/bin/ld: a.o: undefined reference to `main'",
    "ld: symbol(s) not found for architecture arm64",
    "collect2: error: ld returned 1 exit status",
    "CMake Error at CMakeLists.txt:3 (find_package):",
    "ninja: build stopped: subcommand failed.",
    "make[1]: *** [Makefile:3: all] Error 2",
    "error[E0308]: mismatched types",
    "error: could not find `Cargo.toml` in `/app`",
    "src/a.ts(3,5): error TS2322: no",
    "src/a.ts:3:5 - error TS2322: no",
    "Main.java:12: error: ';' expected",
    "[ERROR] /app/src/Main.java:[3,5] cannot find symbol",
    "e: file:///app/src/Main.kt:3:5 Unresolved reference: x",
    "> Task :app:compileJava FAILED",
    "* What went wrong:",
    "Program.cs(3,5): error CS1002: ; expected",
    "MSBUILD : error MSB1009: Project file does not exist.",
    "pool.go:3:2: undefined: foo",
    "pool/pool.go:567:18: missing parameter name",
    "go: example.com/x: no required module provides package example.com/x/y",
    "pool.go:340:3: Error return value of `x` is not checked (errcheck)",
    "[lint:go] pool.go:340:3: Error return value of `x` is not checked (errcheck)",
    "[lint] ERROR task failed",
    "a.py:5:5: F401 `os` imported but unused",
    'a.py:3: error: Name "x" is not defined  [name-defined]',
    "  3:5  error  'x' is not defined  no-undef",
    "** (CompileError) lib/a.ex:3: undefined function x/0",
    "PHP Fatal error:  Uncaught Error: Call to undefined function x()",
    "Fatal error: Uncaught TypeError: x",
    "Failure/Error: expect(1).to eq(2)",
    "Uncaught ReferenceError: x is not defined",
    "Error [ERR_MODULE_NOT_FOUND]: Cannot find module 'x'",
    "npm ERR! code ERESOLVE",
    "npm error code E404",
    "error Command failed with exit code 1.",
    "ERR_PNPM_NO_LOCKFILE  Cannot install",
    "ERROR: No matching distribution found for x",
    "E: Unable to locate package x",
    "Error response from daemon: pull access denied",
    "#12 3.456 ERROR: failed to solve",
    "=> ERROR [build 3/5] RUN make",
    'Error from server (NotFound): pods "x" not found',
    "│ Error: Invalid reference",
    "An error occurred (AccessDenied) when calling the GetObject operation",
    'ERROR:  relation "x" does not exist',
    'psql:a.sql:3: ERROR:  relation "x" does not exist',
    "ERROR 1064 (42000) at line 1: You have an error in your SQL syntax",
    "Parse error near line 1: no such table: x",
    "ORA-00942: table or view does not exist",
    "SQLSTATE[42S02]: Base table or view not found",
    "curl: (7) Failed to connect to localhost port 80",
    "HTTP/1.1 502 Bad Gateway",
    "< HTTP/2 404",
    "ssh: connect to host db port 22: Connection refused",
    "ls: cannot access 'x': No such file or directory",
    "cat: x: No such file or directory",
    "rg: pkg: No such file or directory (os error 2)",
    "cp: cannot create regular file '/x': Permission denied",
    "bash: line 1: foo: command not found",
    "zsh: command not found: go",
    "zsh:1: command not found: go",
    "sh: 1: foo: not found",
    "fork/exec /tmp/a.test: exec format error",
    "! [rejected]        main -> main (fetch first)",
    "CONFLICT (content): Merge conflict in a.py",
    'level=error msg="Running error: context loading failed"',
    "<tool_use_error>String to replace not found in file.",
    "java.lang.NullPointerException: x",
    "Killed",
    "\x1b[31merror\x1b[0m: no",
]

ORDINARY = [
    "errors are handled in the pool",
    "The error handling is described below: see there",
    "0 errors, 0 warnings",
    "HTTP/1.1 200 OK",
    'level=info msg="no error"',
    "[1/1000] CC obj/file_1.o",
    "[info] compiled",
    "[ 50%] Building CXX object a.o",
    "go: downloading example.com/x v1.2.3",
    "12:30:45 INFO request served",
    "docker.io/library/x:latest: 3 layers",
    "Downloading x (12 MB)",
    "def fail(error: str) -> None:",
    "    raise ValueError(x)",
    "- error: what it means",
    "src/a.py:3: the pool (main)",
    "ld returned nothing",
    "each: str = 1",
    "note: run with `RUST_BACKTRACE=1`",
    "**bold** (Error) is a word",
    "failing loudly is good",
    "| Error: | none |",
]


@pytest.mark.parametrize("line", FAILURES)
def test_a_failure_is_told(line: str) -> None:
    """Compilers, linters, package managers, containers, databases, clients, the shell and the system behind them."""
    assert sign_of(line) in ("failure", "exit", "summary")


@pytest.mark.parametrize("line", ORDINARY)
def test_an_ordinary_line_says_nothing(line: str) -> None:
    """Words for failures in prose, code or a count are none."""
    assert sign_of(line) == ""
