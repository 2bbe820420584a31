"""The name under which agents know the MCP server, without the SDK."""

NAME = "context-guard"
"""Hosts build the tools' names of it: `mcp__context-guard__recall` in Claude Code, `context-guard_recall` in OpenCode."""
