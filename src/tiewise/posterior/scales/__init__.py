"""Scales on which quality is reported, and leaderboards."""

SCALES = {
    "logit": "tiewise.posterior.scales.linear:LOGIT",
    "elo": "tiewise.posterior.scales.linear:ELO",
    "0-100": "tiewise.posterior.scales.percentage:PERCENTAGE",
    "anchored": "tiewise.posterior.scales.anchored:ANCHORED",
}
"""Every scale by its name: `module:name` of a `Scale`."""
DEFAULT_SCALE = "logit"
