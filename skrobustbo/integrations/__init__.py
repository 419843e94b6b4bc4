"""The package in others: policies for Optuna and Ray Tune, searches in MLflow.

Each module needs the package that it is named after when its class is made, and is
imported by its own name.
"""
