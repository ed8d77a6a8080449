"""Tools for language models: the HTTP API of a search engine as an MCP server.

In: an `ApiCaller`, which answers requests of the HTTP API: `UrlCaller` asks a running server, `AsgiCaller` an
application in this process. Out: an MCP server over standard input and output (`serve_stdio`) or streamable HTTP
(`serve_http`), with the tools of `TOOLS`.

Both ways lead through the same API, so a tool can do no more than any client of it, and has the same limits.
`read_arguments` checks what a model sends; `ToolBox.call` turns a call into requests, and their answers into Markdown
with the same facts as data beside it. The package `mcp`, which speaks the protocol, is an extra: without it,
`check_mcp` raises `MissingPart`.
"""

from periplus.agents.api_callers import ApiAnswer, ApiCaller, AsgiCaller, UrlCaller
from periplus.agents.mcp_server import check_mcp, serve_http, serve_stdio
from periplus.agents.tool_box import ToolBox, ToolResult
from periplus.agents.tool_schemas import TOOLS, ToolSchema, read_arguments

__all__ = [
    "TOOLS",
    "ApiAnswer",
    "ApiCaller",
    "AsgiCaller",
    "ToolBox",
    "ToolResult",
    "ToolSchema",
    "UrlCaller",
    "check_mcp",
    "read_arguments",
    "serve_http",
    "serve_stdio",
]
