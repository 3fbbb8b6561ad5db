"""Control: branches, loops, barriers, writes of EXEC, waits and hints without an effect, the program counter, the end."""

# ruff: noqa: E501, E731 (rows of a table, and their short meanings)

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Final

import numpy as np

from opcode_semantics.patterns import LANES
from opcode_semantics.rows import CDNA, RDNA, RDNA3, RDNA4
from opcode_semantics.snippets import Snippet, State, Words

_LABELS = itertools.count()
SENTINEL: Final = 0xDEADBEEF


def wave(s: State) -> Words:
    """Each item's wave number."""
    return s.lane // s.lanes


_WAVE: Final = {
    CDNA: "v_readfirstlane_b32 s30, v0\ns_lshr_b32 s30, s30, 6\n",
    RDNA3: "v_readfirstlane_b32 s30, v0\ns_lshr_b32 s30, s30, 5\n",
}


def _branches() -> list[Snippet]:
    """Each branch by a condition of each wave's own: waves 1 and 2 of four have it true."""
    made = []
    flags = {"scc": "s_cmp_lg_u32 s31, 0\n", "vcc": "s_mov_b32 vcc_lo, s31\ns_mov_b32 vcc_hi, 0\n"}
    for archs in ((CDNA,), RDNA):
        number = _WAVE[archs[0] if archs == (CDNA,) else RDNA3]
        exec_flag = "s_mov_b32 exec_lo, s31\n" + ("s_mov_b32 exec_hi, 0\n" if archs == (CDNA,) else "")
        for name, condition, wanted in (
            ("s_cbranch_scc0", "scc", False), ("s_cbranch_scc1", "scc", True), ("s_cbranch_vccz", "vcc", False),
            ("s_cbranch_vccnz", "vcc", True), ("s_cbranch_execz", "exec", False), ("s_cbranch_execnz", "exec", True),
        ):  # fmt: skip
            label = f"L{next(_LABELS)}"
            set_flag = exec_flag if condition == "exec" else flags[condition]
            text = (
                f"{number}s_add_i32 s31, s30, 1\ns_lshr_b32 s31, s31, 1\ns_and_b32 s31, s31, 1\ns_movk_i32 s44, 5\n{set_flag}"
                f"{{0}} {label}\ns_movk_i32 s44, 9\n{label}:\n{{full}}\nv_mov_b32 v10, s44"
            ).replace("s_add_i32", "{1}")
            names = f"{name};s_add_i32 s_add_co_i32"
            made.append(
                Snippet(
                    names,
                    text,
                    lambda s, w=wanted: (np.where(((wave(s) + 1) // 2 % 2 == 1) == w, 5, 9).astype(np.uint32),),
                    archs=archs,
                )
            )
        one, two = f"L{next(_LABELS)}", f"L{next(_LABELS)}"
        loop = (
            f"{number}s_mov_b32 s31, 0\ns_mov_b32 s44, 1\ns_branch {two}\n{one}:\ns_lshl_b32 s44, s44, 1\n{{1}} s31, s31, 1\n"
            f"{two}:\ns_cmp_lt_u32 s31, s30\ns_cbranch_scc1 {one}\nv_mov_b32 v10, s44"
        )
        made.append(
            Snippet(
                "s_branch;s_add_i32 s_add_co_i32;s_cbranch_scc1",
                loop,
                lambda s: (1 << wave(s).astype(np.uint32),),
                archs=archs,
            )
        )
    return made


_EXEC: Final[dict[str, Callable[[int, int], int]]] = {
    "s_and_saveexec": lambda s, e: s & e, "s_or_saveexec": lambda s, e: s | e, "s_xor_saveexec": lambda s, e: s ^ e,
    "s_nand_saveexec": lambda s, e: ~(s & e), "s_nor_saveexec": lambda s, e: ~(s | e), "s_xnor_saveexec": lambda s, e: ~(s ^ e),
    "s_andn1_saveexec s_and_not0_saveexec": lambda s, e: ~s & e, "s_andn2_saveexec s_and_not1_saveexec": lambda s, e: s & ~e,
    "s_orn1_saveexec s_or_not0_saveexec": lambda s, e: ~s | e, "s_orn2_saveexec s_or_not1_saveexec": lambda s, e: s | ~e,
    "s_andn1_wrexec s_and_not0_wrexec": lambda s, e: ~s & e, "s_andn2_wrexec s_and_not1_wrexec": lambda s, e: s & ~e,
}  # fmt: skip
"""New EXEC from the source and the old EXEC."""


def _saveexec() -> list[Snippet]:
    """Which lanes run afterwards, what the destination holds, and SCC."""
    made = []
    before, source = 0x0F33A5A5C3F0FF01, 0x5AC31234FF00F0F1
    for names, meaning in _EXEC.items():
        for width, archs in ((64, (CDNA,)), (32, RDNA)):
            ops = " ".join(f"{n}_b{width}" for n in names.split())
            mask = (1 << width) - 1
            e, s = before & mask, source & mask
            after = meaning(s, e) & mask
            held = after if "wrexec" in names else e
            high = f"s_mov_b32 exec_hi, {before >> 32:#x}\ns_mov_b32 s31, {source >> 32:#x}\n" if width == 64 else ""
            registers = ("s[44:45]", "s[30:31]") if width == 64 else ("s44", "s30")
            text = (
                f"s_mov_b32 exec_lo, {before & 0xFFFFFFFF:#x}\ns_mov_b32 s30, {source & 0xFFFFFFFF:#x}\n{high}"
                f"{{0}} {registers[0]}, {registers[1]}\nv_mov_b32 v10, 1\ns_cselect_b32 s46, 1, 0\n{{full}}\n"
                f"v_mov_b32 v11, s44\nv_mov_b32 v12, s{45 if width == 64 else 44}\nv_mov_b32 v13, s46"
            )

            def expected(st: State, after: int = after, held: int = held, width: int = width) -> tuple[Words, ...]:
                on = np.array([after >> k & 1 for k in range(width)], bool)
                lanes = np.tile(on, LANES // width)
                words = (held & 0xFFFFFFFF, held >> 32 if width == 64 else held, int(after != 0))
                return (np.where(lanes, 1, st.old).astype(np.uint32), *(np.full(LANES, w, np.uint32) for w in words))

            made.append(Snippet(ops, text, expected, archs=archs))
    return made


def _hints() -> list[Snippet]:
    """Waits, cache maintenance and hints: values stay, and what comes after runs."""
    everywhere = (
        "s_nop 3",
        "s_sleep 1",
        "s_setprio 2",
        "v_nop",
        "s_incperflevel 1",
        "s_decperflevel 1",
        "s_sendmsg sendmsg(MSG_INTERRUPT)",
    )
    cdna = (
        "s_waitcnt vmcnt(0) lgkmcnt(0)",
        "buffer_wbl2 sc1",
        "buffer_inv sc1",
        "s_dcache_inv",
        "s_icache_inv",
        "s_dcache_wb",
        "s_wakeup",
    )
    rdna = (
        "s_round_mode 0x0",
        "s_denorm_mode 0xf",
        "s_wait_idle",
        "s_clause 0x1",
        "s_delay_alu instid0(VALU_DEP_1)",
        "s_dcache_inv",
    )
    rdna3 = ("s_waitcnt vmcnt(0)", "s_waitcnt_depctr 0xfffe", "s_waitcnt_vscnt null, 0x0", "buffer_gl0_inv", "buffer_gl1_inv",
             "s_waitcnt_vmcnt null, 0x0", "s_waitcnt_lgkmcnt null, 0x0", "s_waitcnt_expcnt null, 0x0", "s_set_inst_prefetch_distance 0x3", "s_icache_inv")  # fmt: skip
    rdna4 = ("s_wait_alu 0xfffe", "s_wait_loadcnt 0x0", "s_wait_storecnt 0x0", "s_wait_dscnt 0x0", "s_wait_kmcnt 0x0", "s_wait_expcnt 0x0",
             "s_wait_samplecnt 0x0", "s_wait_bvhcnt 0x0", "s_wait_loadcnt_dscnt 0x0", "s_wait_storecnt_dscnt 0x0", "global_inv scope:SCOPE_DEV", "global_wb scope:SCOPE_DEV",
             "global_wbinv scope:SCOPE_DEV", "s_icache_inv",
             "s_prefetch_data s[36:37], 0x0, null, 0", "s_prefetch_inst s[36:37], 0x0, null, 0")  # fmt: skip
    made = []
    for lines, archs in (
        (everywhere, (CDNA, *RDNA)),
        (cdna, (CDNA,)),
        (rdna, RDNA),
        (rdna3, (RDNA3,)),
        (rdna4, (RDNA4,)),
    ):
        for line in lines:
            name = line.split()[0]
            # A pause before two fused instructions needs two of them to be there.
            text = f"v_mov_b32 v10, v2\n{line}\nv_mov_b32 v10, v4\nv_mov_b32 v11, v2"
            made.append(Snippet(name, text, lambda s: (s.b, s.a), archs=archs))
    return made


def _others() -> list[Snippet]:
    exchange = "v_lshlrev_b32 v20, 2, v0\nv_sub_{u}32 v21, 0x3fc, v20\n{{1}} v20, v2\n{{wl}}\n{{barrier}}\n{{2}} v10, v21\n{{wl}}\n{{barrier}}"
    write, read = "ds_write_b32 ds_store_b32", "ds_read_b32 ds_load_b32"
    turned = lambda s: (s.a[::-1].copy(),)
    apart = "s_getpc_b64 s[30:31]\ns_getpc_b64 s[44:45]\ns_sub_{i}32 s46, s44, s30\nv_mov_b32 v10, s46"
    ends = f"L{next(_LABELS)}"
    finish = f"s_and_b32 s31, s30, 1\ns_cmp_eq_u32 s31, 0\ns_cbranch_scc1 {ends}\ns_endpgm\n{ends}:\nv_mov_b32 v10, 7\n{{{{1}}}} v1, v10, s[38:39]\n{{{{ws}}}}"
    finish = finish.replace("{{", "{").replace("}}", "}")
    store = "global_store_dword global_store_b32"
    odd = lambda s: (np.where(wave(s) % 2 == 0, 7, SENTINEL).astype(np.uint32),)
    dealloc = "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\ns_endpgm"
    expand = lambda text: text.replace("{{", "{").replace("}}", "}")
    return [
        Snippet(f"s_barrier;{write};{read}", expand(exchange.replace("{u}", "u")), turned, archs=(CDNA,)),
        Snippet(f"s_barrier;{write};{read}", expand(exchange.replace("{u}", "nc_u")), turned, archs=(RDNA3,)),
        Snippet(f"s_barrier_signal;{write};{read};s_barrier_wait", expand(exchange.replace("{u}", "nc_u")), turned, archs=(RDNA4,)),
        Snippet("s_getpc_b64", apart.replace("{i}", "u"), lambda s: (np.full(LANES, 4, np.uint32),), archs=(CDNA, RDNA3)),
        Snippet("s_getpc_b64", apart.replace("{i}", "co_u"), lambda s: (np.full(LANES, 4, np.uint32),), archs=(RDNA4,)),
        # Last: half of the waves are gone after it.
        Snippet(f"s_endpgm;{store}", _WAVE[CDNA] + finish, odd, 1, archs=(CDNA,)),
        Snippet(f"s_endpgm;{store};s_sendmsg", _WAVE[RDNA3] + finish.replace("s_endpgm", dealloc), odd, 1, archs=RDNA),
    ]  # fmt: skip


def snippets() -> list[Snippet]:
    return [*_branches(), *_saveexec(), *_hints(), *_others()]
