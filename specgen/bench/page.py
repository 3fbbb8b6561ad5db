"""`docs/bench.md`, from the tables that the code itself uses."""

from __future__ import annotations

from specgen.bench import clocks, rounds, selfcheck
from specgen.bench.options import OPTIONS, Option
from specgen.bench.schema import ROWS
from specgen.bench.statistics import CONFIDENCE, WARNINGS

INTRODUCTION = f"""# Benchmarks

`specgen bench PATH... | OUT...` times the entry points of specs or of built folders on a device with a clock:
`default`, `serial` and every variant, for each case of the spec's `benchmarks:`.

```
specgen bench specs/elementwise/saxpy.spec.yaml              # builds into a temporary folder, then measures
specgen bench specgen-out --only saxpy/stream                # a built folder, as it is
specgen bench specgen-out --compare serial,default -o ab.json
specgen bench specgen-out --dry-run                          # the plan; needs no device
python -m specgen.bench specgen-out                          # the same where only numpy and a Vulkan loader are
python specgen-out/saxpy/bench_saxpy.py                      # one folder
specgen bench specgen-out --self-check -o check.json         # does the tool tell noise from a difference here?
```

Exit status: 0 clean; 1 when an entry was wrong, a spec could not be built, a built folder is not as it was built, a
self-check failed, or there was nothing to measure; 2 for a wrong call and for a device that was named but is absent.
Rows for which there is no device are skipped with the reason.

## How it measures
1. **Plan.** A logical row is SPEC/BENCHMARK/CASE/TARGET/ENTRY. Entries whose scheduled IR and launch are the same share
   a physical work item, which is timed once.
2. **Compile.** Every pipeline is made before the first timing; so is `serial`, whatever was asked for.
3. **Gate.** A work item runs once, and its result is compared with that of `serial`, bit for bit. A wrong one has no
   time, and the call ends with status 1. The first dispatch the way that is timed (on a fresh set of the ring, see 4)
   has to leave the same again.
4. **Inputs.** Copies of the arguments lie in a ring that all entries of a case visit in turn: as many sets as together
   exceed the last-level cache, and at least one for each dispatch of a batch:
   `max(batch, ceil(ring bytes / bytes of a set))`, within 1 GiB, which every Vulkan device can allocate. Vulkan does
   not tell the size of caches: on a GPU the ring is {clocks.GPU_RING_BYTES >> 20} MiB, twice the largest last-level
   cache known to us; on a CPU twice its last-level cache, at most {clocks.CPU_RING_BYTES >> 20} MiB. `--hot` reuses
   one set. A written buffer keeps what earlier dispatches left in it.
5. **Warm-up.** By time, before the first round of a case: clocks of an idle GPU are low.
6. **Rounds.** A, A again, B, C, ..., copy take turns, `--repetitions` times, and A closes. A round is one submission of
   {rounds.SETTLING} batch that is not counted and {rounds.SAMPLES} that are, with a timestamp of the device between
   batches. A batch is as many dependent dispatches as last `--min-time` / ({rounds.SAMPLES} * repetitions), at most
   {rounds.LARGEST_BATCH}; where a single one lasts {rounds.LONG} times as long, rounds have fewer batches. One global
   memory barrier from compute to compute lies between two dispatches, which read their arguments from a uniform buffer,
   at an offset of their own: push constants would make every dispatch wait longer. Step 3 runs with push constants.
7. **Ratios.** A round of B is set against A's time at that moment, interpolated between the rounds of A before and
   behind it, so that a drift of the clock cancels. The ratio is the median over the rounds, with an interval of order
   statistics that holds it with a probability of at least {CONFIDENCE:.1%}.
8. **Verdict.** A against itself, in the same rounds, gives the noise floor: the distance of that ratio from 1, and at
   least half of what one of its rounds deviates in the median. B is *faster* or *slower* when the whole interval lies
   beyond 1 by more than the floor; else, and with fewer than 7 rounds, the two are *not distinguishable*.
9. **Bytes.** Where the benchmark says `bytes`, a built-in copy kernel takes turns too. It is a spec of ours
   (`specgen/bench/kernels/copy.spec.yaml`, 16-byte loads and stores) and moves the ring's bytes. "Of copy" is the rate
   of the entry's bytes over the rate of copied bytes.

Times are shown beside the device, its clock and its clock rates where these are readable (`nvidia-smi`, the tables of
`amdgpu`, `cpufreq`, `/proc/cpuinfo`). They are true for that run only: compare ratios.

## The self-check
`--self-check` asks questions whose answers are known; {selfcheck.WANTED_PERCENT} of 100 trials must be right. Subjects
are the built-in copy and the first entry of the first {selfcheck.SUBJECTS} cases of the built folders (choose with
`--only`). In A/A trials nothing differs; in planted ones B does {selfcheck.PLANTED_PERCENT} % more: more bytes copied,
or eleven dispatches where ten are counted. A trial lasts a fifth of `--min-time` an entry. `--dispatch-cost` measures
{selfcheck.DISPATCHES} dependent dispatches of a kernel that counts them; the self-check includes it.
"""


def _value(option: Option) -> str:
    default = option.settings.get("default")
    return "" if default is None else f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


def page() -> str:
    """The text of the page."""
    lines = [INTRODUCTION, "## Options", "", "| option | default | meaning |", "|---|---|---|"]
    for option in OPTIONS:
        metavar = option.settings.get("metavar") or "/".join(option.settings.get("choices", ()))
        flags = ", ".join(f"`{flag}{' ' + metavar if metavar else ''}`" for flag in option.flags)
        lines.append(f"| {flags} | {_value(option)} | {option.help} |")
    lines += ["", "## Warnings", "", "| code | a row has it when | remedy |", "|---|---|---|"]
    lines += [f"| `{w.code}` | {w.meaning} | {w.remedy} |" for w in WARNINGS.values()]
    lines += [
        "",
        "## Rows",
        "",
        "`--format json` prints one document `{version, rows}`, `--format jsonl` a row a line as they come. Every row",
        "has `kind`. A key that is absent says *no evidence*, a zero *measured zero*.",
    ]
    for kind, (meaning, keys) in ROWS.items():
        lines += ["", f"### `{kind}`", "", meaning, "", "| key | type | unit | meaning |", "|---|---|---|---|"]
        for key in keys:
            optional = "" if key.required else " (optional)"
            lines.append(f"| `{key.name}` | {key.type}{optional} | {key.unit} | {key.meaning} |")
    return "\n".join(lines) + "\n"
