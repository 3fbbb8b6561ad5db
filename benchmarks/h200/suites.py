"""Every built suite on the Vulkan device: one record a folder, written as JSON."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from record import command

from specgen import devices
from specgen.testing import SuiteOptions, run_suite, suite_folders


def main() -> int:
    """Run the suites of a folder of built specs; 1 when a test fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="what specgen build wrote")
    parser.add_argument("-j", "--jobs", type=int, default=8)
    parser.add_argument("-o", "--output", type=Path, default=Path("h200_suites.json"))
    options = parser.parse_args()
    folders = suite_folders(options.folder)
    chosen = SuiteOptions(devices=("vulkan",), allow_oracles=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda folder: run_suite(folder, chosen), folders))
    rows = [
        {"name": f.name, "passed": r.passed, "failed": r.failed, "skipped": r.skipped, "reasons": dict(r.skip_reasons)}
        for f, r in zip(folders, results, strict=True)
    ]
    record = {
        "device": devices.open("vulkan").facts().name,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "command": command(),
        "passed": sum(r.passed for r in results),
        "failed": sum(r.failed for r in results),
        "skipped": sum(r.skipped for r in results),
        "suites": rows,
    }
    options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"{record['passed']} passed, {record['failed']} failed, {record['skipped']} skipped")
    for result in results:
        print(*result.output, *result.broken, sep="\n", end="")
    return 1 if record["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
