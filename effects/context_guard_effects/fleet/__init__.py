"""Many sessions, on this machine or on a cluster, from folders or object stores, into one table."""
