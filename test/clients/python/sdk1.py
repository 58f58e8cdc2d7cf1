"""The Python SDK 1.x before one endpoint: lists, calls, reports progress, is asked. Argument: URL."""

import asyncio
import json
import sys

from mcp import ClientSession, types
from mcp.client.streamable_http import streamablehttp_client


async def main(url: str, _mode: str) -> None:
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

    async with streamablehttp_client(url) as (read, write, _):
        async with ClientSession(
            read, write, elicitation_callback=elicited, sampling_callback=sampled
        ) as session:
            started = await session.initialize()
            tools = (await session.list_tools()).tools
            resources = (await session.list_resources()).resources
            greeted = await session.call_tool("test_input_required_result_elicitation", {})
            answered = await session.call_tool("test_input_required_result_sampling", {})
            await session.call_tool("test_tool_with_progress", {}, progress_callback=reported)
            print(
                json.dumps(
                    {
                        "protocol": started.protocolVersion,
                        "tools": sorted(tool.name for tool in tools),
                        "resources": len(resources),
                        "texts": [greeted.content[0].text, answered.content[0].text],
                        "asked": asked,
                        "progress": progress,
                    }
                )
            )


asyncio.run(main(*sys.argv[1:]))
