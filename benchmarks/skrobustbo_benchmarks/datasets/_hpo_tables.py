"""The grids and checksums of the hyperparameter tables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """Tables over the same grid, whose levels are in C order of the rows."""

    name: str
    metric: str
    maximize: bool
    levels: dict[str, tuple[float | int | str, ...]]
    what: str
    source: str
    #: Bytes of the published file of each table.
    size: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of levels of each hyperparameter."""
        return tuple(len(values) for values in self.levels.values())


FAMILIES = {
    "hpobench": Family(
        name="hpobench",
        metric="val_acc",
        maximize=True,
        levels={
            "alpha": (
                1e-8,
                7.742637e-8,
                5.994842e-7,
                4.641589e-6,
                3.5938137e-5,
                2.7825593e-4,
                2.1544348e-3,
                1.6681006e-2,
                1.2915497e-1,
                1.0,
            ),
            "batch_size": (4, 6, 10, 16, 25, 40, 64, 101, 161, 256),
            "depth": (1, 2, 3),
            "learning_rate_init": (
                1e-5,
                3.5938137e-5,
                1.2915497e-4,
                4.641589e-4,
                1.6681006e-3,
                5.9948424e-3,
                2.1544347e-2,
                7.742637e-2,
                2.7825594e-1,
                1.0,
            ),
            "width": (16, 25, 40, 64, 101, 161, 256, 406, 645, 1024),
        },
        what="Validation accuracy of a multilayer perceptron for classification",
        source="Eggensperger et al., HPOBench, NeurIPS\nDatasets and Benchmarks 2021.",
        size=6_480_998,
    ),
    "hpolib": Family(
        name="hpolib",
        metric="val_loss",
        maximize=False,
        levels={
            "activation_fn_1": ("relu", "tanh"),
            "activation_fn_2": ("relu", "tanh"),
            "batch_size": (8, 16, 32, 64),
            "dropout_1": (0.0, 0.3, 0.6),
            "dropout_2": (0.0, 0.3, 0.6),
            "init_lr": (5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1),
            "lr_schedule": ("cosine", "const"),
            "n_units_1": (16, 32, 64, 128, 256, 512),
            "n_units_2": (16, 32, 64, 128, 256, 512),
        },
        what="Validation loss of a network of two layers for regression",
        source="Klein and Hutter, Tabular benchmarks for\njoint architecture and "
        "hyperparameter optimization, 2019.",
        size=8_834_913,
    ),
}

#: SHA-256 of the published file, and of the results in single precision.
DIGESTS = {
    "hpobench_australian": (
        "9e218898ba8a937f405a25c7b333342b5152bd14ad173218aeae8f2334de1b91",
        "a9289f0af72ae3866a758ed37ea1af0bdc0823ce4140fea6dabfbe153649d209",
    ),
    "hpobench_blood_transfusion": (
        "47596acae26fca5803ddb049b02a8dec0c9d999f5618a67f3fe3bc0c24dfad4c",
        "163d320b9be03862e71c7e2a62b86a2340285eba14d02f48c95a17d88a5612de",
    ),
    "hpobench_car": (
        "6c348ed056869f8dcc991b498f758e043435eb9ece5b9872940a365fc7940819",
        "aed34a6c6f3b663e23dea7beb42fddbb565278f170bb1d190d31917b60dc8981",
    ),
    "hpobench_credit_g": (
        "97cf95dbead6c11004469e3bc3ee7396ce29b088128b6d3a031d4a9d0318494d",
        "ca111d283335fae454d51305e7570e37aa1ea23b533797fa78db5f46d0ece8b4",
    ),
    "hpobench_kc1": (
        "c682823ca58c308f2c0ac64430dda6941bbccc6a55c6abccdacbd62a811bb3d9",
        "13495d1af308ec944f93f91b0140da49fcb5ab172f9bac8171769ad188248a3e",
    ),
    "hpobench_phoneme": (
        "2e8b9cb0a2726968dd185a4824f14c288c5625a281438550b0d4a46ba2549302",
        "697e657c05919dd8b7c46191fc232f06217d5528215a51c319595ef9054d79a1",
    ),
    "hpobench_segment": (
        "a6db9d0fbf921a1cda604c376282465f683c8c7a6467eff12aa73260f62a83b5",
        "d823737ba0b80c1861b0862497dee96f08d1a7f5984d404b048ca069ae032a91",
    ),
    "hpobench_vehicle": (
        "12cf1793f7860457bf3da149aa3a5b69c9c8e2872181f44162e9858590f35992",
        "47bfa7ea55f5aa5df6dd5b2d8e3d4a7c582f1b626e6e085bdf06bd42ddec1142",
    ),
    "hpolib_naval_propulsion": (
        "4d10de47056702a57cf8c0cef19088c1ce830a8eba9175ea5983aa5785256fe4",
        "59ee986894175bebe23aad67bd60f42bd61bb9f487f405c4ae23a5d8f37bf8b0",
    ),
    "hpolib_parkinsons_telemonitoring": (
        "7299fbec18a74f27f3af5355b633cf9854f34ca0569a4fd85fa13d470e722b9d",
        "b920fb19ab75af8b1be6af57b06ce5f42c99914616771e5feb87a1dbdac76704",
    ),
    "hpolib_protein_structure": (
        "583e6b45d18d1cd38dc2d823f3567724d92e451694fe82c5c89f80790a5ec620",
        "ebd4accb7cd83c1059273f178179b7f8af6cbc52ef638f7f35760ec3e51d6d79",
    ),
    "hpolib_slice_localization": (
        "9b454266def7d64d38138def520c39017513e748c0ba73be51e9925000332ff1",
        "9effb114d37aacc4526122fd1f3aaf10b484041ab281e4fc7c9615cb33302f5e",
    ),
}
