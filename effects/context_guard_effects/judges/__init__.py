"""Who answers the requests: one module a judge, the port they all fit, and asking them all within a time budget."""
