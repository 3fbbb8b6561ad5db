"""The record of one diagnostic code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Code:
    """One kind of finding. `wrong` and `right` are spec text; `hint` is used where a finding brings none."""

    code: str
    title: str
    meaning: str
    why: str
    wrong: str
    right: str
    hint: str | None = None

    def __post_init__(self) -> None:
        """Refuse records that say nothing (`ValueError`)."""
        for name in ("title", "meaning", "why", "wrong", "right"):
            if not getattr(self, name).strip():
                raise ValueError(f"{self.code}: {name} is empty")
        if not self.code.startswith("SG-") or self.code != self.code.strip():
            raise ValueError(f"{self.code!r} is no diagnostic code")
