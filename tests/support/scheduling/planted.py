"""A pytest plug-in that plants one fault in a module of the scheduler: `-p scheduling.planted`.

The environment names the module, the text to replace and its replacement; the module's source is changed as it is
imported, so that no file is touched.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType

MODULE, OLD, NEW = "PLANTED_MODULE", "PLANTED_OLD", "PLANTED_NEW"


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> object:  # type: ignore[override]
        source = self.get_source(fullname)
        old = os.environ[OLD]
        assert source is not None
        assert source.count(old) == 1, f"{old!r} is not there once"
        return compile(source.replace(old, os.environ[NEW]), self.path, "exec")


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != os.environ[MODULE]:
            return None
        found = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        assert found is not None
        assert found.origin is not None
        return importlib.util.spec_from_file_location(fullname, found.origin, loader=_Loader(fullname, found.origin))


if MODULE in os.environ:
    sys.meta_path.insert(0, _Finder())
