"""Breaks single lines of C++ in a way that compiles: used by mutate.py.

The text is not parsed. Lines are taken that hold a whole statement or condition inside a function
as clang-format lays it out.
"""
import re

SWAPS = {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == ",
         " && ": " || ", " || ": " && ", " + ": " - ", " - ": " + ", " * ": " / ", " / ": " * "}
OPERATOR = re.compile(r"(?<=[\w)\]])(?: (?:[<>]=?|[=!]=|&&|\|\||[-+*/]) )(?=[\w(!*:-])")
LVALUE = r"\*?[A-Za-z_][\w:]*(?:(?:\.|->)\w+|\[[^\[\]]*\]|\([^()]*\))*"
ASSIGNMENT = re.compile(rf"{LVALUE} (?P<op>(?:[-+*/|&^%]|<<|>>)?=) (?P<value>.+);$")
CALL = re.compile(rf"{LVALUE}\(.*\);$|(?:\+\+|--){LVALUE};$")
DECLARATION = re.compile(r"(?:const )?(?P<type>double|float|bool|int|(?:std::)?size_t|u?int\d+_t) \w+"
                         r" = (?P<value>.+);$")
# Statements whose deletion changes nothing that a test may see.
KEPT = re.compile(r"D?CHECK|V?LOG|static_assert|assert\(|ASSIGN_OR_RETURN|.*(\.|->)(reserve|shrink_to_fit)\(|__builtin_prefetch")
CONSTANTS = {"0": "1", "1": "0", "0.0": "1.0", "1.0": "0.0", "true": "false", "false": "true"}
LITERAL = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
                     r"|(?<!\w)'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"(\)[\s\w]*(->[^(){};]*)?|\]|\belse|\bdo|\btry|:|^)\s*$")
TYPE = re.compile(r"\b(class|struct|enum|union)\b[^()]*$")


def mask(text):
    """Blanks comments, literals and preprocessor lines, so that positions stay."""
    def blank(match):
        quote = '"' if '"' in (match[0][0], match[0][-1]) else " "
        return quote + re.sub(r"[^\n]", quote, match[0][1:])
    return LITERAL.sub(blank, text)


def statement_lines(masked):
    """Yields the indices of the lines that begin a statement inside a function."""
    stack, parentheses, opener, last, line = [], [0], 0, ";", 0
    is_new_line = True
    for position, char in enumerate(masked):
        if char == "\n":
            line, is_new_line = line + 1, True
        if char.isspace():
            continue
        if (is_new_line and stack and stack[-1] == "block" and "constant" not in stack
                and parentheses[-1] == 0 and last in ";{}:"):
            yield line
        is_new_line, last = False, char
        if char == "{":
            text = masked[opener:position]
            stack.append("constant" if re.search(r"\bconst(expr|eval|init)\b", text) else
                         "scope" if re.search(r"\bnamespace\b", text) or TYPE.search(text) else
                         "block" if BLOCK.search(text) else "values")
            parentheses.append(0)
        elif char == "}" and stack:
            stack.pop()
            parentheses.pop()
        elif char in "()":
            parentheses[-1] += 1 if char == "(" else -1
        if char in "{};":
            opener = position + 1


def matching(code, start):
    """Returns the position of the parenthesis that closes the one at `start`, or -1."""
    depth = 0
    for position in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[position], 0)
        if depth == 0:
            return position
    return -1


def swaps(code, masked, begin, end):
    """Returns (operator, code with another operator) for each operator in [begin, end)."""
    if '"' in masked[begin:end]:  # Perhaps a concatenation.
        return []
    return [(m[0].strip(), code[:m.start()] + SWAPS[m[0]] + code[m.end():])
            for m in OPERATOR.finditer(masked, begin, end)]


def mutations(code, masked):
    """Returns (kind, broken code, code with the switch %(n)s) for a line without its indentation."""
    found = []

    def add(kind, broken, switched):
        found.append((kind, broken, switched.replace("%", "%%").replace("@", "SortitionMutant(%(n)s)")))

    condition = re.match(r"(\} else )?if \(", masked)
    if condition:
        begin, end = condition.end(), matching(masked, condition.end() - 1)
        inside = masked[begin:max(end, begin)]
        if end < 0 or ";" in inside or " = " in inside or not re.search(r"[{;]$", masked):
            return []
        head, tail = code[:begin], code[end:]
        whole = f"static_cast<bool>({code[begin:end]})"
        add("negate", f"{head}!({code[begin:end]}){tail}", f"{head}@ != {whole}{tail}")
        for kind, broken in swaps(code, masked, begin, end):
            other = broken[begin:len(broken) - len(tail)]
            add(kind, broken, f"{head}@ ? static_cast<bool>({other}) : {whole}{tail}")
        return found
    if not masked.endswith(";") or any(masked.count(a) != masked.count(b) for a, b in ("()", "{}", "[]")):
        return []

    def add_either(kind, broken):
        add(kind, broken, f"{{ if (@) {{ {broken} }} else {{ {code} }} }}")

    declaration, assignment = DECLARATION.match(masked), ASSIGNMENT.match(masked)
    if masked.startswith("return "):
        value = code[7:-1]
        if value in CONSTANTS:
            add_either("constant", f"return {CONSTANTS[value]};")
        for kind, broken in swaps(code, masked, 7, len(code)):
            add_either(kind, broken)
    elif declaration:
        begin, cast = declaration.start("value"), f"static_cast<{declaration['type']}>"
        for kind, broken in swaps(code, masked, begin, len(code)):
            add(kind, broken,
                f"{code[:begin]}@ ? {cast}({broken[begin:-1]}) : {cast}({code[begin:-1]});")
    elif assignment and not KEPT.match(masked):
        for kind, broken in swaps(code, masked, assignment.start("value"), len(code)):
            add_either(kind, broken)
        other = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="}.get(assignment["op"])
        if other and '"' not in masked:
            add_either(assignment["op"], code[:assignment.start("op")] + other + code[assignment.end("op"):])
        add("delete", "", f"if (!@) {{ {code} }}")
    elif CALL.match(masked) and not KEPT.match(masked):
        add("delete", "", f"if (!@) {{ {code} }}")
    return found


def breakable_lines(text):
    """Yields (line from 1, indentation, mutations) for the lines of a source that can be broken."""
    masked = mask(text)
    lines, masked_lines = text.split("\n"), masked.split("\n")
    for index in statement_lines(masked):
        indentation = len(lines[index]) - len(lines[index].lstrip())
        code = masked_lines[index][indentation:].rstrip()  # Without a comment at its end.
        found = mutations(lines[index][indentation:indentation + len(code)], code)
        if found:
            yield index + 1, lines[index][:indentation], found
