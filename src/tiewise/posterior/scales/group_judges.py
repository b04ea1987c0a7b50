"""Groups of judges that have a sharpness or a threshold of their own, on scales."""

from __future__ import annotations

import json

from xarray import DataTree

from tiewise.posterior.scales.scale import QualityDraws


def reference_group(tree: DataTree, kind: str = "sharpness") -> str | None:
    """The group with which the sharpness (or thresholds) of others are compared; None without."""
    terms = json.loads(tree.attrs["model"]).get("terms", ())
    references = [term.get("reference") for term in terms if term["kind"] == kind]
    return references[0] if references else None


def as_judged(tree: DataTree, draws: QualityDraws, group: str) -> QualityDraws:
    """Qualities and threshold as the judges of a group see them: what their answers follow."""
    posterior = tree["posterior"]
    if reference_group(tree) is not None:
        sharpness = posterior["sharpness"].sel(judge=group).to_numpy()
        draws = draws._replace(quality=sharpness[..., None] * draws.quality)
    if reference_group(tree, "thresholds") is not None and draws.tie.any():
        draws = draws._replace(tie=posterior["threshold"].sel(judge=group).to_numpy())
    return draws


def reference_sentences(tree: DataTree) -> list[str]:
    """Whose logits they are, where groups of judges differ in sharpness."""
    reference = reference_group(tree)
    if reference is None:
        return []
    return [
        f"Of every group they are on the scale of “{reference}”: how sharply other groups tell "
        "items apart is not in them."
    ]
