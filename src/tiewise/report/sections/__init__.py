"""The sections of the report: a module for each."""

SECTIONS = (
    "tiewise.report.sections.answer:answer_section",
    "tiewise.report.sections.area_map:map_section",
    "tiewise.report.sections.ranked_list:list_section",
    "tiewise.report.sections.certainty:certainty_section",
    "tiewise.report.sections.robustness:robustness_section",
    "tiewise.report.sections.model_checks:model_check_section",
    "tiewise.report.anchors.section:anchor_section",
    "tiewise.report.anchors.link_section:link_section",
    "tiewise.report.sections.ties:tie_section",
    "tiewise.report.sections.covariates:covariate_section",
    "tiewise.report.sections.order:order_section",
    "tiewise.report.sections.groups:group_section",
    "tiewise.report.sections.judges:judge_section",
    "tiewise.report.sections.coverage:coverage_section",
    "tiewise.report.sections.diagnostics:diagnostics_section",
    "tiewise.report.sections.methods:methods_section",
    "tiewise.report.sections.limits:limits_section",
)
"""Every section of the report in its order: a function of results, None where it does not apply."""
