"""Entry point of ``python -m skrobustbo.benchmarks``."""

from skrobustbo.benchmarks._cli import main

if __name__ == "__main__":
    raise SystemExit(main())
