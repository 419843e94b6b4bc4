"""Make the pictures of the documentation: python docs/figures/make.py [NAME ...].

Without names, all of them; --out DIR puts them elsewhere. Seeds are fixed, so that a
picture changes only when the package does.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import landing
import matplotlib.pyplot as plt
import pictures
import trap
from PIL import Image

FIGURES = {"landing": landing.landing, **trap.FIGURES, **pictures.FIGURES}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(FIGURES))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    args = parser.parse_args()
    unknown = sorted(set(args.names) - set(FIGURES))
    if unknown:
        parser.error(f"Expected names among {sorted(FIGURES)}, got {unknown}.")
    for name in args.names or FIGURES:
        figure = FIGURES[name]()
        if isinstance(figure, str):
            path = args.out / f"{name}.svg"
            path.write_text(figure, encoding="utf-8")
        else:
            path = args.out / f"{name}.png"
            # No date and no version: equal pictures are equal files.
            figure.savefig(path, dpi=90, facecolor="white", metadata={"Software": None})
            plt.close(figure)
            # A third of the size, and no visible difference.
            Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)
        print(path)


if __name__ == "__main__":
    main()
