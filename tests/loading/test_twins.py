"""The YAML and the TOML form of a spec give equal typed specs."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path
from typing import Any

import loading_toml_writer as toml_writer
import pytest
from loading_helpers import DATA, REPOSITORY

from specgen.diagnostics import Source, Span, has_errors
from specgen.expressions import Expr
from specgen.loading import load_document, load_spec
from specgen.loading.build_model import build_model
from specgen.model import Spec
from specgen.schema.tree import Mapping, plain

SPECS = sorted([*DATA.glob("*.spec.yaml"), *(REPOSITORY / "specs").glob("**/*.spec.yaml")])
TOML = sorted([*(DATA / "toml").glob("*.spec.toml"), *(REPOSITORY / "specs").glob("**/*.spec.toml")])


def placeless(part: Any) -> Any:
    """A record of the model without places: what must be the same whatever the form of the document."""
    if isinstance(part, Expr):
        return part.text, ast.dump(part.tree)
    if isinstance(part, tuple):
        return tuple(placeless(item) for item in part)
    if isinstance(part, dict):
        return {key: placeless(value) for key, value in part.items()}
    if isinstance(part, (Span, Source)):
        return None
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        fields = {f.name: placeless(getattr(part, f.name)) for f in dataclasses.fields(part)}
        return type(part).__name__, fields
    return part


def model(path: Path, folder: Path | None = None) -> Spec:
    """The model of a file, also of one with constructs that are not supported yet; `folder` holds its references."""
    document = load_document(path)
    assert isinstance(document.tree, Mapping)
    kind = plain(document.tree)["kind"]
    spec, findings = build_model(document.tree, kind, document.source, folder or path.parent)
    assert not has_errors([*document.diagnostics, *findings])
    return spec


@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.name)
def test_yaml_and_its_toml_twin(path: Path, tmp_path: Path) -> None:
    document = load_document(path)
    assert document.tree is not None
    data = plain(document.tree)
    twin = tmp_path / path.name.replace(".yaml", ".toml")
    twin.write_text(toml_writer.document(data), encoding="utf-8")
    other = load_document(twin)
    assert other.tree is not None
    assert plain(other.tree) == data
    if data["kind"] != "suite":
        assert placeless(model(twin, path.parent)) == placeless(model(path))


@pytest.mark.parametrize("path", TOML, ids=lambda p: p.name)
def test_hand_written_toml(path: Path) -> None:
    """The TOML files are written by hand; those with a YAML form say the same."""
    twin = DATA / path.name.replace(".toml", ".yaml")
    if twin.exists() and path.parent.name == "toml":
        assert placeless(model(path, DATA)) == placeless(model(twin))
    else:
        assert load_spec(path).spec is not None


def test_there_are_specs_to_compare() -> None:
    assert len(SPECS) >= 16
    assert len(TOML) >= 2


def test_a_difference_is_seen(tmp_path: Path) -> None:
    path = DATA / "sum_rows.spec.yaml"
    other = tmp_path / path.name
    other.write_text(path.read_text(encoding="utf-8").replace("default: 3", "default: 2"), encoding="utf-8")
    assert placeless(model(path)) != placeless(model(other, DATA))
