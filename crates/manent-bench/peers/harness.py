"""What every peer script shares: its arguments, the messages, the clock and the one JSON object it prints."""

import argparse
import json
import math
import time
from pathlib import Path

# A slow peer still gets enough tries for a median that one hiccup does not decide.
SAMPLES_MIN = 7


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["append", "last"])
    parser.add_argument("--length", type=int, required=True, help="messages the session holds already")
    parser.add_argument("--last", type=int, required=True, help="how many messages a read returns")
    parser.add_argument("--window-ms", type=int, required=True, help="how long to measure")
    parser.add_argument("--messages", type=Path, required=True, help="one JSON message a line")
    parser.add_argument("--directory", type=Path, required=True, help="an empty folder on the measured disk")
    return parser.parse_args()


def messages(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class Stopwatch:
    """Collects timed steps until the window has passed."""

    def __init__(self, window_ms):
        self.deadline = time.perf_counter() + window_ms / 1000
        self.seconds = []

    def running(self):
        return len(self.seconds) < SAMPLES_MIN or time.perf_counter() < self.deadline

    def __enter__(self):
        self.before = time.perf_counter()

    def __exit__(self, *failure):
        self.seconds.append(time.perf_counter() - self.before)

    def report(self):
        ordered = sorted(self.seconds)

        def percentile(hundredths):
            return ordered[max(math.ceil(len(ordered) * hundredths / 100), 1) - 1] * 1e6

        # Only timed steps count: restoring the length between two of them is not the peer's work.
        rate = len(ordered) / sum(ordered)
        print(json.dumps({"per_second": rate, "p50_us": percentile(50), "p99_us": percentile(99)}))
