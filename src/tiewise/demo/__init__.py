"""What Tiewise is, in one command: two made-up studies, judged while one watches.

What others use of it is listed in `__init__.pyi`, and loaded when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
