"""What searches found on the tunings; see `skrobustbo.problems._tunings`."""

from __future__ import annotations

#: Largest value known of each tuning, and where, with scikit-learn 1.9.
BEST_KNOWN: dict[str, tuple[float, dict[str, float | int | str]]] = {
    "enet-diabetes": (0.490879, {"alpha": 0.108957, "l1_ratio": 0.01}),
    "hgb-diabetes": (
        0.467624,
        {
            "learning_rate": 0.149058,
            "max_leaf_nodes": 3,
            "min_samples_leaf": 11,
            "l2_regularization": 0.0596345,
        },
    ),
    "knn-cancer": (0.970129, {"n_neighbors": 6, "p": 1.59941, "weights": "distance"}),
    "krr-diabetes": (0.509659, {"alpha": 0.497296, "gamma": 0.0178419}),
    "mlp-wine": (
        -0.028314,
        {
            "n_hidden": 18,
            "alpha": 5.17151e-05,
            "learning_rate_init": 0.0162954,
            "batch_size": 25,
            "activation": "tanh",
        },
    ),
    "pipeline-cancer": (
        -0.069515,
        {"scaler": "minmax", "n_components": 22, "C": 104.118},
    ),
    "rf-cancer": (
        -0.124867,
        {
            "max_depth": 4,
            "max_features": 0.527937,
            "min_samples_leaf": 3,
            "criterion": "entropy",
        },
    ),
    "sgd-digits": (
        0.956608,
        {"alpha": 0.000360528, "l1_ratio": 1, "eta0": 0.908535, "power_t": 0.113858},
    ),
    "svm-digits": (0.985000, {"C": 6.08569, "gamma": 0.0576724}),
    "svr-diabetes": (0.517291, {"C": 86.9063, "gamma": 0.0229295, "epsilon": 23.1878}),
}
