"""The settings files of other people's agents: what the guard adds to them, and takes out again."""
