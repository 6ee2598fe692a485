"""Strict reader: what is not a table is an error, never a guess."""


class ParseError(ValueError):
    pass


def parse(text):
    rows = [_fields(line, number) for number, line in enumerate(text.splitlines(), 1)]
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise ParseError(f"line {number}: {len(row)} fields, expected {len(rows[0])}")
    return rows


def _fields(line, number):
    fields, field, quoted = [], "", False
    for char in line:
        if char == '"':
            quoted = not quoted
        elif char == "," and not quoted:
            fields.append(field)
            field = ""
        else:
            field += char
    if quoted:
        raise ParseError(f"line {number}: a quote does not end")
    return [*fields, field]
