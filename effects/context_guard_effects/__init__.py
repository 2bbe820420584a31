"""The effects around the pure pipeline: judges that answer, hosts that read and write, the command line.

Nothing in here chooses what to keep; every choice is a stage of `context_guard`.
"""
