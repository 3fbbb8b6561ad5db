"""What is told of loops in assembly text: copies of the closing block, loads that outlive a round."""

from __future__ import annotations

from specgen.lowering.amdgpu import asm, loops


def found(text: str) -> list[loops.MachineLoop]:
    lines = [line if line.startswith(".") else f"\t{line}" for line in text.strip().splitlines()]
    blocks = asm.functions("k:\n" + "\n".join(lines) + "\n\ts_endpgm\n.Lfunc_end0:\n")["k"]
    return loops.find(blocks, ())


CLOSING_BLOCK_FIRST = """
buffer_load_b32 v1, v0, s[0:3], 0 offen
s_branch .LBB0_2
.LBB0_1:
v_mov_b32_e32 v1, v2
v_mov_b32_e32 v5, 0
s_cmp_lt_u32 s4, 14
s_cbranch_scc0 .LBB0_4
.LBB0_2:
buffer_load_b32 v2, v0, s[0:3], 0 offen
s_cbranch_vccnz .LBB0_1
s_waitcnt vmcnt(1)
v_add_f32_e32 v3, v3, v1
s_branch .LBB0_1
.LBB0_4:
"""
"""The block that closes the loop stands before the one that it leads to, as LLVM often lays it out."""


def test_copies_are_found_wherever_the_closing_block_stands():
    """v1 goes round the loop; v5 is a constant that nobody reads."""
    (loop,) = found(CLOSING_BLOCK_FIRST)
    assert loop.backedge_copies == 1


def test_a_copy_of_what_the_round_writes_first_is_none():
    (loop,) = found(CLOSING_BLOCK_FIRST.replace("s_cbranch_vccnz", "v_mov_b32_e32 v1, 0\ns_cbranch_vccnz"))
    assert loop.backedge_copies == 0


BRANCHES = """
s_mov_b32 s4, 0
.LBB0_1:
buffer_load_b32 v1, v0, s[0:3], 0 offen
buffer_load_b32 v2, v0, s[0:3], 0 offen
s_cbranch_vccnz .LBB0_3
{inside}
.LBB0_3:
{after}
s_cbranch_scc1 .LBB0_1
"""


def test_pending_loads_are_the_fewest_of_all_ways():
    """One way drains to a load, the other leaves two more each round; a wait on every way settles both."""
    assert [x.loads_pending for x in found(BRANCHES.format(inside="s_waitcnt vmcnt(1)", after="s_nop 0"))] == [1]
    assert [x.loads_pending for x in found(BRANCHES.format(inside="s_waitcnt vmcnt(0)", after="s_nop 0"))] == [0]
    assert [x.loads_pending for x in found(BRANCHES.format(inside="s_nop 0", after="s_waitcnt vmcnt(4)"))] == [4]
    both = BRANCHES.format(inside="s_waitcnt vmcnt(3)", after="s_waitcnt vmcnt(2)")
    assert [x.loads_pending for x in found(both)] == [2]


def test_scalar_waits_leave_vector_loads_alone():
    text = BRANCHES.format(inside="s_nop 0", after="s_waitcnt lgkmcnt(0)\ns_waitcnt vmcnt(3)")
    assert [x.loads_pending for x in found(text)] == [3]
