"""Entry point of ``python -m skrobustbo_benchmarks``."""

try:
    import pandas  # noqa: F401
except ImportError:
    raise SystemExit(
        "error: The benchmarks keep their results with pandas, which is not installed: "
        'pip install pandas, or "skrobustbo-benchmarks[peers]".'
    ) from None

from skrobustbo_benchmarks._cli import main

if __name__ == "__main__":
    raise SystemExit(main())
