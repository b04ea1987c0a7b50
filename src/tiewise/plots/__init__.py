"""Maps and plots of a posterior, each with a description in words."""

PLOTS = {
    "map": "tiewise.plots.maps:QUALITY_MAP",
    "map-uncertainty": "tiewise.plots.maps:UNCERTAINTY_MAP",
    "map-faded": "tiewise.plots.maps:FADED_MAP",
    "map-top": "tiewise.plots.maps:TOP_MAP",
    "ranking": "tiewise.plots.ranking:RANKING",
    "tie-curve": "tiewise.plots.tie_curve:TIE_CURVE",
    "parameters": "tiewise.plots.parameters:PARAMETERS",
    "prior-to-posterior": "tiewise.plots.learning:LEARNING",
    "checks": "tiewise.plots.checks:CHECKS",
    "coefficients": "tiewise.plots.terms:COEFFICIENTS",
    "difference": "tiewise.plots.group_maps:DIFFERENCE",
    "difference-real": "tiewise.plots.group_maps:DIFFERENCE_CERTAINTY",
    "judge-terms": "tiewise.plots.terms:JUDGE_TERMS",
    "traces": "tiewise.plots.chains:TRACES",
    "ranks": "tiewise.plots.chains:RANKS",
    "autocorrelation": "tiewise.plots.chains:AUTOCORRELATION",
}
"""Every plot by the name of its files, in the order of the page."""

FILE_KINDS = ("svg", "png")
PLOT_FILES = tuple(f"{name}.{kind}" for name in PLOTS for kind in FILE_KINDS)
"""Names of the files in the folder `pictures` of a results folder."""
