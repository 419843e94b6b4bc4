"""Sentences are drawn by a seed, from prose only."""

import importlib.util
from pathlib import Path

# By its path: the tests of bad input have a module of the same name.
SCRIPT = Path(__file__).parents[2] / "studies" / "draw_sentences.py"
spec = importlib.util.spec_from_file_location("drawn_sentences", SCRIPT)
study = importlib.util.module_from_spec(spec)
spec.loader.exec_module(study)

PAGE = """# A heading is no sentence at all

(anchor)=
Lists are ordered by rank. Each
point is tried once: `n_iter` is a limit. Too short.

```python
print("code is no sentence of the page.")
```

| a table | is no sentence either |
|---|---|

- An item is a text of its own
- **Bold words end here.** The next sentence follows.

$$a + b = c + d + e$$
"""


def test_only_prose_is_taken():
    assert study.sentences_of(PAGE) == [
        "Lists are ordered by rank.",
        "Each point is tried once:",
        "`n_iter` is a limit.",
        "An item is a text of its own",
        "**Bold words end here.**",
        "The next sentence follows.",
    ]


def test_a_seed_draws_the_same_sentences():
    first = study.drawn(study.PAGES, 60, 0)
    assert first == study.drawn(study.PAGES, 60, 0) != study.drawn(study.PAGES, 60, 1)
    assert len(set(first)) == 60


def test_the_command_prints_as_many_as_asked(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["draw_sentences.py", "--n", "3", "--seed", "1"])
    study.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["1", "2", "3"]
    assert all(".md: " in line for line in lines)
