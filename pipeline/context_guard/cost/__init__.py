"""What a recorded session costs with a guard and without: a replay against a simulation of the provider's cache."""
