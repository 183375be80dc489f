"""Functions of C libraries that Debian has anyway, by ctypes; None where a library is missing."""

from __future__ import annotations

import ctypes
from typing import Callable, Optional


def _load(name: str) -> Optional[ctypes.CDLL]:
    try:
        # Calls are short: to release the interpreter's lock for each would take longer.
        return ctypes.PyDLL(name)
    except OSError:
        return None


def _crc32c() -> Optional[Callable[[int, int, int], int]]:
    library = _load("libisal.so.2")
    if library is None:
        return None
    function = library.crc32_iscsi
    function.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint]
    function.restype = ctypes.c_uint
    return function


class _Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def _xxh3() -> Optional[Callable[[bytes], int]]:
    try:
        import xxhash
    except ImportError:
        library = _load("libxxhash.so.0")
        if library is None:
            return None
        function = library.XXH3_128bits
        function.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        function.restype = _Hash128
        return lambda data: function(data, len(data)).low
    return lambda data: xxhash.xxh3_128_intdigest(data) & 0xFFFFFFFFFFFFFFFF


def _unzstd() -> Optional[Callable[[bytes, int], Optional[bytes]]]:
    library = _load("libzstd.so.1")
    if library is None:
        return None
    function = library.ZSTD_decompress
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    function.restype = ctypes.c_size_t

    def decompress(frame: bytes, size: int) -> Optional[bytes]:
        buffer = ctypes.create_string_buffer(max(size, 1))
        written = function(buffer, size, frame, len(frame))
        return buffer.raw[:size] if written == size else None

    return decompress


# (address, bytes, register) -> register: CRC-32C without the first and the last inversion.
crc32c_register = _crc32c()
# Low 64 bits of XXH3-128.
xxh3_low = _xxh3()
# (frame, bytes of the content) -> content; None if the frame is damaged.
unzstd = _unzstd()
