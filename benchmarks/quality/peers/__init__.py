"""Other people's packages for the same job, measured in the same run as far as they are installed."""
