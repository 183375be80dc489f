"""Reads what a program prints for --help into its parts."""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

# "  --name=VALUE   text", "  --[no-]name   text", or without text on that line.
OPTION = re.compile(r"^  (--(\[no-\])?([a-z0-9_.]+)(?:=(\S+))?)(?:\s+(.*))?$")
# "  models list     What it does", in a program's list of commands.
COMMAND = re.compile(r"^  ([a-z-]+(?: [a-z-]+)?)(?: \[?[A-Z]\S*(?: [A-Z]\S*)*)?\s+([A-Z].*)$")
CONTINUED = " " * 10
# "text or json", at the beginning of what an option does or behind a colon.
CHOICE = re.compile(r"(?:^|: )((?:[a-z0-9_]+, )*[a-z0-9_]+ or [a-z0-9_]+)(?=$|[.;])")


@dataclass
class Option:
    """An option: how --help shows it, its name, its values, what it does."""

    shown: str
    name: str
    is_switch: bool
    value: str
    text: str

    def choices(self) -> list[str]:
        """The values of an option that takes one of a few; else nothing."""
        if re.fullmatch(r"[A-Z0-9_]+(\|[A-Z0-9_]+)+", self.value):
            return self.value.split("|")
        without_brackets = re.sub(r" \([^()]*\)", "", self.text)
        named = CHOICE.search(without_brackets) if self.value == "TEXT" else None
        return re.split(", | or ", named.group(1)) if named else []


@dataclass
class Help:
    """A help text: usage lines, paragraphs before the options, groups of options, paragraphs
    behind them. A paragraph is a list of lines."""

    usage: list[str]
    intro: list[list[str]] = field(default_factory=list)
    groups: list[tuple[str, list[Option]]] = field(default_factory=list)
    notes: list[list[str]] = field(default_factory=list)

    def options(self) -> list[Option]:
        return [option for _, options in self.groups for option in options]

    def choices(self, option: Option) -> list[str]:
        """Those of the option; the learners stand in lists of their own."""
        if option.name != "learner":
            return option.choices()
        lists = [part for part in self.intro if part[0].startswith("Learners from ")]
        return [line.split()[0] for part in lists for line in part if line.startswith("  ")]


def paragraphs(text: str) -> list[list[str]]:
    return [part.split("\n") for part in re.split(r"\n\n+", text.strip("\n")) if part.strip()]


def _options(lines: list[str]) -> list[Option]:
    options: list[Option] = []
    for line in lines:
        match = OPTION.match(line)
        if match:
            shown, switch, name, value, text = match.groups()
            options.append(Option(shown, name, bool(switch), value or "", text or ""))
        elif options and line.startswith(CONTINUED):
            options[-1].text = f"{options[-1].text} {line.strip()}".strip()
        else:
            raise ValueError(f"--help has the line {line!r}, must be an option or its text")
    return options


def parse(text: str) -> Help:
    """Raises ValueError where a line among the options is none of theirs."""
    # Some introductions end without a line break.
    text = re.sub(r"\n(Options(?: of \S+)?:)\n", r"\n\n\1\n", text)
    usage, *rest = paragraphs(text)
    parsed = Help(usage=[usage[0].removeprefix("usage: "), *(line.strip() for line in usage[1:])])
    for part in rest:
        heading = re.fullmatch(r"Options(?: of (\S+))?:", part[0])
        if heading:
            parsed.groups.append((heading.group(1) or "", _options(part[1:])))
        elif parsed.groups and OPTION.match(part[0]):
            parsed.groups.append(("all programs", _options(part)))
        elif parsed.groups:
            parsed.notes.append(part)
        else:
            parsed.intro.append(part)
    return parsed


def commands(text: str) -> dict[str, str]:
    """The commands of a program and what they do, from the list that it prints."""
    lines = (COMMAND.match(line) for part in paragraphs(text)[1:2] for line in part)
    return {match.group(1): match.group(2) for match in lines if match}


def ask(program: Path, *arguments: str) -> str:
    """What the program prints for the arguments and --help, whole. Raises CalledProcessError."""
    # Of train, --help shows what its learners have in common.
    whole = "--help=all" if arguments == ("train",) else "--help"
    command = [str(program), *arguments, whole]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
