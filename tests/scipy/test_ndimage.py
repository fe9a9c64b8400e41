"""`gradtape.scipy.ndimage.map_coordinates` against SciPy and differences."""

import numpy as np
import pytest
import scipy.ndimage

from gradtape.scipy import ndimage
from gradtape.scipy.ndimage.sampling import MODES
from tests.scipy.checking import Row, check, values

IMAGE = values(5, 4)
AT = np.stack([values(2, 3, low=0.1, high=3.9), values(2, 3, seed=1, low=0.1, high=2.9)])
FAR = AT * 2.3 - 2.37


def row(image, at, order, mode):
    return Row(
        lambda image, at: ndimage.map_coordinates(image, at, order, mode, 0.3),
        lambda image, at: scipy.ndimage.map_coordinates(image, at, None, order, mode, 0.3),
        (image, at),
        fixed=() if order else (1,),
        rtol=1e-6 if order < 3 else 1e-5,
        # SciPy's coefficients of cubic splines are cut-off sums near the edges.
        agreement=1e-9 if order < 3 else 1e-5,
    )


ROWS = {
    f"{mode}, order {order}, {where}": row(IMAGE, at, order, mode)
    for mode in MODES
    for order in (0, 1, 3)
    for where, at in {"inside": AT, "outside": FAR}.items()
}
ROWS["one axis"] = row(values(6), values(1, 4, low=0, high=5), 3, "mirror")
ROWS["one pixel wide"] = row(values(1, 4), values(2, 4, low=-1, high=2), 3, "reflect")
ROWS["without filter"] = Row(
    lambda image: ndimage.map_coordinates(image, AT, prefilter=False),
    lambda image: scipy.ndimage.map_coordinates(image, AT, prefilter=False),
    (IMAGE,),
)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ROWS)
def test_map_coordinates(name):
    check(ROWS[name])


def test_dtypes_and_no_places():
    found = ndimage.map_coordinates(IMAGE.astype(np.float32), AT.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, scipy.ndimage.map_coordinates(IMAGE, AT), rtol=1e-4)
    assert ndimage.map_coordinates(IMAGE, np.zeros((2, 0, 3))).shape == (0, 3)


@pytest.mark.parametrize(
    ("call", "error", "complaint"),
    [
        (lambda: ndimage.map_coordinates(IMAGE, AT, order=2), NotImplementedError, "0, 1 or 3"),
        (lambda: ndimage.map_coordinates(IMAGE, AT, mode="wrap"), NotImplementedError, "one of"),
        (lambda: ndimage.map_coordinates(IMAGE, AT[:1]), ValueError, "2 numbers in the first axis"),
        (lambda: ndimage.map_coordinates(IMAGE * 1j, AT), TypeError, "input is complex"),
    ],
)
def test_bad_input(call, error, complaint):
    with pytest.raises(error, match=complaint):
        call()
