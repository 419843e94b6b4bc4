"""Integrations: policies for Optuna and Ray Tune, searches in MLflow.

Each module must be imported by name, and needs its package when its class is
instantiated.
"""
