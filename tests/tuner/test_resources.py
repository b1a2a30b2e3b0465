"""Resources of kernels on GPUs that are not here: what compilers tell, budgets, records, and the commands."""

import json
import shutil
import struct
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import done, refused, run

from clgeom.core import families, sources
from clgeom.core.policies import Policy
from clgeom.tuner.resources import budgets, compilers, programs, records
from clgeom.tuner.resources.compilers import COMPILERS, Compiler, DoesNotCompile, Resources
from clgeom.tuner.resources.programs import Compiled, KernelProgram
from clgeom.tuner.resources.targets import TARGETS

RESULTS = Path(__file__).resolve().parents[2] / "bench" / "results"
RECORDED = [target for target in TARGETS.values() if records.path_of(RESULTS, target).exists()]
#: Kernels of CPUs only, or of files that no policy of a GPU chooses.
SMALL = Resources(registers=20, private=0, spilled=0, local=1024, waves=8, simd=64, code=100)


def program(kernel="hull/sieve/sieve", **parameters):
    return KernelProgram(kernel, tuple(sorted(parameters.items())), ("-cl-std=CL1.2",))


def compiled(needs, kernel="hull/sieve/sieve"):
    return Compiled(program(kernel), "0", needs)


# Compilers ------------------------------------------------------------------------------------------------------------

ASSEMBLY = """\
helper:                                 ; @helper
; codeLenInByte = 100
one:                                    ; @one
\ts_add_u32 s4, s4, helper@rel32@lo+4
\ts_add_u32 s4, s4, __const.one.table@rel32@lo+4
\t.amdhsa_kernel one
\t.end_amdhsa_kernel
; codeLenInByte = 60
; Occupancy: 5
__const.one.table:
amdhsa.kernels:
  - .agpr_count:     0
    .args:
      - .offset:         0
        .size:           8
    .group_segment_fixed_size: 512
    .kernarg_segment_size: 8
    .name:           one
    .private_segment_fixed_size: 16
    .sgpr_spill_count: 0
    .symbol:         one.kd
    .vgpr_count:     40
    .vgpr_spill_count: 3
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx90a
"""


def test_resources_of_amds_assembly():
    needs = Resources(registers=40, private=16, spilled=12, local=512, waves=5, simd=64, code=160)
    assert compilers.amd_resources(ASSEMBLY) == {"one": needs}


def test_functions_without_a_definition_are_refused():
    with pytest.raises(DoesNotCompile, match="helper is called and not defined"):
        compilers.amd_resources(ASSEMBLY.replace("helper:", "other:"))


ZE_INFO = b"""\
kernels:
  - name:            one
    execution_env:
      grf_count:       128
      simd_size:       16
      slm_size:        288
    payload_arguments:
      - arg_type:        arg_bypointer
        size:            8
    per_thread_memory_buffers:
      - type:            scratch
        usage:           single_space
        size:            1024
kernels_misc_info:
  - name:            one
"""


def elf(**parts):
    """A binary with these sections, as far as `compilers.sections` reads one."""
    names, body, headers = b"\0", b"", [bytes(64)]
    for name, content in {**parts, "names": None}.items():
        at, names = len(names), names + name.replace("_", ".").encode() + b"\0"
        content = names if content is None else content
        headers.append(struct.pack("<IIQQQQ", at, 1, 0, 0, 64 + len(body), len(content)) + bytes(24))
        body += content
    begin = 64 + len(body)
    header = bytearray(64)
    struct.pack_into("<Q", header, 0x28, begin)
    struct.pack_into("<HHH", header, 0x3A, 64, len(headers), len(headers) - 1)
    return bytes(header) + body + b"".join(headers)


def test_resources_of_intels_binary():
    printed = "warning: kernel one  compiled SIMD16 allocated 128 regs and spilled around 20\n"
    binary = elf(**{"_ze_info": ZE_INFO, "_text_one": bytes(48)}).replace(b".ze.info\0", b".ze_info\0")
    needs = Resources(registers=128, private=64, spilled=20, local=288, waves=None, simd=16, code=48)
    assert compilers.intel_resources(binary, printed) == {"one": needs}


LOG = """
ptxas info    : Compiling entry function 'one' for 'sm_90'
ptxas info    : Function properties for one
    104 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 120 bytes cumulative stack size, 45056 bytes smem
"""


def test_resources_of_nvidias_log():
    text = "kernel __attribute__((reqd_work_group_size(256, 1, 1)))\nvoid one(global int *out)\n{\n}"
    needs = Resources(registers=40, private=120, spilled=8, local=45056, waves=10, simd=32, code=9)
    assert compilers.nvidia_resources(LOG, text, 9) == {"one": needs}


@pytest.mark.parametrize(
    "registers, local, work_group, warps",
    (
        (32, 0, 256, 16),
        (64, 0, 256, 8),
        (128, 0, 256, 4),
        (32, 100_000, 1024, 16),
        (32, 228_000, 256, 2),
        (16, 0, 32, 8),
    ),
)
def test_warps_of_nvidia(registers, local, work_group, warps):
    """65,536 registers, 228 KiB, 64 warps and 32 groups a multiprocessor; four schedulers."""
    assert compilers.nvidia_waves(registers, local, work_group) == warps


# With the compilers, where they are installed -------------------------------------------------------------------------


def require(name):
    target = TARGETS[name]
    missing = COMPILERS[target.compiler].missing(target)
    if missing:
        pytest.skip(missing)
    return target


def of_text(target, text):
    """What a program needs on a target; its kernel is called "one"."""
    flags = ["-cl-std=CL1.2", f"-DCLGEOM_FP64={int(target.facts.get('fp64', True))}"]
    return COMPILERS[target.compiler].compile(target, text, flags)["one"]


PLAIN = "kernel void one(global float *a) { a[get_global_id(0)] *= 2; }"
#: An array that is indexed by values; more values than registers, for Intel's compiler says nothing of arrays; and a
#: float64.
ARRAY = """kernel void one(global int *a) {
    int held[300];
    for (int k = 0; k < 300; ++k) held[k] = a[k];
    for (int k = 0; k < 300; ++k) held[a[k] % 300] += held[a[k + 1] % 300];
    for (int k = 0; k < 300; ++k) a[k] = held[k];
}"""
MANY = range(0, 400)
VALUES = f"""kernel void one(global int *a, int n) {{
    const int at = get_global_id(0) * {len(MANY)};
    int {", ".join(f"v{k} = a[at + {k}]" for k in MANY)};
    for (int r = 0; r < n; ++r) {{ {" ".join(f"v{k} = v{k} * v{(k + 7) % len(MANY)} + r;" for k in MANY)} }}
    {" ".join(f"a[at + {k}] = v{k};" for k in MANY)}
}}"""
DOUBLE = "kernel void one(global double *a) { a[get_global_id(0)] *= 2; }"


@pytest.mark.parametrize("name, text", (("gfx90a", ARRAY), ("gfx1030", ARRAY), ("pvc", VALUES), ("dg2", VALUES)))
def test_a_kernel_that_needs_more_exceeds_its_budget(name, text):
    target = require(name)
    assert budgets.excesses(target, compiled(of_text(target, PLAIN))) == []
    said = " and ".join(budgets.excesses(target, compiled(of_text(target, text))))
    assert ("private memory" if text is ARRAY else "spills") in said


def test_float64_does_not_compile_where_there_is_none():
    target = require("dg2")
    with pytest.raises(DoesNotCompile):
        of_text(target, DOUBLE)
    assert of_text(require("pvc"), DOUBLE).private == 0


@pytest.mark.parametrize("name", ("gfx90a", "pvc"))
def test_a_wrong_program_does_not_compile(name):
    with pytest.raises(DoesNotCompile, match="error"):
        of_text(require(name), "kernel void one(global int *a) { a[0] = nothing; }")


# Budgets --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel, change, words",
    (
        ("hull/sieve/sieve", {"private": budgets.CALLS + 1}, "33 bytes of private memory; its budget is 32"),
        ("dp/table/reduce_cells", {"private": 97}, "97 bytes of private memory; its budget is 96"),
        ("hull/sieve/sieve", {"spilled": 65}, "spills 65 bytes; its budget is 64"),
        ("hull/sieve/sieve", {"local": 65_537}, "65,537 bytes of local memory; gfx90a has 65,536"),
    ),
)
def test_budgets(kernel, change, words):
    target = TARGETS["gfx90a"]
    assert budgets.excesses(target, compiled(SMALL, kernel)) == []
    (said,) = budgets.excesses(target, compiled(replace(SMALL, **change), kernel))
    assert words in said


def test_waves_of_kernels_that_read_once():
    few = compiled(replace(SMALL, waves=3), "primitives/gather_rows")
    assert budgets.excesses(TARGETS["gfx90a"], few) == ["has 3 waves on a SIMD; its budget is 4"]
    assert budgets.excesses(TARGETS["pvc"], compiled(replace(SMALL, waves=None))) == []


def test_a_program_that_does_not_compile_is_beyond_its_budget():
    failed = Compiled(program(), "0", failure="error: no such thing")
    assert budgets.excesses(TARGETS["pvc"], failed) == ["does not compile: error: no such thing"]


def test_budgets_name_kernels():
    named = {*budgets.PRIVATE, *budgets.SPILLED_MORE, *budgets.STREAMING}
    assert {name.split()[0] for name in named} <= set(sources.kernels())
    assert {name.split()[1] for name in named if " " in name} <= set(TARGETS)


# Programs -------------------------------------------------------------------------------------------------------------


def test_sessions_of_targets_plan_for_them():
    for target in TARGETS.values():
        profile = target.session().profile
        assert (profile.kind, profile.architecture) == ("gpu", target.facts["architecture"])
        assert profile.fp64 == target.facts.get("fp64", True)
        assert profile.runtime == target.compiler
        assert profile.max_wg_size <= target.facts["max_wg_size"]


class Toy(Compiler):
    """A compiler that says that each kernel needs `needs`, or does not compile, and counts."""

    def __init__(self, needs=SMALL):
        self.needs, self.compiled = needs, Counter()

    def version(self):
        return "toy 1"

    def missing(self, target):
        return None if target.name != "gfx1100" else "there is no gfx1100"

    def compile(self, target, text, flags):
        self.compiled[target.name] += 1
        if self.needs is None:
            raise DoesNotCompile("error: toy")
        (name,) = set(compilers.re.findall(r"^(?:kernel .*\n)?void (\w+)\(", text, compilers.re.MULTILINE)[-1:])
        return {name: self.needs}


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """A toy compiler for AMD's GPUs, and a self-test with one kernel; in an empty folder."""
    monkeypatch.chdir(tmp_path)
    toy = Toy()
    monkeypatch.setitem(COMPILERS, "amd", toy)
    kernels = [one for one in families.all_checks() if "primitives/gather_rows" in one.kernels]
    monkeypatch.setattr("clgeom.selftest.checks", lambda: kernels)
    monkeypatch.setattr("clgeom.selftest.QUESTIONS", [])
    return toy


def test_check_prints_and_records(toy):
    said = done("kernels", "check", "--target", "gfx90a,gfx1100", "-o", "records")
    assert "primitives/gather_rows" in said and "gfx1100: skipped, for there is no gfx1100" in said
    facts = json.loads(Path("records/resources-gfx90a.json").read_text())
    assert (facts["target"], facts["compiler"]) == ("gfx90a", "toy 1")
    found = records.read("records", TARGETS["gfx90a"])
    assert found and all(one.resources == SMALL and one.digest == one.program.digest() for one in found)
    assert "-Dinline=static" in found[0].program.flags
    assert toy.compiled["gfx90a"] == len(found)


def test_check_compiles_what_changed(toy, monkeypatch):
    done("kernels", "check", "--target", "gfx90a", "-o", "records")
    toy.compiled.clear()
    done("kernels", "check", "--target", "gfx90a", "--since", "records")
    assert not toy.compiled
    done("kernels", "check", "--since", "records")  # of the GPUs that have a record
    text = KernelProgram.text
    monkeypatch.setattr(KernelProgram, "text", lambda self: text(self) + "// changed")
    toy.needs = replace(SMALL, private=5000)
    result = run("kernels", "check", "--target", "gfx90a", "--since", "records")
    assert toy.compiled["gfx90a"] == len(records.read("records", TARGETS["gfx90a"]))
    assert result.exit_code == 1 and "5,000 bytes of private memory" in result.stdout


def test_check_fails_where_a_program_does_not_compile(toy):
    toy.needs = None
    result = run("kernels", "check", "gather", "--target", "gfx90a")
    assert result.exit_code == 1 and "does not compile: error: toy" in result.stdout
    facts = json.loads(run("kernels", "check", "--target", "gfx90a", "--json").stdout)["targets"][0]
    assert facts["over_budget"] and facts["programs"][0]["failure"] == "error: toy"


def test_check_refuses_what_it_cannot_do(toy):
    assert "There is no target 'gfx9'" in refused("kernels", "check", "--target", "gfx9")
    assert "No kernel has nothing in its name" in refused("kernels", "check", "nothing", "--target", "gfx90a")
    assert "cannot be read" in refused("kernels", "check", "--since", "nowhere")
    good = {"kernel": "hull/sieve/sieve", "digest": "0", "parameters": {}, "flags": [], "resources": SMALL.asdict()}
    changes = (
        {"kernel": "no"},
        {"digest": []},
        {"flags": "abc"},
        {"flags": [1]},
        {"parameters": []},
        {"resources": {}},
    )
    damaged = ["{}", "[" * 10**5, *(json.dumps({"programs": [{**good, **change}]}) for change in changes)]
    for text in damaged:
        Path("resources-gfx90a.json").write_text(text)
        assert "is no record" in refused("kernels", "check", "--since", ".", "--target", "gfx90a")
    Path("resources-gfx90a.json").write_text('{"programs": []}')
    assert "has no programs" in refused("kernels", "check", "--since", ".", "--target", "gfx90a")
    Path("file").write_text("")
    assert "cannot be written" in refused("kernels", "check", "--target", "gfx90a", "-o", "file")
    assert run("kernels", "check", "--target", "gfx1100").exit_code == 1


def test_serial_variants_are_of_kernels_that_have_no_other(toy):
    session = TARGETS["gfx90a"].session()
    assert programs._is_serial(session.profile, "hull/sieve/tile_hull")
    assert not programs._is_serial(session.profile, "hull/sieve/sieve")


# Records of this checkout ---------------------------------------------------------------------------------------------

AGAIN = "run: clgeom kernels check -o bench/results"


@pytest.mark.skipif(not RECORDED, reason="there are no records")
@pytest.mark.parametrize("target", RECORDED, ids=lambda target: target.name)
def test_records_are_complete_and_within_budgets(target):
    found = records.read(RESULTS, target)
    missing = set(sources.kernels()) - {one.program.kernel for one in found}
    left_out = set(json.loads(records.path_of(RESULTS, target).read_text(encoding="utf-8")).get("left_out", ()))
    never = records.NOT_BUILT.get(target.name, records.NOT_BUILT[""])
    assert never <= missing <= never | left_out, AGAIN
    over = {(one.program.kernel, words) for one in found for words in budgets.excesses(target, one)}
    assert not over


@pytest.mark.skipif(not RECORDED, reason="there are no records")
def test_page_is_what_the_records_say(monkeypatch):
    monkeypatch.syspath_prepend(str(RESULTS.parent))
    resources = pytest.importorskip("resources")
    assert resources.PAGE.read_text(encoding="utf-8") == resources.page(), "run: python bench/resources.py"


@pytest.mark.skipif(not RECORDED, reason="there are no records")
@pytest.mark.parametrize("target", RECORDED, ids=lambda target: target.name)
def test_programs_are_as_recorded(target):
    """Programs that changed are compiled, where a compiler is installed; else the record must be made again."""
    found = records.read(RESULTS, target)
    changed = [one.program for one in found if one.program.digest() != one.digest]
    if not changed:
        return
    missing = COMPILERS[target.compiler].missing(target)
    assert missing is None, f"{len(changed)} programs changed, and {missing}; {AGAIN}"
    again = programs.compile_all(target, changed, {}, jobs=2)
    assert not [(one.program.kernel, words) for one in again for words in budgets.excesses(target, one)]


# Texts ----------------------------------------------------------------------------------------------------------------


def test_list_has_every_kernel():
    said = json.loads(run("kernels", "list", "--json").stdout)
    assert [one["kernel"] for one in said] == list(sources.kernels())
    assert all(one["summary"] and "${" not in one["summary"] for one in said)
    assert "serial" in next(one for one in said if one["kernel"] == "hull/sieve/sieve")["variants"]
    assert "No kernel has nothing" in refused("kernels", "list", "nothing")


def test_show_prints_a_program_without_includes(session):
    said = done("kernels", "show", "orient2d_signs", "--with", "real=int", "--device", session.profile.name)
    assert "#include" not in said and "// SPDX-License-Identifier: MIT" in said
    assert "real='int'" in said and "// arguments: global const int *a" in said
    assert "has real=half" in refused("kernels", "show", "orient2d_signs", "--with", "real=half")
    assert "must be KEY=VALUE" in refused("kernels", "show", "orient2d_signs", "--with", "real")
    assert "no kernel 'orient3d'" in refused("kernels", "show", "orient3d")


def test_show_prefers_the_chosen_shape(session):
    from clgeom.core.tuning import select

    said = done("kernels", "show", "primitives/gather_rows", "--device", session.profile.name)
    policy: Policy = select(session.profile, "primitives/gather_rows")
    assert f"// work-items of a group: {policy.wg_size}\n" in said


def test_export_has_the_launches_of_calls(tmp_path, session):
    done("kernels", "export", tmp_path / "texts", "primitives", "--device", session.profile.name)
    calls = json.loads((tmp_path / "texts" / "calls.json").read_text())["calls"]
    assert {call["call"] for call in calls} >= {"running sum", "indices of flags"}
    launches = [launch for call in calls for launch in call["launches"]]
    for launch in launches:
        text = (tmp_path / "texts" / launch["file"]).read_text()
        signature = text.split("// arguments: ")[1].splitlines()[0]
        assert signature.count(",") + 1 == len(launch["arguments"])
        assert launch["groups"] >= 1 and "#include" not in text
    memory = [argument for launch in launches for argument in launch["arguments"] if "memory" in argument]
    assert memory and all(argument["bytes"] > 0 for argument in memory)
    assert "FAMILY must be one of" in refused("kernels", "export", tmp_path / "texts", "nothing")
    (tmp_path / "taken" / "calls.json").mkdir(parents=True)
    assert "calls.json' cannot be written" in refused("kernels", "export", tmp_path / "taken", "primitives")


@pytest.mark.skipif(not (shutil.which("clang-15") and shutil.which("llvm-spirv-15")), reason="needs clang-15")
def test_export_writes_spirv(tmp_path, session):
    done("kernels", "export", tmp_path, "primitives", "--spirv", "--device", session.profile.name)
    files = sorted(tmp_path.glob("*.spv"))
    assert len(files) == len(list(tmp_path.glob("*.cl")))
    assert {struct.unpack_from("<I", file.read_bytes())[0] for file in files} == {0x07230203}


def test_spirv_names_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setattr("clgeom.tuner.resources.spirv.tools", _no_tools)
    assert "SPIR-V needs" in refused("kernels", "export", tmp_path / "texts", "primitives", "--spirv")
    assert not (tmp_path / "texts").exists()


def _no_tools():
    from clgeom.errors import InvalidInput

    raise InvalidInput("SPIR-V needs Clang and llvm-spirv of one version.")
