from .parse import ParseError, parse
from .write import write

__all__ = ["ParseError", "parse", "write"]
