from .parse import parse
from .write import write

__all__ = ["parse", "write"]
