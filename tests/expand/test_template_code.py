"""Compiled templates are kept as Python keeps bytecode: used again, never stale, and never in the way."""

from __future__ import annotations

import sys
from pathlib import Path

import jinja2
import pytest
from jinja2.sandbox import SandboxedEnvironment, unsafe

from specgen import expand
from specgen.template_code import TemplateCode

TEXT = "{% for n in numbers %}{{ n }};\n{% endfor %}"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for bytecode, which may be written."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "kept"))
    return tmp_path / "kept"


def files(folder: Path) -> list[Path]:
    """What is kept."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


@unsafe
def secret() -> str:
    """What a sandbox does not call."""
    return "told"


def rendered(text: str = TEXT, environment: type[jinja2.Environment] = jinja2.Environment, **settings: bool) -> str:
    """A template of an environment of its own, rendered."""
    made = environment(loader=jinja2.DictLoader({"t": text}), bytecode_cache=TemplateCode(), **settings)  # type: ignore[arg-type]
    return made.get_template("t").render(numbers=(1, 2), secret=secret)


def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on, compiling is a failure."""

    def compiled(*_: object, **__: object) -> None:
        raise AssertionError("a template was compiled")

    monkeypatch.setattr(jinja2.Environment, "_generate", compiled)


def test_what_is_kept_is_used(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rendered() == "1;\n2;\n"
    assert len(files(kept)) == 1
    no_compiler(monkeypatch)
    assert rendered() == "1;\n2;\n"
    with pytest.raises(AssertionError, match="a template was compiled"):
        rendered(TEXT + "!")


def test_another_text_or_setting_has_code_of_its_own(kept: Path) -> None:
    assert rendered() == "1;\n2;\n"
    assert rendered(TEXT.replace(";", ",")) == "1,\n2,\n"
    assert rendered() == "1;\n2;\n"
    assert rendered(trim_blocks=True) == "1;\n2;\n"
    assert rendered("{% if true %}\n{{ numbers }}{% endif %}", trim_blocks=True) == "(1, 2)"
    assert rendered("{% if true %}\n{{ numbers }}{% endif %}") == "\n(1, 2)"
    assert rendered("{{ secret() }}") == "told"
    with pytest.raises(jinja2.exceptions.SecurityError):
        rendered("{{ secret() }}", SandboxedEnvironment)


@pytest.mark.parametrize("contents", [b"", b"garbage", None])
def test_a_spoilt_file_is_made_anew(kept: Path, contents: bytes | None) -> None:
    rendered()
    (file,) = files(kept)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2] if contents is None else contents)
    assert rendered() == "1;\n2;\n"
    assert file.read_bytes() == whole


def test_nothing_is_kept_where_python_keeps_nothing(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert rendered() == "1;\n2;\n"
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    kept.write_text("a file in the place of the folder")
    assert rendered() == "1;\n2;\n"
    assert files(kept.parent) == [kept]


def test_the_templates_of_the_ir_are_kept(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment made anew reads them back."""
    expand._environment.__wrapped__().get_template("ops.mlir.j2")
    no_compiler(monkeypatch)
    made = expand._environment.__wrapped__().get_template("ops.mlir.j2")
    assert {"constant", "block"} <= set(dir(made.module))
