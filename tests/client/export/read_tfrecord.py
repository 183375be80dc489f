"""Prints each record of a TFRecord file as hexadecimal digits.

Written from the description of the format: length, masked CRC-32C of the length, data,
masked CRC-32C of the data. usage: read_tfrecord.py FILE
"""
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def check(data, stored):
    crc = crc32c(data)
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    assert masked == struct.unpack("<I", stored)[0], "a CRC is wrong"


with open(sys.argv[1], "rb") as file:
    while length := file.read(8):
        check(length, file.read(4))
        record = file.read(struct.unpack("<Q", length)[0])
        check(record, file.read(4))
        print(record.hex())
