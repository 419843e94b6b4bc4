"""The package's policies in other packages: Optuna and Ray Tune.

Each module needs the package that it is named after when its class is made, and is
imported by its own name.
"""
