"""Type aliases for arrays."""

import numpy as np
from numpy.typing import NDArray

#: Numbers, such as encoded points or values.
Array = NDArray[np.float64]
#: Positions in another array, such as rows or columns.
Indices = NDArray[np.intp]
