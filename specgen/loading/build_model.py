"""The plain tree as a `model.Spec`: every expression parsed, every name checked, all findings collected."""

from __future__ import annotations

from pathlib import Path

from specgen.diagnostics import Diagnostic, Source, Span
from specgen.loading import sections
from specgen.loading.cases import cases
from specgen.loading.context import Context, child, word
from specgen.loading.statements import block
from specgen.model import Spec
from specgen.schema import Damage
from specgen.schema.tree import Mapping, Node, Scalar, Sequence


def build_model(
    root: Mapping, kind: str, source: Source, folder: Path, damage: Damage | None = None
) -> tuple[Spec, list[Diagnostic]]:
    """The model of a kernel or motif whose file lies in `folder`, without `used`, and what is wrong with its leaves.

    Texts of expressions that cannot be parsed are added to `damage`.
    """
    context = Context(source)
    name = root.get("name")
    spec = Spec(
        version=1,
        kind=kind,
        name=context.name(name),
        summary=word(root.get("summary")).strip(),
        params=sections.knobs(context, root.get("params")),
        defines=sections.defines(context, root.get("define")),
        args=sections.arguments(context, root.get("args")),
        views=sections.views(context, root.get("views")),
        memory=sections.memories(context, root.get("memory")),
        policies=sections.knobs(context, root.get("policies")),
        variants=sections.variants(context, root.get("variants")),
        requires=context.exprs(root.get("requires")),
        math=tuple(word(item) for item in _items(root.get("math"))),
        launch=sections.launch(context, root.get("launch")),
        registers=context.optional(child(root.get("schedule"), "registers")),
        results=sections.results(context, root.get("results")),
        body=block(context, root.get("body")),
        implementations=sections.implementations(context, root.get("implementations")),
        checks=cases(context, root.get("checks"), folder),
        benchmarks=cases(context, root.get("benchmarks"), folder),
        source=source,
        span=_whole(root, name),
    )
    if damage is not None:
        for text in context.unread:
            damage.mention(text)
    return spec, context.findings


def _items(node: Node | None) -> tuple[Node, ...]:
    return node.items if isinstance(node, Sequence) else ()


def _whole(root: Mapping, name: Node | None) -> Span:
    """Findings about a whole document stand at its name."""
    return name.span if isinstance(name, Scalar) else root.span
