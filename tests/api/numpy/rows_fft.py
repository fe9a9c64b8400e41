"""Rows of `gradtape.api.numpy.fft`."""

from __future__ import annotations

from .table import Row

NORMS = ("backward", "ortho", "forward")


def of(name, *shapes, keywords=None, **options):
    call = lambda xp, *args: getattr(xp.fft, name)(*args, **(keywords or {}))
    label = " ".join(
        [options.pop("label", ""), *(f"{key}={value}" for key, value in (keywords or {}).items())]
    ).strip()
    return [Row(f"fft.{name}", call, [shape], label=label, **options) for shape in shapes]


ONE_AXIS = ({}, {"n": 6, "axis": 0}, {"n": 3}, *({"norm": norm} for norm in NORMS))
SEVERAL = (
    {},
    {"s": (3, 5), "axes": (1, 0)},
    {"s": (-1, 3), "axes": (0, 2)},
    *({"norm": norm} for norm in NORMS),
)

ROWS = [
    *[
        row
        for name in ("fft", "ifft", "hfft", "irfft")
        for keywords in ONE_AXIS
        for row in of(name, (4, 5), keywords=keywords, domain="complex")
    ],
    *[
        row
        for name in ("fft", "ifft", "rfft", "ihfft", "hfft", "irfft")
        for keywords in ONE_AXIS
        for row in of(name, (5, 4), keywords=keywords)
    ],
    *[
        row
        for name in ("fftn", "ifftn", "irfftn", "fft2", "ifft2", "irfft2")
        for keywords in SEVERAL
        for row in of(name, (2, 3, 4), keywords=keywords, domain="complex")
    ],
    *[
        row
        for name in ("rfftn", "rfft2", "fftn")
        for keywords in SEVERAL
        for row in of(name, (2, 3, 4), keywords=keywords)
    ],
    *of("fft", (0, 3), (1,), domain="complex"),
    *of("rfft", (1,), (0, 3)),
    *of("irfft", (3,), keywords={"n": 1}, domain="complex"),
    *of("fft", (4,), dtype="int32", differentiable=False, label="int32"),
    *[
        row
        for name in ("fftshift", "ifftshift")
        for row in [
            *of(name, (5,), (2, 3)),
            *of(name, (4, 5), keywords={"axes": 1}),
            *of(name, (2, 3, 4), keywords={"axes": (0, 2)}, domain="complex"),
        ]
    ],
    *[
        Row(
            f"fft.{name}",
            lambda xp, d, name=name, n=n: getattr(xp.fft, name)(n, d),
            [()],
            domain="positive",
            label=str(n),
        )
        for name in ("fftfreq", "rfftfreq")
        for n in (4, 5)
    ],
]
