"""Known vulnerabilities of the installed packages, by pip-audit; and whether it looked at all.

    python tools/audit.py

pip-audit skips what its feed does not know and then exits with 0, also where there is no feed.
Here the end is 0 only if every package was looked up and none has a known vulnerability; 1 where
one has, 2 where some packages were skipped, 3 where nothing was audited.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, NamedTuple

OWN = "tiewise"
"""Not on the index, and audited by its tests."""
SHOWN = 10


class Verdict(NamedTuple):
    """How an audit ended: the exit code, and what is said about it."""

    code: int
    lines: list[str]


def verdict(report: dict[str, Any]) -> Verdict:
    """What a report of pip-audit, in JSON, amounts to."""
    packages = [one for one in report["dependencies"] if one["name"] != OWN]
    skipped = [one for one in packages if "skip_reason" in one]
    audited = [one for one in packages if "skip_reason" not in one]
    weak = [one for one in audited if one["vulns"]]
    lines = [
        f"{one['name']} {one['version']}: {', '.join(v['id'] for v in one['vulns'])}"
        for one in weak
    ]
    lines += [f"skipped: {one['name']} ({one['skip_reason']})" for one in skipped[:SHOWN]]
    if len(skipped) > SHOWN:
        lines.append(f"skipped: {len(skipped) - SHOWN} more")
    if not audited:
        return Verdict(3, [*lines, "NOT RUN: no package was looked up; is the feed reachable?"])
    counts = f"{len(audited)} of {len(packages)} packages were looked up"
    if weak:
        return Verdict(1, [*lines, f"{counts}; {len(weak)} with known vulnerabilities"])
    if skipped:
        return Verdict(2, [*lines, f"INCOMPLETE: {counts}; nothing is known of the others"])
    return Verdict(0, [f"{counts}; none has a known vulnerability"])


def main() -> None:
    """Audit this environment."""
    command = [sys.executable, "-m", "pip_audit", "--local", "--progress-spinner", "off"]
    done = subprocess.run(
        [*command, "--format", "json"], capture_output=True, text=True, check=False
    )
    try:
        end = verdict(json.loads(done.stdout))
    except (ValueError, KeyError):
        why = (done.stderr.strip().splitlines() or ["no output"])[-1]
        end = Verdict(3, [f"NOT RUN: pip-audit gave no report ({why})"])
    print("\n".join(end.lines))
    sys.exit(end.code)


if __name__ == "__main__":
    main()
