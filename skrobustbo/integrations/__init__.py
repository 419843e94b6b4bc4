"""Integrations with Optuna, Ray Tune and MLflow.

Each module must be imported explicitly. The other package is only required when you use
the classes and functions of the module.
"""
