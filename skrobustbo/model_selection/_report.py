"""Create the report of a fitted search as text or JSON."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from skrobustbo._names import be, count, every, printable
from skrobustbo._text import clipped, duration, setting, short, with_error
from skrobustbo._trials import rounding
from skrobustbo.model_selection._default import (
    default_among,
    settings,
    values_outside,
)
from skrobustbo.model_selection._ends import ENDS
from skrobustbo.model_selection._failures import FRAME
from skrobustbo.model_selection._findings import AHEAD, Edge, Findings
from skrobustbo.model_selection._settings import resource_of
from skrobustbo.model_selection._softly import Attempt
from skrobustbo.space import Space, constants, plain

#: Yields the lines of a section.
Section = Callable[[Findings], Iterable[str]]
Entry = dict[str, Any] | None

_MARGIN, _WIDTH = 12, 88
_CAUSES, _LABELS = 5, 8
_POSTERIOR = ("mean", "std")
#: Minimum number of candidates for a search to count as settled.
_TELLING = 8
#: A single point at the centre of a space would be as near to every other point.
_CENTRE = 0.5


def report(found: Findings, attempt: Attempt, *, details: bool = False) -> str:
    """Return the report of a search as text without a trailing newline.

    With `details`, the report includes facts about the models. If a section cannot be
    written, it says so, and the other sections are not affected.
    """
    title, sections = _kind(found.search), {}
    # Differences of scores near the largest number are infinite.
    with np.errstate(over="ignore", invalid="ignore"):
        with attempt("its title"):
            title = _title(found)
        for name, lines in _SECTIONS.items():
            if details or name not in _DETAILS:
                sections[name] = _section(name, ["could not be written"])
                with attempt(f"the section {name!r} of the report"):
                    sections[name] = _section(name, lines(found))
    return "\n".join([printable(title), "", *filter(None, sections.values())])


def _title(found: Findings) -> str:
    search = found.search
    n, k = len(found.scores), search.n_splits_
    counts = f"{count(n, _row(found))}, {count(k, 'fold')} each"
    return f"{_kind(search)} of {_tuned(found)}: {counts}"


def _tuned(found: Findings) -> str:
    """Return the name of the estimator, with its last step unless it is searched."""
    estimator = found.search.estimator
    steps = getattr(estimator, "steps", None)
    if not steps or steps[-1][0] in found.branch.names:
        return _kind(estimator)
    return f"{_kind(estimator)} with {_kind(steps[-1][1])}"


def _section(name: str, lines: Iterable[str]) -> str:
    """Return a section with its name in the margin, or "" if it has no lines."""
    wrap = textwrap.TextWrapper(_WIDTH - _MARGIN, break_on_hyphens=False)
    wrapped = []
    for line in map(printable, lines):
        wrap.subsequent_indent = "  " if line.startswith(("- ", "  ")) else ""
        wrapped += wrap.wrap(line)
    block = "\n".join(" " * _MARGIN + part for part in wrapped)
    return name.ljust(_MARGIN) + block[_MARGIN:] if wrapped else ""


# Sections -----------------------------------------------------------------------------


def _best(found: Findings) -> Iterator[str]:
    if found.best is None:
        in_part = all(trial.resource is not None for trial in found.notes.trials)
        why = "was evaluated in full" if in_part else "got a finite score"
        yield f"no candidate {why}"
        return
    score = with_error(found.scores[found.best], found.standard_error)
    yield f"{found.metric_name} {score}, candidate {found.best}{_chosen(found)}"
    params = {found.short[k]: v for k, v in found.params[found.best].items()}
    width = max(map(len, params), default=0)
    for name, value in params.items():
        yield f"  {name:<{width}} = {setting(value)}"


def _honest(found: Findings) -> Iterator[str]:
    if not hasattr(found.search, "honest_score_"):
        return
    score = found.search.honest_score_
    if not math.isfinite(score):
        yield "no honest score could be computed"
        return
    text = f"{found.metric_name} {_rounded(score, found)}"
    if interval := _interval(found, found.search.honest_interval_):
        text += f", {interval}"
    among = count(len(found.scores), "candidate")
    yield (
        f"{text}: expected score of the best candidate on new rows, if fitted to as "
        f"many rows as in one fold; corrected for the choice among {among}"
    )


def _gain(found: Findings) -> Iterator[str]:
    gain = getattr(found.search, "gain_", math.nan)
    if not math.isfinite(gain):
        return
    if found.highest == default_among(found.notes.trials):
        yield f"none: no candidate was better than the untuned {_tuned(found)}"
        return
    text = _rounded(gain, found)
    if interval := _interval(found, found.search.gain_interval_):
        text += f" ({interval})"
    corrected = hasattr(found.search, "honest_score_")
    doubt = "" if corrected else ", not corrected for the choice (see honest_score)"
    yield f"tuning gained {text} over the untuned {_tuned(found)}{doubt}"


def _rounded(score: float, found: Findings) -> str:
    """Return a score with the digits that the standard error allows."""
    return with_error(score, found.standard_error, both=False)


def _interval(found: Findings, ends: tuple[float, float]) -> str:
    """Return the text for an interval, or "" if the interval is unknown."""
    if not math.isfinite(ends[0]):
        return ""
    low, high = ends
    return f"95% interval {_rounded(low, found)} to {_rounded(high, found)}"


def _chosen(found: Findings) -> str:
    """Return a note if `refit` did not choose the candidate with the highest score."""
    best, highest = found.best, found.highest
    if best is None or highest is None or found.scores[best] == found.scores[highest]:
        return ""
    score = _rounded(found.scores[highest], found)
    return f", chosen by refit (the highest score is {score}, candidate {highest})"


def _model(found: Findings) -> Iterator[str]:
    if found.best is not None:
        mean, std = (found.results[f"posterior_{k}"][found.best] for k in _POSTERIOR)
        says = with_error(mean, found.standard_error / 10, both=False)
        if math.isfinite(std):
            about = f"standard deviation {std:.2g}"
            yield f"predicts {says} for the best on these folds, {about}"
    left = found.left_to_gain
    if left is not None:
        yield f"at most {left:.2g} is left to gain in this space (regret_bound)"
    says, labels = found.last_models
    if labels:
        more = len(labels) - _LABELS
        and_more = f" and {more} more" if more > 0 else ""
        yield f"{says}: {', '.join(labels[:_LABELS])}{and_more}"


def _outlook(found: Findings) -> Iterator[str]:
    gain, noise = found.prospects
    if math.isfinite(gain):
        yield f"{AHEAD} more candidates: expected gain {gain:.2g}; noise {noise:.2g}"


def _covered(found: Findings) -> Iterator[str]:
    if found.radius < _CENTRE:
        yield (
            f"any point of the space has a candidate within {found.radius:.0%} of each "
            "parameter's range"
        )


def _branches(found: Findings) -> Iterator[str]:
    if len(found.shares) < 2:
        return
    names = [_branch_name(*b) for b in enumerate(found.notes.optimizer.space.branches)]
    winner = None if found.best is None else found.owners[found.best]
    shares = [(best, i, n) for i, (n, best) in enumerate(found.shares)]
    shares.sort(key=lambda share: (math.isnan(share[0]), -share[0]))
    for best, i, n in shares:
        says = "no score" if math.isnan(best) else f"best {_rounded(best, found)}"
        counts = f"{count(n, 'candidate')}, {says}{' (won)' if i == winner else ''}"
        yield f"{names[i]:<{max(map(len, names))}}  {counts}"


def _branch_name(number: int, branch: Space) -> str:
    """Return a name for a branch: its constants if it has any, else its parameters."""
    fixed = [f"{k}={setting(value, 30)}" for k, value in constants(branch).items()]
    return ", ".join(fixed or branch.dimensions) or f"branch {number + 1}"


def _edge(found: Findings, edge: Edge) -> str:
    if edge.listed:
        side = "largest" if edge.side == "upper" else "smallest"
        place, advice = f"the {side} of its values,", "add more"
    else:
        place, advice = f"at its {edge.side} bound", "widen it"
    return f"{found.short[edge.name]} is {place} {short(edge.bound)}: {advice}"


def _failures(found: Findings) -> Iterator[str]:
    causes = found.notes.failures
    if causes:
        n, n_failed = len(found.scores), found.notes.n_failed
        yield f"{n_failed} of {count(n, _row(found))} got no score"
    for cause, n_folds, n_rows in causes[:_CAUSES]:
        where = f"({count(n_rows, _row(found))})"
        yield f"  {count(n_folds, 'fold')} {where}: {clipped(cause, 150)}"
    if len(causes) > _CAUSES:
        yield f"  and {count(len(causes) - _CAUSES, 'other cause')}"
    n = list(found.results["model_label"]).count("fallback")
    if n:
        a, was = be(n, "a point", "points"), be(n, "was", "were")
        yield (
            f"the model failed {count(n, 'time')}: {a} of the initial design {was} "
            "used instead"
        )


def _races(found: Findings) -> Iterator[str]:
    if found.search.racing:
        n, k = len(found.scores), found.search.n_splits_
        fitted, n_raced = int(found.n_fitted.sum()), int(found.results["raced"].sum())
        yield (
            f"{n_raced} of {count(n, 'candidate')} stopped early: "
            f"{fitted} of {count(n * k, 'fold')} {be(fitted, 'was', 'were')} needed "
            f"({1 - fitted / (n * k):.0%} saved)"
        )


def _resource(found: Findings) -> Iterator[str]:
    search, ladder = found.search, found.notes.optimizer._rungs
    resource = resource_of(search)
    if resource is None:
        return
    spent = np.bincount(found.results["iter"], found.seconds, len(search.n_resources_))
    counts = zip(search.n_candidates_, search.n_resources_, spent, strict=True)
    told = ", ".join(f"{n} with {amount:g} ({duration(s)})" for n, amount, s in counts)
    yield f"evaluations by {resource.name}: {told}"
    full = count(found.notes.n_used, "full evaluation", ".3g")
    yield f"{resource.name} used in all: that of {full}"
    took, whole = found.fit_seconds, found.full_seconds
    if whole > 0:
        less = f"{abs(1 - took / whole):.0%} {'less' if took < whole else 'more'}"
        yield (
            f"time: {duration(took)}, about {less} than evaluating every candidate in "
            f"full ({duration(whole)})"
        )
    little = "the scores with it say too little about those with all"
    for k in range(ladder.top):
        if k not in ladder.in_use:
            why = "every fit with it failed" if ladder.always_fails(k) else little
            yield f"given up {ladder.amounts[k]:g}: {why}"


def _row(found: Findings) -> str:
    """Return the word for a row of the results: "candidate" or "evaluation"."""
    return "evaluation" if found.notes.optimizer._rungs.amounts else "candidate"


def _time(found: Findings) -> list[str]:
    tuner, n = found.search.tuner_time_, len(found.scores)
    fits = f"{duration(found.fit_seconds)} in fits and scoring, summed over folds"
    row = _row(found)
    each = f"{duration(tuner / n)} {'an' if row == 'evaluation' else 'a'} {row}"
    return [fits, f"{duration(tuner)} in the tuner, {each}"]


def _end(found: Findings) -> str:
    reason, n = found.search.stop_reason_, len(found.scores)
    says = ENDS.get(reason, str(reason))
    if reason == "n_iter" and found.notes.optimizer._rungs.amounts:
        says = "the resource of n_iter full evaluations was used"
    elif reason == "n_iter":
        of = "" if found.notes.is_resumed else " of n_iter"
        says = f"{every(n, 'candidate').lower()}{of} {be(n, 'was', 'were')} evaluated"
    left = found.notes.n_planned - n
    return f"{says}, {left} short of n_iter" if left > 0 else says


# Next steps ---------------------------------------------------------------------------


def advice(found: Findings) -> list[str]:
    """Return the recommended next steps, starting with the most important one."""
    return list(_advice(found)) or [_nothing(found)]


def _advice(found: Findings) -> Iterator[str]:
    reason, left = found.search.stop_reason_, found.notes.n_planned - len(found.scores)
    if left > 0 and reason in ("interrupted", "max_time"):
        yield f"go on with search.resume(X, y, n_iter={left})"
    look = _look_at_failures(found)
    if look:
        yield look
    if found.all_equal:
        n = int(np.isfinite(found.scores).sum())
        yield (
            f"all {n} scores are equal: they do not tell the candidates apart; search "
            "other parameters, or use a metric that distinguishes more"
        )
        return
    if found.default_won:
        yield _contain(found)
    elif found.may_gain_nothing:
        yield (
            "tuning may have gained nothing, as the interval of the gain contains 0: "
            "refit=default_unless_better keeps the untuned estimator in doubt"
        )
    yield from _widen(found)
    ended = reason in ("space_exhausted", "interrupted") or found.has_settled
    if found.improving and not ended:
        more = "max_time" if reason == "max_time" else "n_iter"
        says = "the last quarter of the candidates still improved the best"
        yield f"raise {more}: {says}"
    gain = found.left_to_gain
    if found.noisy and (gain is None or gain > rounding(found.so_far[-1])):
        yield (
            f"{_more_folds(found)}: on the same folds, most initial candidates cannot "
            "be distinguished from the best"
        )
    # Failures hide which parameters matter.
    idle = [] if look else [found.short[name] for name in found.idle]
    if idle:
        it = "it" if len(idle) == 1 else "them"
        yield (
            f"{', '.join(idle)}: the model attributes less than 1 % of the variance to "
            f"{it}; fix {it} to save budget for the other parameters"
        )


def _more_folds(found: Findings) -> str:
    """Return advice to score candidates on more folds."""
    if hasattr(found.search.cv, "n_repeats"):
        return "repeat the folds more often (n_repeats)"
    classes = "Stratified" if is_classifier(found.search.estimator) else ""
    return f"use more folds or repeat them (Repeated{classes}KFold)"


def _contain(found: Findings) -> str:
    """Return advice for an untuned estimator that is best and outside the space."""
    says = "widen the space to contain the best candidate, the estimator as given"
    dimensions = found.branch.dimensions
    outside = values_outside(found.branch, found.params[found.best or 0])
    if not outside or len(found.shares) > 1:
        return says
    says += f" (outside: {settings(outside)})"
    if any(getattr(dimensions[k], "log", False) and v == 0 for k, v in outside.items()):
        says += "; a log range cannot contain 0, so lower its end, or drop log=True"
    return says


def _nothing(found: Findings) -> str:
    n = len(found.scores)
    if found.search.stop_reason_ == "space_exhausted":
        return "nothing: no other point is left"
    if n < _TELLING or n <= found.n_initial:
        return f"raise n_iter: {count(n, 'candidate')} cannot show much"
    gain, noise = found.prospects
    if gain > noise:
        return (
            f"raise n_iter: {AHEAD} more candidates are expected to gain more than the "
            "noise"
        )
    if found.has_settled:
        less = f": {AHEAD} more candidates are expected to gain less than the noise"
        says = less if math.isfinite(gain) else ", as its models allow little more"
        return f"nothing in particular: the search has settled{says}"
    return (
        "nothing in particular: the last quarter of the candidates brought no clear "
        "gain, but the models do not rule one out; raise n_iter if fits are cheap"
    )


def _look_at_failures(found: Findings) -> str:
    """Return advice about failed candidates, or "" if there are only a few."""
    if 10 * found.notes.n_failed < len(found.scores) or not found.notes.failures:
        return ""
    again = ""
    if found.notes.n_read_failed:
        again = "; retry_failed=True fits those of the checkpoint again"
    exclude = "exclude such candidates by the space or constraints"
    errors = [error for trial in found.notes.trials for error in trial.errors]
    if any(FRAME in error for error in errors):
        says = f"fix the error, or {exclude}; error_score='raise' shows the traceback"
    elif errors:  # folds took too long or killed their worker
        says = f"make the fits cheaper, or {exclude}"
    else:
        says = f"no fit failed, but scores are not finite; fix the metric, or {exclude}"
    return f"look at the failures: {says}{again}"


def _widen(found: Findings) -> list[str]:
    lines = [_beyond(edge, found) for edge in found.edges]
    if lines:
        lines[-1] += "; with previous=, the next search learns from these candidates"
    return lines


def _beyond(edge: Edge, found: Findings) -> str:
    more, end = ("larger", "high") if edge.side == "upper" else ("smaller", "low")
    says = f"{found.short[edge.name]}: try {more} values than {short(edge.bound)}"
    if edge.legal:
        return says
    dimension = found.branch.dimensions[edge.name]
    if not hasattr(dimension, "hard"):
        return f"{says}, if they make sense"
    hard = True if dimension.hard else end
    return f"{says}, if they make sense (if not, state it by hard={hard!r})"


def _kind(thing: Any) -> str:
    return type(thing).__name__


_SECTIONS: dict[str, Section] = {
    "Best": _best,
    "Honest": _honest,
    "Gain": _gain,
    "Outlook": _outlook,
    "Model": _model,
    "Covered": _covered,
    "Branches": _branches,
    "At an edge": lambda found: [_edge(found, edge) for edge in found.edges],
    "Failures": _failures,
    "Races": _races,
    "Resource": _resource,
    "Read": lambda found: found.notes.read,
    "Default": lambda found: filter(None, [found.notes.default]),
    "Previous": lambda found: filter(None, [found.notes.previous]),
    "Time": _time,
    "Ended": lambda found: [_end(found)],
    "Next": lambda found: [f"- {line}" for line in advice(found)],
}
#: Sections for readers familiar with the models.
_DETAILS = {"Model", "Covered"}


# Report as JSON -----------------------------------------------------------------------


def summary(found: Findings, attempt: Attempt) -> str:
    """Return the report of a search as JSON, with null for unknown facts."""
    written: dict[str, Any] = dict.fromkeys(_ENTRIES)
    for name, make in _ENTRIES.items():
        with attempt(f"{name!r} of the report"):
            written[name] = make(found)
    return json.dumps(_plain(written), indent=2)


def _plain(value: Any) -> Any:
    """Convert a value to JSON types, or to text if JSON has no suitable type."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    value = plain(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    is_known = value is None or isinstance(value, bool | int | float | str)
    return value if is_known else setting(value)


def _best_entry(found: Findings) -> Entry:
    if found.best is None:
        return None
    return {
        "candidate": found.best,
        "score": found.scores[found.best],
        "standard_error": found.standard_error,
        "params": found.params[found.best],
    }


def _between(found: Findings, score: str, interval: str) -> Entry:
    """Return a fitted score and its interval, or None if there is no such score."""
    search = found.search
    if not hasattr(search, score):
        return None
    low, high = getattr(search, interval, (math.nan, math.nan))
    return {"score": getattr(search, score), "low": low, "high": high}


def _failures_entry(found: Findings) -> Entry:
    causes = [dict(zip(_CAUSE, cause, strict=True)) for cause in found.notes.failures]
    return {"candidates": found.notes.n_failed, "causes": causes}


_CAUSE = ("cause", "folds", "candidates")
_ENTRIES: dict[str, Callable[[Findings], Any]] = {
    "estimator": _tuned,
    "metric": lambda found: found.metric_name,
    "candidates": lambda found: len(found.scores),
    "folds": lambda found: found.search.n_splits_,
    "folds_fitted": lambda found: int(found.n_fitted.sum()),
    "best": _best_entry,
    "honest": partial(_between, score="honest_score_", interval="honest_interval_"),
    "gain": partial(_between, score="gain_", interval="gain_interval_"),
    "outlook": lambda found: dict(
        zip(("candidates", "gain", "noise"), (AHEAD, *found.prospects), strict=True)
    ),
    "at_an_edge": lambda found: [
        {"parameter": edge.name, "side": edge.side, "bound": edge.bound}
        for edge in found.edges
    ],
    "failures": _failures_entry,
    "seconds": lambda found: {
        "fits": found.fit_seconds,
        "tuner": found.search.tuner_time_,
    },
    "stop_reason": lambda found: found.search.stop_reason_,
    "next": advice,
}
