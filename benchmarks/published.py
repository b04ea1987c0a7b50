"""What is known of the paper's R package, speedyBBT: constants, not measured by `make bench`."""

from __future__ import annotations

from benchmarks.markdown import number

ESS_PER_S = {
    "south-yorkshire": 21.0, "dar-es-salaam": 0.47, "synthetic-128": 29.0, "synthetic-1024": 0.48,
}  # fmt: skip
"""Smallest ESS a second over δ, α² and every λ, on one pinned 2.8 GHz core."""

PER_THOUSAND_S = {"south-yorkshire": 8.0, "dar-es-salaam": 390.0, "synthetic-1024": 107.0}
"""Seconds of 1,000 iterations; at N = 1,024 with an optimised BLAS, and 714 with the stock one."""

PUBLISHED_S = {"synthetic-64": 20.0, "synthetic-128": 40.0, "synthetic-1024": 1200.0}
"""About the seconds of 5,000 iterations that the paper gives, on a 2021 iMac with an M1."""

HEAD = (
    "speedyBBT: ESS/s",
    "speedyBBT: s per 1,000 iterations",
    "speedyBBT: s for 5,000, as published",
)

SOURCE = """\
Columns of speedyBBT, the R package of the paper, are constants; a cell is empty where no figure is
known. The first two come from one measurement of the published package when Tiewise was designed,
on one pinned 2.8 GHz core, smallest ESS over δ, α² and every λ; at N = 1,024 with an optimised BLAS
(714 s per 1,000 iterations with the stock one). The third is what the paper says (Seymour and
Hernandez, *Scalable Bayesian Inference for Bradley–Terry Models with Ties*, "Testing scalability":
around 20 to 40 s for 64 to 128 wards, 20 minutes for 1,024, on a 2021 iMac with an M1); it gives no
effective draws in numbers.
"""


def cells(data: str) -> list[str]:
    """The three constants of a data set."""
    return [number(known.get(data)) for known in (ESS_PER_S, PER_THOUSAND_S, PUBLISHED_S)]
