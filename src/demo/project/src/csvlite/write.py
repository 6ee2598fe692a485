"""Writer: whatever it writes, `parse` reads back."""


def write(rows):
    return "".join(",".join(_quote(field) for field in row) + "\n" for row in rows)


def _quote(field):
    return f'"{field}"' if "," in field else field
