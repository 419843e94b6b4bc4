"""Draw sentences at random from the pages, to judge how they read.

    python benchmarks/studies/draw_sentences.py --n 60 --seed 0

A sentence on its own shows what a page hides: words that only its author knows, and
clauses that lean on the sentence before. Code, tables, headings and formulas are left
out.
"""

import argparse
import random
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
#: What is not prose: fences, formulas, comments, headings, tables, pictures, anchors.
NO_PROSE = re.compile(
    r"^ *```.*?^ *```$|^\$\$.*?\$\$$|<!--.*?-->|^#.*?$|^\|.*?$|^!\[.*?$|^\([\w-]+\)=$",
    re.MULTILINE | re.DOTALL,
)
ITEM = re.compile(r"\n(?=\s*(?:[-*]|\d+\.) )")
END = re.compile(r"(?:(?<=[.!?:])|(?<=[.!?]\*\*))\s+(?=[A-Z`*\"(\[])")
#: The lines of a list of errors, as on the page of promises.
ERROR = re.compile(r"\w+(?:Error|Warning):")
LEAST_WORDS = 4


def sentences_of(text):
    """Return the sentences of a page's prose, in order."""
    blocks = re.split(r"\n\s*\n", NO_PROSE.sub("\n\n", text))
    items = [item for block in blocks for item in ITEM.split(block)]
    texts = [re.sub(r"^(?:[-*]|\d+\.) ", "", " ".join(i.split())) for i in items]
    found = [sentence for item in texts for sentence in END.split(item)]
    return [s for s in found if len(s.split()) >= LEAST_WORDS and not ERROR.search(s)]


def drawn(pages, n, seed):
    """Return `n` pairs of a page and one of its sentences, none of them twice."""
    every = ((page.name, s) for page in pages for s in sentences_of(page.read_text()))
    known = list(dict.fromkeys(every))
    return random.Random(seed).sample(known, min(n, len(known)))


def main():
    """Print the sentences, with the page of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=60, help="sentences; default: 60")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    args = parser.parse_args()
    for i, (page, sentence) in enumerate(drawn(PAGES, args.n, args.seed), 1):
        print(f"{i:>3} {page}: {sentence}")


if __name__ == "__main__":
    main()
