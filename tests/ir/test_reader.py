"""The quick reader against xDSL's own parser: the same tokens, the same modules, the same errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from specgen import targets
from specgen.binding import bind
from specgen.expand import expand
from specgen.ir import lines, print_module, reader
from specgen.ir.dialect import context
from specgen.loading import load_spec

ROOT = Path(__file__).resolve().parents[2]
SPECS = sorted((ROOT / "specs").rglob("*.spec.yaml"))
MLIR_FILES = sorted((ROOT / "tests" / "filecheck").glob("*.mlir"))

ADD = '%c = arith.addf %a, %b : f32 loc("k.spec.yaml":3:4)\n'
CAST = '{to} = "builtin.unrealized_conversion_cast"(%b) : (f32) -> (f32, f32) loc("k.spec.yaml":3:4)\n'
ODD_TOKENS = """%0 %a.b-c @name @"quoted name" #gpu<dim x> !alias ^bb0 -> - -1 0x1F 0xi32 16x128xf32 ?x4 1.5 1. 2.5e-3
1e3
"plain" "" "a\\"b" "\\E2\\82" "caf\u00e9" ... {-# #-} { } [ ] ( ) <= == :: , + * / | // a comment 12
  end // 30"""


def tokens(lexer: MLIRLexer) -> list[tuple[MLIRTokenKind, str, int, int]]:
    """Every token with its place, up to the end of the input."""
    found = []
    while True:
        token = lexer.lex()
        found.append((token.kind, token.text, token.span.start, token.span.end))
        if token.kind is MLIRTokenKind.EOF:
            return found


def spec_text(path: Path) -> str | None:
    """The IR text of a kernel spec for one target."""
    spec = load_spec(path, path.parent).spec
    if spec is None or spec.kind != "kernel":
        return None
    bound = bind(spec, targets.load("gfx1151"), {})
    return expand(bound.instance) if bound.instance is not None else None


def theirs(text: str) -> ModuleOp:
    """What xDSL's parser makes of a text."""
    return Parser(context(), text, "t.mlir").parse_module()


def ours(text: str) -> ModuleOp:
    """What the quick reader makes of it."""
    return reader.Reader(text, "t.mlir").parse_module()


@pytest.mark.parametrize("text", [ODD_TOKENS, *(p.read_text(encoding="utf-8") for p in MLIR_FILES)])
def test_the_same_tokens(text: str) -> None:
    """Kinds, texts and places agree, for odd spellings too."""
    assert tokens(reader.Lexer(Input(text, "t"))) == tokens(MLIRLexer(Input(text, "t")))


@pytest.mark.parametrize("path", SPECS[::4], ids=lambda p: p.name.split(".")[0])
def test_the_same_module(path: Path) -> None:
    """Spec texts give modules that are equal, and print alike with locations; the second reading is from memory."""
    text = spec_text(path)
    if text is None:
        pytest.skip("a motif, or refused by this target")
    expected = theirs(text)
    for _ in range(2):
        module = ours(text)
        assert module.is_structurally_equivalent(expected)
        assert print_module(module) == print_module(expected)


def test_what_is_remembered_is_not_shared() -> None:
    """Changing the attributes of one operation leaves those of the next reading alone."""
    text = '"gpu.barrier"() {motif.scope = "global"} : () -> () loc("k.spec.yaml":3:4)'
    for _ in range(2):
        (op,) = ours(text).body.block.ops
        assert list(op.attributes) == ["motif.scope"]
        op.attributes["motif.more"] = UnitAttr()


def test_parsers_that_take_entries_out_do_not_take_them_from_memory() -> None:
    """Generic syntax may have properties among the attributes, from where the parser takes them."""
    text = '%0 = "gpu.thread_id"() {dimension = #gpu<dim x>, motif.range = array<i64: 0, 63>} : () -> index'
    for _ in range(2):
        (op,) = ours(text).body.block.ops
        assert (list(op.properties), list(op.attributes)) == (["dimension"], ["motif.range"])


def test_aliases_are_not_remembered() -> None:
    """The meaning of `#place` belongs to one text."""
    for number in (1, 2):
        text = f'#place = {number} : i64\n"gpu.barrier"() {{motif.n = #place}} : () -> ()'
        (op,) = ours(text).body.block.ops
        assert str(op.attributes["motif.n"]) == f"{number} : i64"


@pytest.mark.parametrize(
    "text",
    [
        '"gpu.barrier"() {motif.a = 1 : i64, motif.a = 2 : i64} : () -> ()',
        '"gpu.barrier"() <{a = 1 : i64, a = 2 : i64}> : () -> ()',
        "func.func @f(%a: memref<?xq32>) { func.return }",
        '"gpu.barrier"() : () -> () loc("a":1:)',
        "func.func @f() { func.return ~ }",
        "func.func @f(%a: i32 i32) { func.return }",
        f"func.func @f(%a: f32, %b: f32) {{\n{ADD}{ADD}}}",
        f"func.func @f(%a: f32) {{\n{ADD}func.return }}",
        f"func.func @f(%a: f32, %b: f64) {{\n{ADD}func.return }}",
        f"func.func @f(%a: f32, %b: f32) {{\n{ADD.replace('%c', '%b')}func.return }}",
        f"func.func @f(%longer: f32, %b: f32) {{\n{CAST.format(to='%r, %longer')}func.return }}",
        '"gpu.barrier"() : () -> () loc("open',
    ],
)
def test_the_same_errors(text: str) -> None:
    """What xDSL refuses is refused with the same words at the same place, twice and with its lines known."""
    ours(f"func.func @f(%a: f32, %b: f32) {{\n{ADD}{CAST.format(to='%d, %e')}func.return }}")
    with pytest.raises(ParseError) as expected:
        theirs(text)
    for _ in range(2):
        with pytest.raises(ParseError) as found:
            ours(text)
        assert str(found.value) == str(expected.value)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full memory starts afresh; what it held is read again."""
    monkeypatch.setattr(reader, "_MOST", 4)
    monkeypatch.setattr(reader, "_dictionaries", {})
    for number in range(20):
        (op,) = ours(f'"gpu.barrier"() {{motif.n = {number} : i64}} : () -> ()').body.block.ops
        assert str(op.attributes["motif.n"]) == f"{number} : i64"
        assert len(reader._dictionaries) <= 4


LIKE = """
builtin.module {
  func.func @f(%a: f32, %b: f32, %x: memref<?xf32>, %i: index, %p: i1) {
    FIRST loc("k.spec.yaml":5:6)
    SECOND loc("k.spec.yaml":7:8)
    func.return loc("k.spec.yaml":1:1)
  }
}
"""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("%r = arith.subf %a, %a : f32", "%s = arith.subf %b, %a : f32"),
        ("%r = arith.select %p, %a, %b : f32", "%s = arith.select %p, %b, %a : f32"),
        ("memref.store %a, %x[%i] : memref<?xf32>", "memref.store %b, %x[%i] : memref<?xf32>"),
        (
            '%r = arith.negf %a : f32 loc("k.spec.yaml":5:6) //',
            '%s = arith.negf %b : f32 loc("k.spec.yaml":5:6) //',
        ),
        ("scf.if %p { scf.yield }", "scf.if %p { scf.yield }"),
        ("%r = arith.negf %a : f32 //", "%s = arith.negf %b : f32 //"),
        ("%r = arith.addf %a, %b : f32 // %p", "%s = arith.addf %b, %a : f32 // %p"),
        ('%r = "arith.subf"(%a, %b) : (f32, f32) -> f32', '%s = "arith.subf"(%b, %a) : (f32, f32) -> f32'),
        (
            '"motif.check"(%p) {kind = "k", message = "%a"} : (i1) -> ()',
            '"motif.check"(%p) {kind = "k", message = "%b"} : (i1) -> ()',
        ),
        (
            "scf.if %p { memref.store %a, %x[%i] : memref<?xf32> }",
            "scf.if %p { memref.store %b, %x[%i] : memref<?xf32> }",
        ),
        (
            '%r = arith.negf %a : f32 loc("k.spec.yaml":2:2) %t = arith.negf %b : f32',
            '%s = arith.negf %b : f32 loc("k.spec.yaml":2:2) %u = arith.negf %a : f32',
        ),
        ('%r:2 = "t.two"(%a, %b) : (f32, f32) -> (f32, f32)', "%s = arith.addf %r#1, %r#0 : f32"),
    ],
)
def test_lines_of_one_kind(first: str, second: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was seen before, a line means what xDSL makes of it."""
    monkeypatch.setattr(lines, "_kinds", {})
    text = LIKE.replace("FIRST", first).replace("SECOND", second)
    if "t.two" in text:
        text = text.replace("t.two", "builtin.unrealized_conversion_cast")
    expected = theirs(text)
    for _ in range(3):
        module = ours(text)
        assert module.is_structurally_equivalent(expected)
        assert print_module(module) == print_module(expected)


def test_lines_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full memory of lines starts afresh."""
    monkeypatch.setattr(lines, "_MOST", 4)
    monkeypatch.setattr(lines, "_kinds", {})
    for number in range(20):
        text = f'"gpu.barrier"() {{motif.n = {number} : i64}} : () -> () loc("k":1:1)\n'
        (op,) = ours(text).body.block.ops
        assert str(op.attributes["motif.n"]) == f"{number} : i64"
        assert 1 <= len(lines._kinds) <= 4


def test_a_value_given_twice_does_not_tell_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of values that are all one value fit any order of operands: nothing is learnt from such a line."""
    monkeypatch.setattr(lines, "_kinds", {})
    ours("func.func @f(%a: f32) {\n" + ADD.replace("%b", "%a") + "func.return }")
    assert all("addf" not in text for _, text in lines._kinds)
    ours(f"func.func @f(%a: f32, %b: f32) {{\n{ADD}func.return }}")
    assert any("addf" in text for _, text in lines._kinds)
