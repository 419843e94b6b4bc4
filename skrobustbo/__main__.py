"""Entry point for ``python -m skrobustbo``."""

import os

from skrobustbo.watching import main

if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(10)  # the search has priority
    raise SystemExit(main())
