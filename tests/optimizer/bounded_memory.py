"""Search random spaces with one policy within the promised memory.

OPENBLAS_NUM_THREADS=1 python tests/optimizer/bounded_memory.py POLICY N

Each thread of a BLAS library has its own buffers, so one thread is used.
"""

import resource
import sys
import warnings
from pathlib import Path

import numpy as np

from skrobustbo import Categorical, Integer, Optimizer, Real, Space
from skrobustbo.acquisition import SpaceExhausted

#: Memory of a search beyond that of its imports.
LIMIT = 512 * 2**20


def main(policy, n):
    warnings.simplefilter("ignore")
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    total = pages * resource.getpagesize() + LIMIT
    resource.setrlimit(resource.RLIMIT_AS, (total, total))
    for seed in range(n):
        rng = np.random.default_rng([seed, *policy.encode()])
        try:
            search(random_space(rng), policy, rng)
        except SpaceExhausted:
            continue


def random_space(rng):
    if rng.random() < 0.2:
        return random_pool(rng)
    branches = [random_dict(rng, i) for i in range(1 + (rng.random() < 0.15))]
    return Space(branches)


def random_pool(rng):
    n = int(rng.choice([50, 4096, 5000]))
    k = n // int(rng.integers(1, 4))
    return Space.from_points(
        [{"s": f"s{i % k}", "x": rng.random(), "n": i % 90} for i in range(n)]
    )


def random_dict(rng, i):
    n = int(rng.choice([1, 2, 3, 6]))
    return {"branch": [i], **{f"p{j}": random_dimension(rng) for j in range(n)}}


def random_dimension(rng):
    kind = rng.integers(6)
    if kind == 0:
        return Real(0.0, 1.0)
    if kind == 1:
        return Integer(1, int(rng.choice([3, 50, 100_000])))
    k = int(rng.choice([2, 5, 30, 100, 101, 1000, 10_000]))
    if kind == 2:
        return Categorical(range(min(k, 1000)), ordered=True)
    return Categorical([f"c{i}" for i in range(k)])


def search(space, policy, rng):
    n = int(rng.choice([5, 50, 100]))
    optimizer = Optimizer(
        space,
        policy,
        n_initial_points=4,
        constraints=mostly if rng.random() < 0.3 else None,
        random_state=int(rng.integers(1000)),
    )
    for params in space.sample(n, random_state=0):
        optimizer.tell(params, value(params))
    for _ in range(2):
        batch = [optimizer.ask(), optimizer.ask()]
        for params in batch:
            optimizer.tell(params, value(params))
    optimizer.recommend()


def value(params):
    return sum(map(number, params.values()))


def number(item):
    return sum(map(ord, item)) % 97 / 97 if isinstance(item, str) else float(item) % 7


def mostly(params):
    return value(params) % 1.0 < 0.6


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
