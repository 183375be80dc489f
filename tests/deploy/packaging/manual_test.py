"""Manual pages and completions, of texts made up and of the real programs.

usage: manual_test.py PACKAGING PROGRAMS [unittest options]
"""

import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PACKAGING, PROGRAMS = Path(sys.argv[1]), Path(sys.argv[2])
sys.path.insert(0, str(PACKAGING))

from help_text import ask, commands, parse  # noqa: E402
from man_page import escape, page  # noqa: E402

HELP = """usage: program --store=DIR [OPTION]...
           --more=X

Does it.
Well.

  program --store=/a

Options:
  --store=TEXT                  Where it is
                                (required)
  --[no-]deep                   Looks below
  --an_option_with_a_long_name=N
                                Its text comes later

Options of tls:
  --tls.mode=OFF|ON             Whether (default OFF)

  --config=FILE                 Text file

SIZE: bytes.

Exit codes: 0 done.
"""


class ParseTest(unittest.TestCase):
    def test_finds_the_parts(self) -> None:
        text = parse(HELP)
        self.assertEqual(text.usage, ["program --store=DIR [OPTION]...", "--more=X"])
        self.assertEqual(text.intro, [["Does it.", "Well."], ["  program --store=/a"]])
        self.assertEqual([name for name, _ in text.groups], ["", "tls", "all programs"])
        names = [option.name for option in text.options()]
        self.assertEqual(
            names, ["store", "deep", "an_option_with_a_long_name", "tls.mode", "config"]
        )
        self.assertEqual(text.options()[0].text, "Where it is (required)")
        self.assertTrue(text.options()[1].is_switch)
        self.assertEqual(text.options()[2].text, "Its text comes later")
        self.assertEqual(text.options()[3].choices(), ["OFF", "ON"])
        self.assertEqual(text.options()[0].choices(), [])
        self.assertEqual(text.notes, [["SIZE: bytes."], ["Exit codes: 0 done."]])

    def test_refuses_a_line_that_is_no_option(self) -> None:
        with self.assertRaisesRegex(ValueError, "stray"):
            parse(HELP.replace("  --[no-]deep ", "  stray "))


class ManPageTest(unittest.TestCase):
    def test_escapes_what_roff_would_take_for_its_own(self) -> None:
        self.assertEqual(escape(".so a\n'b\n--c\\n"), "\\&.so a\n\\&'b\n\\-\\-c\\en")

    def test_has_every_option_once(self) -> None:
        roff = page("program", "Does it", parse(HELP), ["other"], "1.2", "2026-01-02")
        for shown in ("\\-\\-store=TEXT", "\\-\\-[no\\-]deep", "\\-\\-tls.mode=OFF|ON"):
            self.assertEqual(roff.count(f".TP\n\\fB{shown}\\fR\n"), 1, roff)
        self.assertIn('.TH PROGRAM 1 "2026-01-02" "Sortition 1.2" "Sortition"', roff)


class ProgramsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.make(self.folder)

    def make(self, output: Path) -> None:
        command = [PACKAGING / "make_manual.py", "--programs", PROGRAMS]
        command += ["--output", output, "--release", "1.2"]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "86400"}
        subprocess.run(["/usr/bin/python3", *map(str, command)], check=True, env=environment)

    def read(self, program: str, name: str) -> str:
        path = self.folder / program / "man1" / f"{name}.1.gz"
        return gzip.decompress(path.read_bytes()).decode()

    def test_every_flag_of_every_command_is_in_its_page(self) -> None:
        helps = {}
        for program in ("sortition", "sortition-trainer"):
            listed = commands(ask(PROGRAMS / program))
            # As many as the lines of its list.
            text = ask(PROGRAMS / program).split("\n\n")[1]
            self.assertEqual(len(listed), text.count("\n") + 1, program)
            for command in listed:
                name = f"{program}-{command}".replace(" ", "-")
                helps[program, name] = ask(PROGRAMS / program, *command.split())
        for program in ("sortition-server", "sortition-sidecar"):
            helps[program, program] = ask(PROGRAMS / program)
        for (program, name), text in helps.items():
            roff = self.read(program, name).replace("\\-", "-")
            # An introduction may list values in the same form.
            options = text[text.index("\nOptions:\n") :]
            flags = set(re.findall(r"^  (--\S+)", options, re.MULTILINE))
            self.assertGreater(len(flags), 1, name)
            for flag in flags:
                self.assertIn(f".TP\n\\fB{flag}\\fR\n", roff, name)
            self.assertIn(f'"1970-01-02" "Sortition 1.2"', roff)

    def test_the_same_programs_give_the_same_bytes(self) -> None:
        with tempfile.TemporaryDirectory() as again:
            self.make(Path(again))
            files = sorted(path for path in self.folder.rglob("*") if path.is_file())
            self.assertGreater(len(files), 40)
            for path in files:
                other = Path(again) / path.relative_to(self.folder)
                self.assertEqual(path.read_bytes(), other.read_bytes(), path)

    def complete(self, program: str, line: str) -> list[str]:
        script = self.folder / program / "completions" / program
        function = "_" + program.replace("-", "_")
        commands = (
            f'set -u; compopt() {{ :; }}; source "{script}"; COMP_LINE="$0"; COMP_POINT=${{#0}}; '
            f'{function}; printf "%s\\n" "${{COMPREPLY[@]}}"'
        )
        shell = ["bash", "--norc", "-c", commands, line]
        run = subprocess.run(shell, capture_output=True, text=True, check=True)
        self.assertEqual(run.stderr, "", line)
        return sorted(set(run.stdout.split()))

    def test_completes_commands_flags_and_values(self) -> None:
        for program, line, expected in (
            ("sortition", "sortition ra", ["rank"]),
            ("sortition", "sortition log c", ["cat", "compact"]),
            ("sortition", "sortition log cat --lim", ["--limit="]),
            ("sortition", "sortition nothing ", []),
            ("sortition", "sortition --h", ["--help"]),
            ("sortition", "sortition log cat --output=", ["json", "text"]),
            ("sortition", "sortition log export --format=d", ["dsjson"]),
            (
                "sortition-trainer",
                "sortition-trainer train --learner=m",
                ["mallows", "mpg", "multiclass"],
            ),
            ("sortition-trainer", "sortition-trainer train --action=label", ["label", "labels"]),
            ("sortition-server", "sortition-server --spool.when_full=", ["COUNT", "REFUSE"]),
            ("sortition-server", "sortition-server --check_c", ["--check_config"]),
            ("sortition-server", "sortition-server --no-refl", ["--no-reflection"]),
            ("sortition-sidecar", "sortition-sidecar --compress=Z", ["ZSTD"]),
            ("sortition-trainer", "sortition-trainer roll", ["rollout"]),
        ):
            self.assertEqual(self.complete(program, line), expected, line)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
