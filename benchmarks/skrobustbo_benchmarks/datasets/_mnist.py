"""MNIST, the 70,000 handwritten digits of LeCun, Cortes and Burges."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from skrobustbo_benchmarks.datasets._fetch import Home, RemoteFile, Source

#: Address of the folder that holds the four files, with its last slash.
BASE_URL = "https://ossci-datasets.s3.amazonaws.com/mnist/"

#: Bytes and SHA-256 of the uncompressed files.
CONTENTS = {
    "train-images-idx3-ubyte": (
        47_040_016,
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    ),
    "train-labels-idx1-ubyte": (
        60_008,
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    ),
    "t10k-images-idx3-ubyte": (
        7_840_016,
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    ),
    "t10k-labels-idx1-ubyte": (
        10_008,
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
}

_PREFIXES = {"train": ("train",), "test": ("t10k",), "all": ("train", "t10k")}

_DESCR = """\
MNIST handwritten digits
------------------------

70,000 grey-scale images of the digits 0 to 9, 28 x 28 pixels each, by different writers
in the training and the test set.

:Number of instances: 60,000 for training, 10,000 for testing
:Number of attributes: 784 pixels, row by row; 0 is the background, 255 full ink
:Missing values: none
:Creators: Yann LeCun, Corinna Cortes, Christopher J. C. Burges

LeCun, Bottou, Bengio, Haffner, "Gradient-based learning applied to document
recognition", Proceedings of the IEEE 86 (1998), 2278-2324.
"""


def fetch_mnist(
    subset: str = "train",
    *,
    data_home: Home = None,
    download: bool = True,
    return_X_y: bool = False,
    timeout: float = 30.0,
) -> Any:
    """Load the MNIST handwritten digits (classification).

    The function looks for the files in `data_home`, then in the folder named by the
    environment variable ``SKROBUSTBO_DATA``, then in ``~/skrobustbo_data``, each time
    also in its sub-folder ``mnist``. If they are in none of them, they are downloaded
    (11 MB) into the sub-folder ``mnist`` of the first of these that is given. The
    content is checked by SHA-256 at each call, and nothing of it is executed.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The 60,000 training images, the 10,000 test images, or both in this order.
    data_home : path-like or None, default=None
        Folder to search first and to download to.
    download : bool, default=True
        Whether to download files that are not on disk.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    timeout : float, default=30.0
        Seconds to wait for a server that does not answer; positive.

    Returns
    -------
    mnist : sklearn.utils.Bunch
        With the attributes

        data : ndarray of shape (n_samples, 784), uint8
            Pixels, 0 (background) to 255; divide by 255 or scale in a pipeline.
        target : ndarray of shape (n_samples,), int64
            The digits 0 to 9.
        images : ndarray of shape (n_samples, 28, 28), uint8
            The same pixels as `data`, in the same memory.
        feature_names : list of 784 str
            ``"pixel_0_0"`` to ``"pixel_27_27"``, row and column.
        target_names : ndarray of shape (10,), int64
            The digits.
        DESCR : str
            Description of the data set.
    (data, target) : tuple of ndarray, if `return_X_y`
        The two arrays described above.

    Raises
    ------
    FileNotFoundError
        If the files are not on disk and cannot be downloaded.
    OSError
        If a file on disk is damaged; the message names it.
    ValueError
        If `subset` is none of the three names or `timeout` is not positive.

    Examples
    --------
    >>> from skrobustbo_benchmarks.datasets import fetch_mnist
    >>> X, y = fetch_mnist("test", return_X_y=True)  # doctest: +SKIP
    >>> X.shape, y[:5].tolist()  # doctest: +SKIP
    ((10000, 784), [7, 2, 1, 0, 4])
    """
    if subset not in _PREFIXES:
        raise ValueError(
            "The 'subset' parameter of fetch_mnist must be 'train', 'test' or 'all'. "
            f"Got {subset!r} instead."
        )
    source = Source("mnist", data_home, download, timeout, "fetch_mnist")

    def load(kind: str, header: int) -> Any:
        names = [f"{prefix}-{kind}-ubyte" for prefix in _PREFIXES[subset]]
        files = [RemoteFile(n, f"{BASE_URL}{n}.gz", *CONTENTS[n]) for n in names]
        # Of an IDX file whose checksum is right only the header's length matters.
        parts = [np.frombuffer(source.content(f), np.uint8, -1, header) for f in files]
        return np.concatenate(parts)

    # Labels first: without a connection the small file fails as well as the large one.
    target = load("labels-idx1", 8).astype(np.int64)
    data = load("images-idx3", 16).reshape(-1, 784)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        images=data.reshape(-1, 28, 28),
        feature_names=[f"pixel_{i}_{j}" for i in range(28) for j in range(28)],
        target_names=np.arange(10),
        DESCR=_DESCR,
    )
