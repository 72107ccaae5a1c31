"""LangGraph: SqliteSaver on a file database, one checkpoint per turn with the whole message list in it."""

import harness
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver


def as_langchain(number, message):
    if message["role"] == "user":
        return HumanMessage(content=message["content"], id=str(number))
    calls = [
        {"id": call["id"], "name": call["name"], "args": call["arguments"]} for call in message.get("tool_calls", [])
    ]
    return AIMessage(content=message["content"], tool_calls=calls, id=str(number))


def put(saver, config, version, messages):
    checkpoint = empty_checkpoint()
    versions = {"messages": version}
    checkpoint["channel_values"] = {"messages": messages}
    checkpoint["channel_versions"] = versions
    return saver.put(config, checkpoint, {"source": "loop", "step": version}, versions)


def main():
    arguments = harness.arguments()
    messages = [as_langchain(number, message) for number, message in enumerate(harness.messages(arguments.messages))]
    history, coming = messages[: arguments.length], messages[arguments.length :]
    config = {"configurable": {"thread_id": "bench", "checkpoint_ns": ""}}
    with SqliteSaver.from_conn_string(str(arguments.directory / "checkpoints.db")) as saver:
        config = put(saver, config, 1, history)
        stopwatch = harness.Stopwatch(arguments.window_ms)
        turn = 1
        while stopwatch.running():
            # Every turn adds one message to the same history, so that every put meets the same length.
            state = [*history, coming[turn % len(coming)]]
            with stopwatch:
                config = put(saver, config, turn + 1, state)
            turn += 1
        stored = saver.get_tuple(config).checkpoint["channel_values"]["messages"]
        assert len(stored) == arguments.length + 1
    stopwatch.report()


main()
