"""What a generated suite calls: one object for its folder, one call a test."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from specgen.checks import compare
from specgen.checks.cases import Check, Reference, Signature, word
from specgen.checks.harness import Memo, Outcome, Result, run_check
from specgen.checks.places import Place, Places, Settings
from specgen.checks.values import FormulaError
from specgen.devices.base import Device, DeviceError, RunawayError

__all__ = ["Check", "Reference", "Suite", "Where"]

FAILURES_SHOWN = 4
SERIAL = "serial"


@dataclass(frozen=True)
class Where:
    """One test: an entry point at a place."""

    place: Place
    entry: str

    def __str__(self) -> str:
        return f"{self.place}-{self.entry}" if self.place.problem is None else str(self.place)


class Suite:
    """The artifacts, devices and settings of one output folder.

    `constants` are the params and defines that formulas may name, `words` the choices that are no numbers.
    """

    def __init__(
        self,
        folder: Path,
        *,
        constants: Mapping[str, Any] | None = None,
        words: Sequence[str] = (),
        settings: Settings | None = None,
        open_device: Callable[[str], Device] | None = None,
    ) -> None:
        self.folder = folder
        self.manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        self.signature = Signature.of(self.manifest["args"], constants or {}, words, folder / "references")
        extra: dict[str, Any] = {}
        if settings is not None:
            extra["settings"] = settings
        if open_device is not None:
            extra["open_device"] = open_device
        self.places = Places(folder, self.manifest, **extra)
        self.entries: list[str] = [e["name"] for e in self.manifest["entries"]]
        self._memo = Memo()
        self._serial: tuple[object, list[Outcome]] | None = None
        self.last_outcomes: list[Outcome] = []

    def everywhere(self) -> list[Where]:
        """Every entry point at every place; a place that cannot run appears once, with its reason."""
        result = []
        for place in self.places.all():
            entries = self.entries if place.problem is None else [""]
            result += [Where(place, entry) for entry in entries]
        return result

    def check(self, check: Check, where: Where) -> None:
        """Run a check here: a pytest failure with the first failing cases, or a skip with its reason."""
        if where.place.problem is not None:
            pytest.skip(where.place.problem)
        if check.needs_oracle() and not self.places.settings.allow_oracles:
            pytest.skip(f"check {check.name} runs Python of the spec's folder: allow it with --allow-oracles")
        cases = self.cases(check, where)
        results, problem = self._tried(check, where, cases)
        if problem is not None:
            pytest.fail(problem, pytrace=False)
        for result in results:
            print(result.case, *(f"{name}: {text}" for name, text in result.tolerances.items()), sep="; ")
        failed = [r for r in results if not r.passed]
        if failed:
            pytest.fail(self._text(check, where, results, failed), pytrace=False)
        if isinstance(check.expect, Reference) and not self._tells(check):
            message = f"check {check.name}: zeros would pass every case: the reference or its tolerance proves nothing"
            pytest.fail(message, pytrace=False)

    def _tried(
        self, check: Check, where: Where, cases: Sequence[Mapping[str, Any]]
    ) -> tuple[Sequence[Result], str | None]:
        """The verdicts, or why there are none; skips where the device cannot run this."""
        try:
            return self.results(check, where, cases), None
        except FormulaError as error:
            return (), f"check {check.name}: {error.message}"
        except MemoryError as error:
            return (), f"check {check.name}: a case does not fit the memory of this machine: {error}"
        except DeviceError as error:
            if where.place.device == "interpreter" or isinstance(error, RunawayError):
                return (), f"{where}: {error}"
            pytest.skip(f"{where.place}: {error}")

    def _tells(self, check: Check) -> bool:
        """Whether a kernel that leaves zeros fails any of the cases that ran last (formulas are judged before)."""
        wanted = [self._memo.expectations(self.signature, check, outcome) for outcome in self.last_outcomes]
        expected = [e for case in wanted for e in case.values()]
        return any(compare.differences(e.contents, np.zeros_like(e.contents), e.tolerance) for e in expected)

    def cases(self, check: Check, where: Where) -> list[dict[str, Any]]:
        """The cases that concern this build and entry, thinned out for a slow device.

        Skips the test when none is left. A param that a case names belongs to another build unless it has the value
        of this one, a policy to the entries with its value.
        """
        fixed = {**self.manifest.get("params", {}), **self._policies(where)}
        given = {n: word(v) for n, v in check.given.items() if n in fixed}
        wanted = [{**case, **given} for case in check.cases()]
        cases = [c for c in wanted if all(fixed[n] == v for n, v in c.items() if n in fixed)]
        if not cases:
            pytest.skip(f"check {check.name} is for builds with other params or policies than {where.entry} has")
        limit = self.places.limit(where.place)
        if limit is None or limit >= len(cases):
            return cases
        stride = -(-len(cases) // limit)
        first = (self.entries.index(where.entry) + self.manifest["targets"].index(where.place.target)) % stride
        return cases[first::stride]

    def _policies(self, where: Where) -> dict[str, Any]:
        entry = {e["name"]: e for e in self.manifest["entries"]}[where.entry]
        own: dict[str, Any] = entry["targets"].get(where.place.target, {}).get("policies", entry["policies"])
        return own

    def results(self, check: Check, where: Where, cases: Sequence[Mapping[str, Any]]) -> list[Result]:
        """Verdicts on cases, compared with the expectation and with what `serial` leaves for the same arguments."""
        serial = None if where.entry == SERIAL else self._serial_outcomes(check, where.place, cases)
        results, outcomes = self._run(check, where, cases, serial)
        self.last_outcomes = outcomes
        if where.entry == SERIAL:
            self._serial = (self._key(check, where.place, cases), outcomes)
        return results

    def _run(
        self, check: Check, where: Where, cases: Sequence[Mapping[str, Any]], serial: Sequence[Outcome] | None
    ) -> tuple[list[Result], list[Outcome]]:
        return run_check(
            self.signature,
            check,
            self.places.kernel(where.place, where.entry),
            self.entries.index(where.entry),
            serial=serial,
            cases=cases,
            findings_count=self.places.settings.sanitize,
            memo=self._memo,
        )

    def _serial_outcomes(self, check: Check, place: Place, cases: Sequence[Mapping[str, Any]]) -> list[Outcome]:
        key = self._key(check, place, cases)
        if self._serial is None or self._serial[0] != key:
            self._serial = (key, self._run(check, Where(place, SERIAL), cases, None)[1])
        return self._serial[1]

    def _key(self, check: Check, place: Place, cases: Sequence[Mapping[str, Any]]) -> object:
        return (check.name, place, [dict(case) for case in cases])

    def _text(self, check: Check, where: Where, results: Sequence[Result], failed: Sequence[Result]) -> str:
        name = self.manifest["spec"]["name"]
        others = f" (the same for {', '.join(where.place.also)})" if where.place.also else ""
        head = (
            f"{name}: check {check.name}, entry {where.entry}, {where.place.device} for {where.place.target}{others}: "
            f"{len(failed)} of {len(results)} cases fail"
        )
        lines = [head, *(str(result) for result in failed[:FAILURES_SHOWN])]
        if len(failed) > FAILURES_SHOWN:
            lines.append(f"and {len(failed) - FAILURES_SHOWN} more cases")
        return "\n".join(lines)

    def close(self) -> None:
        """Close the devices."""
        self._serial = None
        self.places.close()
