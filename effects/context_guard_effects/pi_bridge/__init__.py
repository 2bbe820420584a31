"""The Python side of the extension inside Pi: JSON lines over stdio, one process for each Pi.

The extension (`hosts/pi_extension.js`) decides nothing: it tells what happened and does what it is told. What to do is
decided by the pure pipeline; here are the session's growing tree, the clock, the judge and the pipe.
"""
