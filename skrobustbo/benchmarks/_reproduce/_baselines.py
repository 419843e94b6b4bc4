"""Baselines of single experiments, which the package does not offer as policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skrobustbo.acquisition import EI, UCB, WeightedSum
from skrobustbo.kernels import with_length_scale
from skrobustbo.policies import MAPGPUCB, MCMCGPUCB, MLEGPUCB, RGPUCB
from skrobustbo.surrogate import Candidate, FlatPrior, GammaPrior, Models, Posterior

_BOUNDS = (0.005, 20.0)
_STARTS = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
#: A-GP-UCB's growth in the paper on hyperparameter elimination: g(t) = t^0.9.
_GROWTH = 0.9
#: Deviation that the modified method of Wang and de Freitas asks of its queries, and
#: the ratio of the scalings that it tries.
_KAPPA, _FINER = 0.1, 1.1


def _metadata(
    models: Models, posterior: Posterior, x: Any, label: str
) -> dict[str, Any]:
    mu, sigma = posterior.predict(x[None, :])
    mean = float(mu[0]) * models.scale + models.shift
    return {"label": label, "mean": mean, "std": float(sigma[0]) * models.scale}


def _scaled(kernel: Any, theta: float) -> Candidate:
    return Candidate(with_length_scale(kernel, theta), label=f"theta={theta:.3g}")


class RoundedGrowth(MLEGPUCB):
    """A-GP-UCB (18) on a list of length scales (Ziomek et al., *Beyond lengthscales*).

    The likeliest candidate's length scale over max(g(t), 1), g(t) = t^0.9, rounded to
    the nearest candidate. Candidates have kernels of one length scale each.
    """

    def suggest(
        self, state: Any, models: Models, argmax: Any, pending: Sequence[Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Return the maximiser of the rounded model's bound."""
        posteriors = [models[candidate] for candidate in self.candidates or ()]
        thetas = np.array([p.candidate.kernel.length_scale for p in posteriors])
        likeliest = int(np.argmax([p.log_marginal_likelihood for p in posteriors]))
        t = state.t + len(pending) + 1
        grown = thetas[likeliest] / max((t - 1) ** _GROWTH, 1.0)
        chosen = int(np.argmin(np.abs(thetas - grown)))
        posterior = posteriors[chosen]
        beta = self.beta_of(posterior, state.n_parameters, t)
        x, _ = argmax(UCB(posterior, beta))
        label = f"theta={thetas[chosen]:g}"
        return x, {**_metadata(models, posterior, x, label), "chosen": chosen}


class SliceEI(MCMCGPUCB):
    """Expected improvement averaged over slice samples of the length scale.

    The standard that Wang and de Freitas (2014) compare with in Figure 1; each draw
    has its own largest posterior mean to improve on.
    """

    def suggest(
        self, state: Any, models: Models, argmax: Any, pending: Sequence[Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Draw length scales, then maximise the mean expected improvement."""
        before = pending[-1]["thetas"] if pending else state.thetas
        thetas = models.sample(
            self.base_kernel(),
            FlatPrior() if self.prior is None else self.prior,
            _BOUNDS,
            [np.asarray(before[-1])] if before else _STARTS,
            self.n_samples,
            burn_in=0 if before else self.burn_in,
            thin=self.thin,
        )
        kernel = self.base_kernel()
        posteriors = [models.at(_scaled(kernel, float(t[0]))) for t in thetas]
        bounds = [
            EI(posterior, argmax(UCB(posterior, 0.0), inner=True)[1])
            for posterior in posteriors
        ]
        weights = np.full(len(bounds), 1 / len(bounds))
        x, _ = argmax(WeightedSum(bounds, weights))
        label = f"theta={np.exp(np.log(thetas).mean()):.3g}"
        metadata = _metadata(models, posteriors[-1], x, label)
        return x, {**metadata, "thetas": thetas.tolist()}


class RestlessMAP(MAPGPUCB):
    """The method of Wang and de Freitas as Berkenkamp et al. (2019) modify it.

    The MAP length scale over the smallest s >= 1 (of a list in steps of 10%) under
    which the deviation at the next query is at least kappa = 0.1.
    """

    anisotropic = False

    def suggest(
        self, state: Any, models: Models, argmax: Any, pending: Sequence[Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Return the maximiser of the bound under the scaled length scale."""
        kernel, warm = self.base_kernel(), state.theta
        starts: list[Any] = [*([np.asarray(warm)] if warm else []), *_STARTS]
        prior = GammaPrior(3.0, 6.0) if self.prior is None else self.prior
        estimate = models.fit(kernel, prior, _BOUNDS, starts)
        theta, t = float(estimate[0]), state.t + len(pending) + 1
        while True:
            posterior = models.at(_scaled(kernel, theta))
            beta = self.beta_of(posterior, state.n_parameters, t)
            x, _ = argmax(UCB(posterior, beta))
            known = posterior.predict(x[None, :])[1][0] < _KAPPA
            if not known or theta < _BOUNDS[0]:
                break
            theta /= _FINER
        metadata = _metadata(models, posterior, x, f"theta={theta:.3g}")
        return x, {**metadata, "theta": estimate.tolist()}


class FromScratch(RGPUCB):
    """R-GP-UCB whose blocks begin without data, with a random query.

    The package's keeps the value of the step at which it resets, as the pseudo-code of
    the event-triggered paper does for its own algorithm.
    """

    def learn(self, state: Any, metadata: dict[str, Any], history: Any) -> bool:
        """Count the query; forget its value, too, when the block ends."""
        reset: bool = super().learn(state, metadata, history)
        if reset:
            state.first = len(history.values)
        return reset

    def suggest(
        self, state: Any, models: Models, argmax: Any, pending: Sequence[Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Return a random point where there are no data, else the best bound's."""
        if state.first >= models.n:
            return argmax.random(), {"label": "random"}
        return super().suggest(state, models, argmax, pending)
