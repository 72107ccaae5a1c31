"""A single JSON file that is written anew, whole and synced, for each message."""

import json
import os

import harness


def save(path, messages):
    beside = path.with_suffix(".new")
    with open(beside, "w", encoding="utf-8") as file:
        # dumps, not dump: only dumps uses the encoder written in C.
        file.write(json.dumps(messages, ensure_ascii=False))
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def main():
    arguments = harness.arguments()
    messages = harness.messages(arguments.messages)
    history, coming = messages[: arguments.length], messages[arguments.length :]
    path = arguments.directory / "conversation.json"
    save(path, history)
    stopwatch = harness.Stopwatch(arguments.window_ms)
    number = 0
    while stopwatch.running():
        # Every append adds one message to the same history, so that every one meets the same length.
        conversation = [*history, coming[number % len(coming)]]
        with stopwatch:
            save(path, conversation)
        number += 1
    assert len(json.loads(path.read_text(encoding="utf-8"))) == arguments.length + 1
    stopwatch.report()


main()
