"""The picture of the first page: how soon searches find a hidden peak.

    python docs/figures/landing.py

makes the runs anew and writes how many of them have found the peak after each
evaluation (`landing.csv`). It needs skrobustbo_benchmarks, which drawing does not. The
traps are those of the study of traps of one to four parameters, with its seeds.
"""

import csv
from collections import Counter
from pathlib import Path

FILE = Path(__file__).with_name("landing.csv")
TRAPS = (
    "trap(d=1,share=0.025)",
    "trap(d=2,share=0.03)",
    "trap(d=3,share=0.03)",
    "trap(d=4,share=0.031)",
)
METHODS = ("robust", "mle-gp-ucb", "random")
N_SEEDS, N_ITER = 50, 100


def make_runs():
    """Write the number of runs that have found the peak by each evaluation."""
    from skrobustbo_benchmarks._record import RunKey
    from skrobustbo_benchmarks._single import run_one

    found = {method: Counter() for method in METHODS}
    for method in METHODS:
        for trap in TRAPS:
            for seed in range(N_SEEDS):
                run = run_one(RunKey(trap, N_ITER, method, seed))
                at = run["step"][run["best"] >= run["stuck_below"]]
                found[method].update(at.tolist())
        print(method, found[method][N_ITER], flush=True)
    with FILE.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["evaluation", *METHODS])
        for step in range(1, N_ITER + 1):
            table.writerow([step, *(found[method][step] for method in METHODS)])


# The picture --------------------------------------------------------------------------

WIDTH, HEIGHT = 640, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 618, 92, 352
#: For each method its name, colour and width of the line.
LOOKS = {
    "random": ("random search", "#777777", 4),
    "mle-gp-ucb": ("trusting one length scale", "#d55e00", 4),
    "robust": ("skrobustbo", "#0072b2", 6),
}
STYLE = "font-family:Helvetica,Arial,sans-serif;font-size:20px;fill:#333"


def landing():
    """Return the picture: a line for each kind of search."""
    with FILE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    n = N_SEEDS * len(TRAPS)
    parts = [
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#fff"/>',
        text(20, 36, "Who finds the hidden peak?", "font-size:27px;font-weight:bold"),
        text(20, 66, f"Searches that have found it, of {n}"),
    ]
    for count in range(0, n + 1, 50):
        y = height(count, n)
        parts.append(
            f'<path d="M{LEFT} {y}H{RIGHT}" stroke="#ddd" stroke-width="1.5"/>'
        )
        parts.append(text(LEFT - 10, y + 7, count, "text-anchor:end"))
    for step in range(0, N_ITER + 1, 25):
        parts.append(text(across(step), BOTTOM + 28, step, "text-anchor:middle"))
    middle = (LEFT + RIGHT) / 2
    parts.append(
        text(middle, BOTTOM + 58, "candidates evaluated", "text-anchor:middle")
    )
    for method, (name, colour, width) in LOOKS.items():
        counts = [int(row[method]) for row in rows]
        points = " ".join(
            f"{across(step)},{height(count, n)}" for step, count in enumerate(counts, 1)
        )
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" '
            f'stroke-width="{width}" stroke-linejoin="round"/>'
        )
        x, y = PLACES[method]
        look = f"fill:{colour};font-weight:bold;text-anchor:end"
        parts.append(text(x, y, f"{name}: {counts[-1]}", look))
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img">\n'
        f"<title>Searches that have found a hidden peak</title>\n{body}\n</svg>\n"
    )


#: The right ends of the lines' names.
PLACES = {"robust": (612, 84), "mle-gp-ucb": (612, 312), "random": (612, 337)}


def text(x, y, words, look=""):
    """Return a line of text."""
    return f'<text x="{x}" y="{y}" style="{STYLE};{look}">{words}</text>'


def across(step):
    """Return the place of a number of candidates on the horizontal axis."""
    return round(LEFT + (RIGHT - LEFT) * step / N_ITER, 1)


def height(count, n):
    """Return the place of a number of searches on the vertical axis."""
    return round(BOTTOM - (BOTTOM - TOP) * count / n, 1)


if __name__ == "__main__":
    make_runs()
