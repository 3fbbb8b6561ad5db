"""Names and what they stand for: one space of values, nothing shadowed, sibling blocks may reuse a name."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable

from specgen.binding.values import Entity, Name, Value


class Scope:
    """A stack of blocks; `used` collects the names that were looked up."""

    def __init__(self) -> None:
        self.blocks: list[dict[str, Name]] = [{}]
        self.used: set[str] = set()
        self.ahead = ""
        """The let that the innermost loop around lets run ahead (`through`); empty without one."""

    def enter(self) -> None:
        self.blocks.append({})

    def leave(self) -> None:
        self.blocks.pop()

    def find(self, text: str) -> Name | None:
        """The visible entry `text`, marked as used."""
        for block in reversed(self.blocks):
            if text in block:
                self.used.add(text)
                return block[text]
        return None

    def peek(self, text: str) -> Name | None:
        """The visible entry `text`; it does not count as used."""
        return next((block[text] for block in reversed(self.blocks) if text in block), None)

    def visible(self) -> Iterable[Name]:
        """Every visible entry, in order of declaration."""
        return (name for block in self.blocks for name in block.values())

    def declare(self, name: Name) -> Name | None:
        """Add an entry to the innermost block; the entry that it would shadow, if there is one."""
        for block in self.blocks:
            if name.text in block:
                return block[name.text]
        self.blocks[-1][name.text] = name
        return None

    def assign(self, text: str, value: Entity) -> None:
        """Give a visible variable its new value."""
        for block in reversed(self.blocks):
            if text in block:
                block[text] = dataclasses.replace(block[text], value=value)
                return

    def variables(self, texts: Iterable[str]) -> list[Name]:
        """The visible `var` entries among `texts`, in order of declaration."""
        wanted = set(texts)
        return [n for n in self.visible() if n.text in wanted and n.kind == "var" and isinstance(n.value, Value)]

    def nearest(self, text: str, kinds: Iterable[str] | None = None) -> Name | None:
        """The visible entry whose spelling is closest, None when none is close."""
        allowed = None if kinds is None else set(kinds)
        candidates = {n.text: n for n in self.visible() if allowed is None or n.kind in allowed}
        found = difflib.get_close_matches(text, candidates, n=1, cutoff=0.6)
        return candidates[found[0]] if found else None
