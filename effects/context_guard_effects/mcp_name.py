"""The name under which agents know the MCP server, without the SDK."""

NAME = "context-guard"
"""Hosts build the names of the tools of it: `mcp__context-guard__recall`, `context-guard_recall`."""
