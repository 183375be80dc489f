#!/usr/bin/env python3
"""Leaves half a record at the end of a spool whose writer is dead.

usage: tear_tail.py SPOOL

kill -9 alone hardly ever tears a record, because the kernel finishes a write that began.
A machine that goes down does. Recovery must cut what this writes.
"""
import pathlib
import struct
import sys

HEAD_BYTES, TAIL_BYTES = 12, 4  # docs/log_format.md


def frames(data):
    """Offset and size of each frame; a preallocated segment ends in zeros."""
    offset = 0
    while offset + HEAD_BYTES <= len(data):
        (payload_bytes,) = struct.unpack_from("<Q", data, offset)
        size = HEAD_BYTES + payload_bytes + TAIL_BYTES
        if payload_bytes == 0 or offset + size > len(data):
            return
        yield offset, size
        offset += size


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.seg"), reverse=True):
        data = path.read_bytes()
        found = list(frames(data))
        if len(found) < 2:
            continue
        offset, size = found[-1]
        end = offset + size
        if end == len(data):
            continue  # Closed: nothing follows the footer.
        with path.open("r+b") as file:
            file.seek(end)
            file.write(data[offset:offset + size // 2])
        print(f"{path.name}: {size // 2} bytes of half a record")
        return


if __name__ == "__main__":
    main()
