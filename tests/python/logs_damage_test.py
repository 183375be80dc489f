"""Segments that are damaged, compressed or gone; checksums."""

from __future__ import annotations

import struct
import subprocess
import unittest
from unittest import mock

import numpy as np

from sortition import logs, native
from sortition.log.v1 import log_pb2
from sortition.logs import frames, segments, wire
from tuple_logs import LogsTest, masked, tuples


class CompressedTest(LogsTest):
    def test_compressed_segments_are_read(self) -> None:
        written = tuples(500)
        logs.write_tuples(self.log, written)
        [segment] = logs.list_segments(self.log)
        whole = segment.read_bytes()
        parts = [whole[: 1 << 14], whole[1 << 14 :]]
        packed = [
            subprocess.run(["zstd", "-q"], input=part, capture_output=True, check=True).stdout
            for part in parts
        ]
        table = b"".join(struct.pack("<II", len(p), len(w)) for p, w in zip(packed, parts))
        table += struct.pack("<IBI", 2, 0, 0x8F92EAB1)
        head = struct.pack("<II", 0x184D2A5E, len(table))
        file = self.log / (segment.name + ".zst")
        file.write_bytes(b"".join(packed) + head + table)
        # Of two files of one name the plain one is read.
        self.assertEqual(logs.list_segments(self.log), [segment])
        segment.unlink()
        read, warned = self.read(columns=list(written))
        self.assertEqual(warned, [])
        self.assert_same(read, written)
        flipped = bytearray(file.read_bytes())
        flipped[len(packed[0]) // 2] ^= 1
        file.write_bytes(flipped)
        damaged, _ = self.read()
        self.assertGreater(len(damaged), 0)
        self.assertEqual(damaged.damage[0].offset, 0)
        self.assertGreaterEqual(damaged.damage[0].size, 1 << 14)

    def test_a_table_that_promises_too_much_is_refused(self) -> None:
        self.log.mkdir()
        for size in (0, (1 << 20) + 1, (1 << 31) - 1):
            entries = struct.pack("<II", 0, size) * 4
            head = struct.pack("<II", 0x184D2A5E, len(entries) + 9)
            (self.log / "a.seg.zst").write_bytes(
                head + entries + struct.pack("<IBI", 4, 0, 0x8F92EAB1)
            )
            with self.assertRaisesRegex(ValueError, f"a frame of 0 bytes with {size} bytes in it"):
                self.read()


class DamageTest(LogsTest):
    def setUp(self) -> None:
        super().setUp()
        self.written = tuples(40)
        logs.write_tuples(self.log, self.written)
        [self.segment] = logs.list_segments(self.log)
        self.whole = self.segment.read_bytes()
        found = segments.Segment(self.segment).frames
        # Header, 40 tuples, footer.
        self.begin = (found.starts - frames.HEAD).tolist()
        self.end = (found.starts + found.lengths + 4).tolist()

    def ids(self, change: bytes) -> tuple[list[str], logs.Tuples, list[str]]:
        self.segment.write_bytes(change)
        read, warned = self.read()
        return list(read["decision_id"]), read, warned

    def test_a_flipped_bit_costs_one_record_wherever_it_is(self) -> None:
        expected = self.written["decision_id"][:9] + self.written["decision_id"][10:]
        place = self.begin[10]
        for offset in [0, 3, 7, 8, 11, 12, 40, self.end[10] - place - 1]:
            flipped = bytearray(self.whole)
            flipped[place + offset] ^= 4
            ids, read, warned = self.ids(bytes(flipped))
            self.assertEqual(ids, expected, offset)
            [damage] = read.damage
            self.assertEqual((damage.offset, damage.size), (place, self.end[10] - place), offset)
            self.assertTrue(damage.is_corrupt)
            self.assertRegex(warned[0], f"offset {place}: {damage.size} bytes are corrupt")

    def test_bytes_that_spell_a_frame_inside_a_payload_are_no_frame(self) -> None:
        forged = self.whole[self.begin[1] : self.end[1]]
        text = forged.decode("latin-1")
        written = {**tuples(3), "degraded": ["", text, ""]}
        self.log = self.folder / "forged"
        logs.write_tuples(self.log, written)
        [self.segment] = logs.list_segments(self.log)
        whole = bytearray(self.segment.read_bytes())
        found = segments.Segment(self.segment).frames
        whole[int(found.starts[2]) + 5] ^= 1
        ids, _, _ = self.ids(bytes(whole))
        self.assertEqual(ids, ["décision 0", "d2"])

    def test_a_segment_that_is_cut_anywhere_has_the_records_before_the_cut(self) -> None:
        for cut in range(self.end[0], len(self.whole), 101):
            ids, read, _ = self.ids(self.whole[:cut])
            whole = sum(end <= cut for end in self.end[1:41])
            self.assertEqual(ids, self.written["decision_id"][:whole])
            # It is not closed: what is missing may still be written.
            self.assertEqual(read.damage, [])

    def test_zeros_of_a_segment_that_is_being_written_are_its_end(self) -> None:
        ids, read, warned = self.ids(self.whole[: self.end[20]] + bytes(1 << 16))
        self.assertEqual(ids, self.written["decision_id"][:20])
        self.assertEqual((read.damage, warned), ([], []))

    def test_a_file_that_is_no_segment_is_refused(self) -> None:
        self.segment.write_bytes(b"no segment at all, only text")
        with self.assertRaisesRegex(ValueError, "has no record, must be a segment"):
            self.read()

    def test_a_file_without_a_byte_that_was_written_has_no_tuples(self) -> None:
        for content in (b"", bytes(100)):
            ids, read, warned = self.ids(content)
            self.assertEqual((ids, read.damage, warned), ([], [], []))

    def test_zeros_in_the_middle_are_damage(self) -> None:
        for first, last in ((10, 12), (5, 5)):
            begin, end = self.begin[first], self.end[last]
            hole = self.whole[:begin] + bytes(end - begin) + self.whole[end:]
            ids, read, _ = self.ids(hole)
            written = self.written["decision_id"]
            self.assertEqual(ids, written[: first - 1] + written[last:])
            [damage] = read.damage
            found = (damage.offset, damage.size, damage.is_corrupt)
            self.assertEqual(found, (begin, end - begin, True))

    def test_a_damaged_header_costs_the_header(self) -> None:
        flipped = bytearray(self.whole)
        flipped[20] ^= 1
        ids, read, _ = self.ids(bytes(flipped))
        self.assertEqual(ids, self.written["decision_id"])
        self.assertEqual([place.offset for place in read.damage], [0])

    def test_segments_that_go_away_while_a_log_is_read_are_passed_over(self) -> None:
        (self.log / "0-gone.seg").symlink_to(self.folder / "absent")
        read, warned = self.read()
        self.assertEqual(len(read), 40)
        self.assertRegex(warned[0], "0-gone.seg was removed before it was read")

    def test_a_frame_that_is_completed_while_it_is_read_is_no_damage(self) -> None:
        place = self.begin[10] + 40
        stale = bytearray(self.whole)
        stale[place] ^= 1
        self.segment.write_bytes(self.whole)
        views = [np.frombuffer(view, np.uint8) for view in (bytes(stale), self.whole)]
        with mock.patch("sortition.logs.segments.np.fromfile", side_effect=views):
            read, _ = self.read()
        self.assertEqual((len(read), read.damage), (40, []))


class ChecksumTest(unittest.TestCase):
    def test_checksums_are_those_of_the_standard(self) -> None:
        # RFC 3720, section B.4.
        for data, crc in (
            (bytes(32), 0x8A9136AA),
            (b"\xff" * 32, 0x62A8AB43),
            (bytes(range(32)), 0x46DD794E),
            (b"123456789", 0xE3069283),
        ):
            array = np.frombuffer(data, np.uint8)
            place = np.array([0]), np.array([len(data)])
            self.assertEqual(int(frames.crc32c_many(array, *place)[0]), crc)
            self.assertEqual(int(frames._crc32c_by_tables(array, *place)[0]), crc)

    def test_tables_agree_with_the_library_on_records_of_any_size(self) -> None:
        generator = np.random.default_rng(2)
        data = generator.integers(0, 256, 5000).astype(np.uint8)
        lengths = generator.integers(0, 90, 300)
        starts = generator.integers(0, 4900, 300)
        by_tables = frames._crc32c_by_tables(data, starts, lengths)
        np.testing.assert_array_equal(frames.crc32c_many(data, starts, lengths), by_tables)
        one = data[starts[5] : starts[5] + lengths[5]].tobytes()
        self.assertEqual(frames.mask(by_tables)[5].tobytes(), masked(one))

    def test_large_numbers_of_the_wire_format_are_exact(self) -> None:
        values = [0, 1, 127, 128, 1 << 32, (1 << 63) - 1]
        messages = [log_pb2.Feedback(time_us=v, reward=0.5).SerializeToString() for v in values]
        messages.append(log_pb2.Feedback(time_us=-1).SerializeToString())
        data = np.frombuffer(b"".join(messages) + b"\0", np.uint8)
        ends = np.cumsum([len(message) for message in messages])
        begins = ends - [len(message) for message in messages]
        field = wire.scan(data, begins, ends, {3})[3]
        read = np.zeros(len(messages), np.int64)
        read[field.owner] = field.value.view(np.int64)
        self.assertEqual(read.tolist(), [*values, -1])


if __name__ == "__main__":
    unittest.main()
