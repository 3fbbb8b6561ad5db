"""From files to the typed model, with a place for every key and value."""

from __future__ import annotations

from specgen.loading.load import Document, Loaded, load_document, load_spec

__all__ = ["Document", "Loaded", "load_document", "load_spec"]
