"""Entry point of ``python -m skrobustbo``."""

from skrobustbo.watching import main

if __name__ == "__main__":
    raise SystemExit(main())
