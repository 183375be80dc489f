#!/usr/bin/env python3
"""Prints options and sizes of disks that fit each other, for a load.

usage: tools/size_disks.py --decisions_per_second=N --bytes=N [--since_days=30] [--down_hours=24]
       [--compression=3]
  --decisions_per_second  of all servers together, as a mean
  --bytes                 of a decision in the spool; docs/backup.md says how to measure it
  --since_days            how far back the trainer looks (its option `since`)
  --down_hours            for so long the sidecar may be down before decisions are refused
  --compression           bytes of tuples before zstd, divided by those after; 1: not compressed
"""

import argparse
import math

GIB = 2**30
DAY, HOUR = 86400, 3600


def sizes(
    decisions_per_second: float,
    bytes_per_decision: float,
    since_days: float = 30,
    down_hours: float = 24,
    compression: float = 3,
) -> dict[str, int]:
    """Returns options in bytes and seconds, and sizes of disks in GiB."""
    flow = decisions_per_second * bytes_per_decision  # Bytes a second.
    spool = max(GIB, math.ceil(flow * down_hours * HOUR))
    tuples = max(GIB, math.ceil(flow * since_days * DAY / compression))
    return {
        "spool.max_bytes": spool,
        "spool disk GiB": math.ceil(1.15 * spool / GIB) + 1,
        "keep_tuples_seconds": round(since_days * DAY),
        "keep_tuples_bytes": tuples,
        # Nothing but tuples, and room for what is removed a little later than it should be.
        "tuples disk GiB": math.ceil(1.2 * tuples / GIB) + 1,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--decisions_per_second", type=float, required=True)
    parser.add_argument("--bytes", type=float, required=True)
    parser.add_argument("--since_days", type=float, default=30)
    parser.add_argument("--down_hours", type=float, default=24)
    parser.add_argument("--compression", type=float, default=3)
    options = parser.parse_args()
    for name, value in vars(options).items():
        if not value > 0:
            parser.error(f"--{name}={value}: must be above 0")
    found = sizes(
        options.decisions_per_second,
        options.bytes,
        options.since_days,
        options.down_hours,
        options.compression,
    )
    for name, value in found.items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
