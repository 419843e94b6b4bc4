"""Data sets of the examples and benchmarks, found on disk or downloaded and checked."""

from skrobustbo_benchmarks.datasets._hpo import available_hpo_tables, fetch_hpo_table
from skrobustbo_benchmarks.datasets._lcbench import (
    available_lcbench_tasks,
    fetch_lcbench,
)
from skrobustbo_benchmarks.datasets._measured import (
    fetch_materials,
    fetch_sensor_temperature,
    fetch_stocks,
)
from skrobustbo_benchmarks.datasets._mnist import fetch_mnist

__all__ = [
    "available_hpo_tables",
    "available_lcbench_tasks",
    "fetch_hpo_table",
    "fetch_lcbench",
    "fetch_materials",
    "fetch_mnist",
    "fetch_sensor_temperature",
    "fetch_stocks",
]
