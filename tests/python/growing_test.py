"""Arrays that grow by blocks."""

from __future__ import annotations

import unittest

import numpy as np

from sortition.logs import growing


class GrowingTest(unittest.TestCase):
    def test_blocks_are_concatenated_whatever_share_of_all_they_are_said_to_be(self) -> None:
        texts = [np.array(["a"]), np.array(["bcd", "e"]), np.array(["", "é"], object)]
        numbers = [np.arange(3), np.arange(0), np.arange(1000), np.arange(2)]
        for blocks in (texts, numbers):
            for share in (0.0, 1e-6, 0.3, 1.0):
                array = growing.GrowingArray(blocks[0].dtype)
                for block in blocks:
                    array.append(block, share)
                got, expected = array.finish(), np.concatenate(blocks)
                self.assertEqual(got.dtype, expected.dtype)
                self.assertEqual(got.tolist(), expected.tolist())
                self.assertIsNone(got.base, "the array must hold no more than its rows")


if __name__ == "__main__":
    unittest.main()
