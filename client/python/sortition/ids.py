"""Ids for requests that bring none."""

from __future__ import annotations

import os
import time


def make_id() -> str:
    """Returns a time-ordered UUID, version 7 (RFC 9562, section 5.7), as text of 36 characters.

    Its 74 random bits are the kernel's, so that processes forked from one parent do not repeat
    each other's ids.
    """
    milliseconds = time.time_ns() // 1_000_000
    bits = int.from_bytes(os.urandom(10), "big")
    value = milliseconds << 80 | 0x7 << 76 | (bits >> 68) << 64 | 0x2 << 62 | bits & (1 << 62) - 1
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
