def write(rows):
    return "\n".join(",".join(row) for row in rows)
