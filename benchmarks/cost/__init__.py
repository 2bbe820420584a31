"""What a session costs with the guard and without, by the rules of each provider's prompt cache: `replay` walks it."""
