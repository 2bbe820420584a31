"""One module a host: how its data is found, read and appended to."""
