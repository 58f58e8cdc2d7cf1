"""The Python SDK 2.x before one endpoint: lists, calls, reports progress, is asked. Arguments: URL, mode (legacy or 2026-07-28)."""

import asyncio
import json
import sys

import mcp_types as types
from mcp import Client


async def main(url: str, mode: str) -> None:
    asked: list[str] = []
    progress: list[float] = []

    async def elicited(_context, params) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    async def sampled(_context, params) -> types.CreateMessageResult:
        asked.append(params.messages[0].content.text)
        return types.CreateMessageResult(
            role="assistant", model="test", content=types.TextContent(type="text", text="Paris")
        )

    async def reported(done: float, _total: float | None, _message: str | None) -> None:
        progress.append(done)

    async with Client(url, mode=mode, elicitation_callback=elicited, sampling_callback=sampled) as client:
        tools = (await client.list_tools()).tools
        resources = (await client.list_resources()).resources
        greeted = await client.call_tool("test_input_required_result_elicitation", {})
        answered = await client.call_tool("test_input_required_result_sampling", {})
        await client.call_tool("test_tool_with_progress", {}, progress_callback=reported)
        print(
            json.dumps(
                {
                    "protocol": client.protocol_version,
                    "tools": sorted(tool.name for tool in tools),
                    "resources": len(resources),
                    "texts": [greeted.content[0].text, answered.content[0].text],
                    "asked": asked,
                    "progress": progress,
                }
            )
        )


asyncio.run(main(*sys.argv[1:]))
