"""Starts fastmcp's proxy for one upstream: python fastmcp-proxy.py URL PORT."""

import sys

from fastmcp.server import create_proxy

create_proxy(sys.argv[1], name="proxy").run(
    transport="http", host="127.0.0.1", port=int(sys.argv[2]), show_banner=False, log_level="error",
    stateless_http=True, json_response=True,
)
