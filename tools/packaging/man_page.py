"""Help texts as manual pages in roff, the language of man(7)."""

import re

from help_text import Help, Option, paragraphs


def escape(text: str) -> str:
    """Text as it is printed: no request, and hyphens that can be copied as minus signs."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)


def _block(lines: list[str]) -> list[str]:
    """A paragraph: as it stands where it is indented, as in an example, else filled."""
    if any(line.startswith("  ") for line in lines):
        return [".PP", ".nf", *map(escape, lines), ".fi"]
    return [".PP", *map(escape, lines)]


def _option(option: Option) -> list[str]:
    return [".TP", f"\\fB{escape(option.shown)}\\fR", escape(option.text)]


def _title(group: str) -> str:
    return f"Options of {group}" if group and group != "all programs" else "Options"


def _start(name: str, summary: str, release: str, date: str) -> list[str]:
    page = name.replace(" ", "-")
    return [
        f'.TH {escape(page).upper()} 1 "{date}" "Sortition {release}" "Sortition"',
        # Long options make spaces between words too wide.
        ".ad l",
        ".SH NAME",
        f"{escape(page)} \\- {escape(summary[0].lower() + summary[1:])}",
    ]


def _end(see_also: list[str]) -> list[str]:
    listed = ", ".join(f"\\fB{escape(name)}\\fR(1)" for name in see_also)
    return [".SH SEE ALSO", listed, ".PP", "The documentation is in /usr/share/doc/sortition."]


def page(
    name: str, summary: str, help_text: Help, see_also: list[str], release: str, date: str
) -> str:
    """The page of a program without commands, or of a command."""
    lines = _start(name, summary, release, date)
    lines += [".SH SYNOPSIS", ".nf", *map(escape, help_text.usage), ".fi", ".SH DESCRIPTION"]
    for part in help_text.intro:
        lines += _block(part)
    lines.append(".SH OPTIONS")
    for group, options in help_text.groups:
        if _title(group) != "Options":
            lines.append(f".SS {escape(_title(group))}")
        for option in options:
            lines += _option(option)
    lines.append(".SH NOTES")
    for part in help_text.notes:
        lines += _block(part)
    return "\n".join([*lines, *_end(see_also)]) + "\n"


def overview(
    name: str, summary: str, text: str, commands: dict[str, str], release: str, date: str
) -> str:
    """The page of a program of commands: each of them, and where its own page is."""
    lines = _start(name, summary, release, date)
    usage, _, *rest = paragraphs(text)
    lines += [".SH SYNOPSIS", escape(usage[0].removeprefix("usage: ")), ".SH COMMANDS"]
    for command, what in commands.items():
        lines += [".TP", f"\\fB{escape(command)}\\fR", escape(what)]
    lines.append(".SH NOTES")
    for part in rest:
        lines += _block(part)
    pages = [f"{name}-{command}".replace(" ", "-") for command in commands]
    return "\n".join([*lines, *_end(pages)]) + "\n"
