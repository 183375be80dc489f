#!/usr/bin/env python3
"""Converts decisions that another system logged into a tuple segment to train on.

usage: import_tuples.py --output=DIR [--model=NAME] [--version=N]
                        [--action=select|rank] [--cannot_abstain] < DECISIONS.jsonl

One JSON object per line:
  {"id": "2026-01-31/17", "features": [[0.9, 0.1], [0.2, 0.8]], "action": [1],
   "propensity": 0.25, "reward": 1}
features: one row per candidate that could have been chosen. action: the index of the
chosen row, from 0, or [-1] for no answer; with --action=rank the indexes by rank.
propensity: the probability in (0, 1] with which the logging system drew the whole action.
--version: the version of the model that logged; 0 stands for what a new model replaces if
the model store has no version yet. A bad line ends the run, and nothing is written.
"""
import argparse
import json
import math
import os
import pathlib
import struct
import sys
import time


def crc_table():
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        yield value


TABLE = tuple(crc_table())


def masked_crc(data):  # docs/log_format.md
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[crc & 0xFF ^ byte] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def frame(payload):
    length = struct.pack("<Q", len(payload))
    return length + masked_crc(length) + payload + masked_crc(payload)


# Wire format of protobuf; the numbers are those of proto/sortition/log/v1/log.proto.
def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def double(field, value):
    return varint(field << 3 | 1) + struct.pack("<d", value)


def block(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def header():
    return block(1, number(1, 1) + number(2, 2) + block(3, "import") + block(4, "0"))


def check(holds, what):
    if not holds:
        raise ValueError(what)


def real(value, name):
    check(isinstance(value, (int, float)) and not isinstance(value, bool)
          and math.isfinite(value), f"{name} is {value!r}, must be a finite number")
    return float(value)


def record(line, args):
    rows, action = line["features"], line["action"]
    check(rows and all(len(row) == len(rows[0]) for row in rows),
          f"features has rows of {sorted({len(row) for row in rows})} numbers, "
          "must have at least one row, and rows of one length")
    lowest = -1 if args.action == "select" and not args.cannot_abstain else 0
    check(action and all(isinstance(i, int) and lowest <= i < len(rows) for i in action)
          and len(set(action)) == len(action),
          f"action is {action}, must be different indexes in [{lowest}, {len(rows)})")
    check(args.action == "rank" or len(action) == 1,
          f"action has {len(action)} entries, must have 1")
    propensity = real(line["propensity"], "propensity")
    check(0 < propensity <= 1, f"propensity is {propensity}, must be in (0, 1]")
    values = [real(value, "a feature") for row in rows for value in row]
    decision = block(1, line["id"]) + block(3, args.model) + number(4, args.version)
    decision += number(6, 1 if args.action == "select" else 2)
    decision += number(7, len(rows)) + number(8, len(rows[0]))
    if args.action == "rank":
        decision += number(11, len(action))
    decision += block(13, b"".join(varint(2 * i if i >= 0 else -2 * i - 1) for i in action))
    decision += double(14, math.log(propensity)) + number(17, int(lowest == -1))
    decision += block(20, struct.pack(f"<{len(values)}f", *values))
    reward = real(line["reward"], "reward")
    return block(7, double(2, reward) + number(3, 1) + block(10, decision))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--output", required=True, type=pathlib.Path)
    parser.add_argument("--model", default="default")
    parser.add_argument("--version", default=0, type=int)
    parser.add_argument("--action", default="select", choices=["select", "rank"])
    parser.add_argument("--cannot_abstain", action="store_true")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    path = args.output / f"{time.time_ns() // 1000:016x}-import-000000.seg"
    temporary = path.with_suffix(".tmp")
    count, seen = 0, set()
    try:
        with open(temporary, "wb") as file:
            file.write(frame(header()))
            for count, text in enumerate(sys.stdin, 1):
                line = json.loads(text)
                check(line["id"] not in seen, f"id {line['id']!r} is not unique")
                seen.add(line["id"])
                file.write(frame(record(line, args)))
            file.write(frame(block(2, number(1, count))))  # Footer.
        os.replace(temporary, path)
    except (ValueError, KeyError, TypeError, struct.error, OverflowError) as error:
        temporary.unlink(missing_ok=True)
        sys.exit(f"import_tuples: line {max(count, 1)}: {type(error).__name__}: {error}")
    print(f"{count} tuples in {path}")


if __name__ == "__main__":
    main()
