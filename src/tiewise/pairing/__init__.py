"""Which pair a judge sees next, by one of several policies."""

POLICIES = {
    "uniform": "tiewise.pairing.uniform:POLICY",
    "balanced": "tiewise.pairing.balanced:POLICY",
    "informative": "tiewise.pairing.informative:POLICY",
    "reference": "tiewise.pairing.reference:POLICY",
}
"""Every pairing policy by name."""
