"""Integrations: policies for Optuna and Ray Tune, and searches in MLflow.

Import each module by name. It needs its package only when you use its contents.
"""
