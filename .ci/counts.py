"""Print what the two runs of the tests came to: seconds of every step, counts, and what is skipped in the end, and why.

Usage: counts.py FOLDER, with the files `steps`, `plain.xml` and `real.xml`, as far as there are any.
"""

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

# What the reports call an end, and what it is called here; a test without any has passed.
ENDS = {"failure": "failed", "error": "failed", "skipped": "skipped"}


def outcomes(report: Path) -> dict[tuple[str, str], tuple[str, str]]:
    """Every test of a report with how it ended, and the reason if it was skipped."""
    found = {}
    for test in ElementTree.parse(report).iter("testcase") if report.exists() else ():
        ends = {child.tag: child.get("message", "") for child in test}
        tag = next((tag for tag in ENDS if tag in ends), None)
        found[test.get("classname"), test.get("name")] = (ENDS.get(tag, "passed"), ends.get(tag, ""))
    return found


def main(folder: Path) -> None:
    steps = folder / "steps"
    plain, real = outcomes(folder / "plain.xml"), outcomes(folder / "real.xml")
    lines = steps.read_text().splitlines() if steps.exists() else []
    for title, tests in (("README's test command", plain), ("the tests with their parts", real)):
        counts = Counter(end for end, _ in tests.values())
        lines.append(f"{title}: {', '.join(f'{count} {end}' for end, count in sorted(counts.items())) or 'no tests'}")
    reasons = Counter(reason for end, reason in (plain | real).values() if end == "skipped")
    lines.append(f"skipped in the end: {sum(reasons.values())}")
    lines += [f"  {count}: {reason}" for reason, count in reasons.most_common()]
    print("\n".join(lines))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
