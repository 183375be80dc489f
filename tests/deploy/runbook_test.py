"""Commands of the runbook and of the page on backups can be pasted: programs, commands and flags are
those that the programs know, metrics are those that they serve, links lead to sections.

usage: runbook_test.py SOURCES PROGRAMS [unittest options]
"""

import functools
import re
import shlex
import subprocess
import sys
import unittest
from pathlib import Path

SOURCES, PROGRAMS = Path(sys.argv[1]), Path(sys.argv[2])
PAGES = ("docs/runbook.md", "docs/backup.md")


def text_of(page: str) -> str:
    return (SOURCES / page).read_text()


def blocks(page: str) -> list[str]:
    return re.findall(r"^```\n(.*?)^```$", text_of(page), re.MULTILINE | re.DOTALL)


@functools.cache
def help_of(program: str, *command: str) -> str:
    done = subprocess.run(
        [str(PROGRAMS / program), *command, "--help"], capture_output=True, text=True
    )
    return done.stdout + done.stderr


def calls(page: str) -> list[list[str]]:
    """Returns the words of each call of one of the programs, in blocks and in `code`."""
    found = []
    code = blocks(page) + re.findall(r"`(sortition[- ][^`\n]+)`", text_of(page))
    for text in code:
        for line in text.replace("\\\n", " ").splitlines():
            for part in re.split(r"\|\||&&|[;|>]", line):
                try:
                    words = shlex.split(part, comments=True)
                except ValueError:  # Cut within quotes: none of ours.
                    continue
                if words and re.fullmatch(r"sortition(-(server|sidecar|trainer))?", words[0]):
                    found.append(words)
    return found


class RunbookTest(unittest.TestCase):
    def test_programs_know_the_commands_and_flags(self) -> None:
        checked = 0
        for page in PAGES:
            for program, *words in calls(page):
                command = []
                if program == "sortition" and words[0] in ("models", "log"):
                    command = words[:2]
                elif program in ("sortition", "sortition-trainer"):
                    command = words[:1]
                text = help_of(program, *command)
                self.assertNotIn("unknown command", text, words)
                for flag in re.findall(r"^--([\w.]+)", "\n".join(words), re.MULTILINE):
                    name = flag.rsplit(".", 1)[-1]
                    self.assertRegex(text, rf"--(\[no-\])?([\w.]+\.)?{name}\b", f"{program} {words}")
                    checked += 1
        self.assertGreater(checked, 10)

    def test_metrics_are_served(self) -> None:
        sources = "".join(
            path.read_text()
            for folder in ("server", "sidecar", "process")
            for path in (SOURCES / folder).rglob("*.cc")
        )
        # The sidecar adds the prefix in one place.
        metrics = {name.removeprefix("sortition_") for name in re.findall(r'"([a-z_]{5,})"', sources)}
        checked = 0
        for page in PAGES:
            for pattern in re.findall(r"'\^?(sortition_[^']*)'", "\n".join(blocks(page))):
                # Without what stands in braces, which are labels.
                pattern = re.sub(r"\\?\{[^|]*", "", pattern)
                for word in re.findall(r"[a-z][a-z_]{3,}", pattern.replace("sortition_", "")):
                    word = re.sub(r"_(bucket|sum|count)$", "", word).strip("_")
                    self.assertTrue(any(word in name for name in metrics), f"{page}: {word}")
                    checked += 1
        self.assertGreater(checked, 30)

    def test_links_lead_to_sections(self) -> None:
        for page in (*PAGES, "docs/operations.md"):
            for target, anchor in re.findall(r"\]\(([\w/.]*)#([\w-]+)\)", text_of(page)):
                path = ((SOURCES / page).parent / target) if target else SOURCES / page
                headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
                anchors = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}
                self.assertIn(anchor, anchors, f"{page}: {target}#{anchor}")

    def test_every_section_of_an_alert_has_commands(self) -> None:
        for section in re.split(r"^### ", text_of("docs/runbook.md"), flags=re.MULTILINE)[1:]:
            if section.startswith("Sortition"):
                self.assertRegex(section, r"(?m)^\*(page|ticket)[.,]", section[:40])
                self.assertIn("\n```\n", section, section[:40])

    def test_severities_and_times_are_those_of_the_rules(self) -> None:
        rules = text_of("deploy/prometheus/alerts.yml").split("- alert: ")[1:]
        for rule in rules:
            name = rule.split("\n")[0]
            severity = re.search(r"severity: (\w+)", rule).group(1)
            held = re.search(r"\n        for: (\d+)([smhd])", rule)
            time = f", {held.group(1)} {held.group(2)}" if held else ""
            self.assertIn(f"### {name}\n\n*{severity}{time}.*", text_of("docs/runbook.md"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
