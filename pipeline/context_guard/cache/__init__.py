"""The prompt cache: what an edit makes the provider write again, and whether it earns that back."""
