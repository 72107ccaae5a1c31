"""OpenAI Agents SDK: SQLiteSession on a file database, with its own settings."""

import asyncio

import harness
from agents import SQLiteSession


async def append(session, stopwatch, messages):
    number = 0
    while stopwatch.running():
        message = messages[number % len(messages)]
        with stopwatch:
            await session.add_items([message])
        # Takes the message away again, so that every append meets the same length.
        await session.pop_item()
        number += 1


async def last(session, stopwatch, count):
    assert len(await session.get_items(limit=count)) == count
    while stopwatch.running():
        with stopwatch:
            await session.get_items(limit=count)


async def main():
    arguments = harness.arguments()
    messages = harness.messages(arguments.messages)
    session = SQLiteSession("bench", arguments.directory / "sessions.db")
    await session.add_items(messages[: arguments.length])
    stopwatch = harness.Stopwatch(arguments.window_ms)
    if arguments.mode == "append":
        await append(session, stopwatch, messages[arguments.length :])
        assert len(await session.get_items()) == arguments.length
    else:
        await last(session, stopwatch, arguments.last)
    session.close()
    stopwatch.report()


asyncio.run(main())
