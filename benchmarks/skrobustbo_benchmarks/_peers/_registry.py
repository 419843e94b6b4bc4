"""Which peers there are, what they need and where they do not apply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from skrobustbo_benchmarks._args import CommandError

if TYPE_CHECKING:
    from skrobustbo.space import Space
    from skrobustbo_benchmarks._methods import Method, Setup

#: Distribution -> the module whose presence shows that it is installed.
_MODULES = {
    "scikit-optimize": "skopt",
    "optuna": "optuna",
    "torch": "torch",
    "botorch": "botorch",
    "cmaes": "cmaes",
    "smac": "smac",
}


@dataclass(frozen=True)
class Peer:
    """An optimiser of another package.

    Parameters
    ----------
    adapter : str
        Module beside this one and the class in it, as in ``"_skopt:SkoptMethod"``.
    needs : tuple of str
        Distributions that it imports.
    settings : mapping, default={}
        What tells the peers of one adapter apart.
    takes_pools : bool, default=False
        Whether it can be held to a finite set of points that is no product.
    least_columns : int, default=1
        Columns of the encoded space that it needs.
    """

    adapter: str
    needs: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    takes_pools: bool = False
    least_columns: int = 1


def _botorch(acquisition: str) -> Peer:
    return Peer(
        "_botorch:BotorchMethod",
        ("torch", "botorch"),
        {"acquisition": acquisition},
        takes_pools=True,
    )


def _skopt(acq_func: str) -> Peer:
    return Peer("_skopt:SkoptMethod", ("scikit-optimize",), {"acq_func": acq_func})


PEERS: dict[str, Peer] = {
    "skopt": _skopt("gp_hedge"),
    "skopt-lcb": _skopt("LCB"),
    "optuna-tpe": Peer("_optuna:OptunaMethod", ("optuna",), {"sampler": "tpe"}),
    "optuna-gp": Peer("_optuna:OptunaMethod", ("optuna", "torch"), {"sampler": "gp"}),
    "botorch-logei": _botorch("logei"),
    "botorch-ucb": _botorch("ucb"),
    "cmaes": Peer("_cmaes:CmaesMethod", ("cmaes",), least_columns=2),
    "smac-rf": Peer("_smac:SmacMethod", ("smac",), {"facade": "rf"}),
    "smac-gp": Peer("_smac:SmacMethod", ("smac",), {"facade": "gp"}),
}


def make_peer(name: str, setup: Setup) -> Method:
    """Return a new peer for one run; CommandError if its package is not installed."""
    check_installed([name])
    peer = PEERS[name]
    module, _, cls = peer.adapter.partition(":")
    adapter = getattr(import_module(f"{__package__}.{module}"), cls)
    method: Method = adapter(name, setup, **peer.settings)
    return method


def check_installed(names: Iterable[str]) -> None:
    """Raise CommandError for the first peer whose packages are not installed."""
    for name in names:
        needs = PEERS[name].needs
        missing = [need for need in needs if find_spec(_MODULES[need]) is None]
        if missing:
            is_are = "is" if len(missing) == 1 else "are"
            raise CommandError(
                f"The peer {name!r} needs {' and '.join(missing)}, which {is_are} not "
                'installed: pip install "skrobustbo-benchmarks[peers]".'
            )


def distributions(names: Iterable[str]) -> list[str]:
    """Return the distributions that the peers among some methods' names import."""
    peers = [PEERS[name] for name in names if name in PEERS]
    return sorted({need for peer in peers for need in peer.needs})


def refusal(name: str, space: Space) -> str | None:
    """Return why a method cannot search a space; None if it can, as all policies."""
    peer = PEERS.get(name)
    if peer is None:
        return None
    if len(space.branches) > 1:
        return "peers take spaces of one branch only"
    if hasattr(space, "points") and not peer.takes_pools:
        return "it cannot be held to a finite pool of points"
    if space.n_columns < peer.least_columns:
        return "it needs more than one dimension"
    return None
