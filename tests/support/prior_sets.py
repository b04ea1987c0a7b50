"""The paper's priors of α² and δ as keywords of `BradleyTerry`; reference posteriors have them."""

from __future__ import annotations

from typing import Any

from tiewise.model.prior_sets import PAPER_TIE, PAPER_VARIANCE

PAPER: dict[str, Any] = {"variance": PAPER_VARIANCE, "tie": PAPER_TIE}
