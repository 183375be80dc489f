"""The table in docs/backup.md is what tools/size_disks.py computes. usage: sizes_test.py SOURCES"""

import importlib.util
import re
import sys
import unittest
from pathlib import Path

SOURCES = Path(sys.argv[1])
_spec = importlib.util.spec_from_file_location("size_disks", SOURCES / "tools/size_disks.py")
size_disks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(size_disks)


class SizesTest(unittest.TestCase):
    def test_table_of_the_document(self) -> None:
        text = (SOURCES / "docs/backup.md").read_text()
        rows = re.findall(
            r"^\| (\d+) (?:decisions a second )?of ([\d,]+) bytes \| (\d+) days \| ([\d.]+) GiB "
            r"\| ([\d.]+) GiB \| (\d+) GiB \|$",
            text,
            re.MULTILINE,
        )
        self.assertEqual(len(rows), 4)
        for rate, size, days, spool, tuples, disk in rows:
            found = size_disks.sizes(float(rate), float(size.replace(",", "")), float(days))
            self.assertEqual(f"{found['spool.max_bytes'] / 2**30:.1f}", spool)
            self.assertEqual(f"{found['keep_tuples_bytes'] / 2**30:.1f}", tuples)
            self.assertEqual(found["tuples disk GiB"], int(disk))

    def test_formula(self) -> None:
        # 1,000,000 bytes a second: a day is 86.4 GB, ten hours are 36 GB.
        found = size_disks.sizes(1000, 1000, since_days=1, down_hours=10, compression=2)
        self.assertEqual(found["spool.max_bytes"], 36_000_000_000)
        self.assertEqual(found["keep_tuples_bytes"], 43_200_000_000)
        self.assertEqual(found["keep_tuples_seconds"], 86400)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
