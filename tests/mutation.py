"""Would the tests notice? Mutants of kernels and of Python, each tried with the tests of its family. Opt-in, slow.

    python tests/mutation.py --family hull --count 50 --seed 1      # fifty random mutants of hulls
    python tests/mutation.py --of kernels --count 100 --jobs 14     # of the kernels of all families
    python tests/mutation.py --again mutants.json                   # the survivors of an earlier run, once more
    python tests/mutation.py --family dp --list | head              # what could be changed

A mutant is one changed operator, constant, index or barrier (mutants.py). It is made in a copy of the checkout, whose
tests run until one fails: first the test files whose names are like the mutated file's, then those of the family, then
those of all families. They are the tests of CI, in the shapes of CPUs and of GPUs; with --profile default all cases.

A mutant is "killed" when a test fails, or ends the process, or does not end in --stall seconds, and does so again by
itself, but not without the mutant; tests that fail without it are left out. It is "invalid", and not counted, when its
kernel does not compile. Otherwise it "survived": a test is missing, or the mutant changes nothing that anybody could
notice. equivalents.toml lists such lines with the reason, and their survivors are "equivalent". A missing barrier often
changes nothing on one device; where Oclgrind is installed, races.py looks for races, too. Do not edit the checkout
meanwhile. Exits with 1 if mutants survive or were not tried.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from mutants import Mutant, mutants_of

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
#: What pytest says of a test behind its name.
OUTCOME = r"(?:PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|SUBPASSED|SUBFAILED|SUBSKIPPED)\b.*|Fatal Python error: .*"
#: Tests in the output of pytest, as they begin.
TEST = re.compile(rf"^(tests/[^:\s]+::.+?)(?: (?:{OUTCOME})?)?$", re.MULTILINE)
#: Where the summaries begin, which name tests again: those with warnings, also passed ones.
SUMMARIES = re.compile(r"^=+ (?:FAILURES|ERRORS|warnings summary|short test summary info) =+$", re.MULTILINE)
#: How often the tests of a mutant are begun, when such fail as fail without it.
MOST_TRIES = 6
#: Bytes of memory that no test takes.
MOST_MEMORY = 8 << 30
EQUIVALENTS = ROOT / "tests" / "equivalents.toml"


@dataclass(frozen=True)
class Family:
    """Folders and files of Python, of kernels, and of the tests of both."""

    python: tuple[str, ...]
    kernels: tuple[str, ...]
    tests: tuple[str, ...]


FAMILIES = {
    "hull": Family(
        ("clgeom/hull",),
        ("templates/hull", "cl_src/batch", "cl_src/geometry", "cl_src/hood"),
        ("tests/hull", "tests/test_pandas.py"),
    ),
    "region": Family(
        ("clgeom/region",),
        ("templates/region", "cl_src/arc", "cl_src/coverage", "cl_src/rings"),
        ("tests/region", "tests/scale/test_region_points.py"),
    ),
    "sorting": Family(
        ("clgeom/sorting",),
        ("templates/sorting", "cl_src/keys"),
        ("tests/sorting", "tests/scale"),
    ),
    "primitives": Family(
        ("clgeom/primitives",),
        ("templates/primitives", "cl_src/group", "cl_src/portable.h"),
        ("tests/primitives", "tests/core", "tests/hull", "tests/sorting"),
    ),
    "dp": Family(("clgeom/dp",), ("templates/dp", "cl_src/dp"), ("tests/dp",)),
    "sequences": Family(("clgeom/sequences",), ("templates/sequences", "cl_src/sequences"), ("tests/sequences",)),
    "radio": Family(("clgeom/radio",), ("templates/radio", "cl_src/radio"), ("tests/radio",)),
    "core": Family(
        ("clgeom/core", "clgeom/intake", "clgeom/quirks"), (), ("tests/core", "tests/intake", "tests/quirks")
    ),
    "io": Family(("clgeom/io", "clgeom/geo"), (), ("tests/io", "tests/commands", "tests/hull/test_antimeridian.py")),
    "commands": Family(("clgeom/commands",), (), ("tests/commands", "tests/io", "tests/plotting")),
    "scale": Family(("clgeom/scale", "clgeom/dask"), (), ("tests/scale", "tests/commands")),
    "plotting": Family(("clgeom/plotting",), (), ("tests/plotting", "tests/commands")),
}
#: Tests of all families, after a family's own.
SHARED_TESTS = ("tests/test_guards.py", "tests/test_selftest.py", "tests/test_one_answer.py", "tests/test_exactness.py")
#: Parts that cannot change an answer, or that are checks themselves: shapes of work-groups, trials of devices.
LEFT_OUT = re.compile(r"/checks\.py$|/tuning\.py$|/polic\w+\.py$|/spaces\.py$|/gains\.py$|/limits\.py$|/study/")
#: Families of races.py with the kernels of a family here.
RACES = {
    "hull": ("hull", "batch", "hoods"),
    "region": ("region", "coverage"),
    "sorting": ("sorting", "shellsort"),
    "primitives": ("hull", "sorting"),
    "dp": ("dp", "dp_batches"),
    "sequences": ("alignment", "dp", "dp_batches"),
    "radio": ("radio",),
}
#: What may become of a mutant.
VERDICTS = ("killed", "equivalent", "survived", "invalid", "not tried")
#: How often each kind is drawn, where a family has it.
WEIGHTS = {"operator": 10, "constant": 5, "index": 4, "barrier": 2}


def main(argv=None) -> int:
    try:
        return _main(argv)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _main(argv):
    parser = _parser()
    options = parser.parse_args(argv)
    families = options.family or list(FAMILIES)
    if min(options.count, options.jobs) < 1:
        parser.error("--count and --jobs must be at least 1")
    if options.again:
        try:
            chosen = _again(json.loads(Path(options.again).read_text()))
        except (OSError, ValueError, TypeError, KeyError) as error:
            parser.error(f"--again needs a file that --record has written: {error}")
    else:
        chosen = draw(families, options.of, options.count, options.seed)
        if not chosen:
            parser.error(f"there are no {options.of} in {', '.join(families)}")
    if options.list:
        for name, mutant in chosen:
            before, after = mutant.lines((ROOT / mutant.path).read_bytes())
            print(f"{name}: {mutant.path}:{mutant.line} [{mutant.kind}]\n    {before}\n    {after}")
        return 0
    with tempfile.TemporaryDirectory(prefix="clgeom-mutation-") as folder:
        results = Trials(Path(folder), options).of(chosen)
    print("\n" + table(results))
    return not results or any(one["verdict"] in ("survived", "not tried") for one in results)


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        epilog=__doc__.split("\n\n", 1)[1],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--family", action="append", choices=FAMILIES, help="may be repeated; default: all")
    add("--of", choices=("kernels", "python", "both"), default="both")
    add("--count", type=int, default=50, metavar="N", help="how many mutants, over all families (default: 50)")
    add("--seed", type=int, default=1, metavar="N", help="another number draws other mutants (default: 1)")
    add("--jobs", type=int, default=os.cpu_count(), metavar="N", help="mutants at a time")
    add("--profile", choices=("ci", "default"), default="ci", help="the cases of CI, or all (default: ci)")
    add("--stall", type=float, default=150, metavar="S", help="seconds in which a test must end (default: 150)")
    add("--minutes", type=float, metavar="M", help="try no further mutants after so long")
    add("--device", metavar="NAME", help="the device to test on, as for pytest")
    add("--again", metavar="FILE", help="try the survivors of this record")
    add("--record", metavar="FILE", help="write all results as JSON")
    add("--list", action="store_true", help="print the mutants, and try none")
    return parser


def draw(families, of, count, seed) -> list[tuple[str, Mutant]]:
    """Random mutants, as many of each family as of any other, at most one of a line."""
    generator = random.Random(seed)
    shares = [(name, kind) for name in families for kind in ("kernels", "python") if of in (kind, "both")]
    shares = [share for share in shares if getattr(FAMILIES[share[0]], share[1])]
    pools = {share: candidates(*share) for share in shares}
    chosen, lines = [], set()
    while len(chosen) < count and (left := [share for share in shares if any(pools[share].values())]):
        for share in left[: count - len(chosen)]:
            pool = pools[share]
            kinds = sorted(kind for kind in pool if pool[kind])
            kind = generator.choices(kinds, [WEIGHTS[kind] for kind in kinds])[0]
            mutant = pool[kind].pop(generator.randrange(len(pool[kind])))
            if (mutant.path, mutant.line) not in lines:
                lines.add((mutant.path, mutant.line))
                chosen.append((share[0], mutant))
    return chosen


def candidates(family: str, of: str) -> dict[str, list[Mutant]]:
    """All mutants of the kernels or the Python of a family, by kind."""
    found = {kind: [] for kind in WEIGHTS}
    for name in getattr(FAMILIES[family], of):
        place = ROOT / name
        for path in [place] if place.is_file() else sorted(place.rglob("*")):
            relative = path.relative_to(ROOT).as_posix()
            if path.suffix in (".py", ".h", ".mako") and not LEFT_OUT.search(relative):
                for mutant in mutants_of(ROOT, relative):
                    found[mutant.kind].append(mutant)
    return found


def _again(results):
    """The mutants of a record that were not killed, found by their lines."""
    chosen = []
    for one in results:
        if one["verdict"] not in ("survived", "not tried"):
            continue
        source = (ROOT / one["path"]).read_bytes()
        wanted = one["before"], one["after"]
        alike = [mutant for mutant in mutants_of(ROOT, one["path"]) if mutant.lines(source) == wanted]
        if not alike:
            print(f"{one['path']}: {one['before']!r} is gone")
            continue
        chosen.append((one["family"], min(alike, key=lambda mutant: abs(mutant.line - one["line"]))))
    return chosen


class Trials:
    """Copies of the checkout in which mutants are tried, one for each job."""

    def __init__(self, folder: Path, options):
        self.folder, self.options = folder, options
        self.copies = [folder / f"copy{i}" for i in range(options.jobs)]
        self.free, self.lock = list(self.copies), threading.Lock()
        self.equivalents = {(one["path"], one["before"], one["after"]) for one in equivalents()}
        self.left_out, self.results = set(), []
        self.end = time.monotonic() + 60 * options.minutes if options.minutes else None

    def of(self, chosen):
        for copy in self.copies:
            hidden = shutil.ignore_patterns(".*", "__pycache__", "build", "*.egg-info")
            shutil.copytree(ROOT, copy, ignore=hidden)
        with concurrent.futures.ThreadPoolExecutor(len(self.copies)) as pool:
            try:
                list(pool.map(lambda one: self._try(*one), chosen))
            except KeyboardInterrupt:
                self.end = -math.inf  # ends the tests that run
                raise
        return self.results

    def is_over(self) -> bool:
        """Whether the time is over, so that what a run said means nothing."""
        return self.end is not None and time.monotonic() > self.end

    def _try(self, name, mutant):
        if self.is_over():
            return
        source = (ROOT / mutant.path).read_bytes()
        start = time.monotonic()
        with self._copy() as copy:
            file = copy / mutant.path
            try:
                verdict, by, output = self._verdict(copy, file, mutant.applied(source), test_files(name, mutant.path))
                if verdict == "survived" and mutant.kind == "barrier" and self._has_races(copy, file, source, name):
                    verdict, by = "killed", "tests/races.py"
            finally:
                file.write_bytes(source)
        seconds = time.monotonic() - start
        if self.is_over():
            return  # it was not tried to the end
        before, after = mutant.lines(source)
        if verdict == "survived" and (mutant.path, before, after) in self.equivalents:
            verdict = "equivalent"
        result = {
            **{"family": name, "of": "python" if mutant.path.endswith(".py") else "kernels", "kind": mutant.kind},
            **{"path": mutant.path, "line": mutant.line, "before": before, "after": after},
            **{"verdict": verdict, "by": by, "seconds": round(seconds)},
        }
        shown = {"survived": f"\n    {before}\n    {after}", "not tried": "\n" + output[-2000:]}.get(verdict, "")
        print(f"{verdict:10} {mutant.path}:{mutant.line} {by} ({seconds:.0f} s){shown}", flush=True)
        with self.lock:
            self.results.append(result)
            if self.options.record:
                write(self.options.record, self.results)

    def _verdict(self, copy, file, mutated, tests):
        """What became of a mutant in a copy, the test that noticed it, and the output of the tests."""
        source = file.read_bytes()
        for _ in range(MOST_TRIES):
            file.write_bytes(mutated)
            output, code = self._run(copy, tests)
            if code == 0:
                return "survived", "", output
            if self.is_over():
                break
            of_kernels = file.suffix != ".py"
            if code == 1 and of_kernels and "KernelBuildError" in output and "The compiler said" in output:
                return "invalid", "", output
            begun = tests_in(output)
            if not begun:  # pytest did not run the tests
                file.write_bytes(source)
                if self._run(copy, ["--collect-only", *tests])[1] == 0:
                    return "killed", "importing the tests", output
                break
            if self._run(copy, begun[-1:])[1] != 0:
                file.write_bytes(source)
                if self._run(copy, begun[-1:])[1] == 0:
                    return "killed", begun[-1], output
            file.write_bytes(source)
            if self._run(copy, begun)[1] == 0:  # it fails after others only, whose work the mutant has changed
                return "killed", begun[-1], output
            if self.is_over():
                break
            print(f"left out, for it fails without a mutant or not always: {begun[-1]}", flush=True)
            with self.lock:
                self.left_out.add(begun[-1])
        return "not tried", "", output

    def _has_races(self, copy, file, source, name):
        """Whether Oclgrind reports races in the kernels of a family with a mutant, and none without."""
        if not shutil.which("oclgrind"):
            return False
        for family in RACES[name]:
            if self._end_of_races(copy, family) == 1:
                mutated = file.read_bytes()
                file.write_bytes(source)
                clean = self._end_of_races(copy, family) == 0
                file.write_bytes(mutated)
                if clean:
                    return True
        return False

    def _end_of_races(self, copy, family):
        command = [sys.executable, "tests/races.py", family]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(command, cwd=copy, env=environment, capture_output=True).returncode

    @contextlib.contextmanager
    def _copy(self):
        """A copy of the checkout that no other mutant is in."""
        with self.lock:
            copy = self.free.pop()
        try:
            yield copy
        finally:
            with self.lock:
                self.free.append(copy)

    def _run(self, copy, tests):
        """The output of tests in a copy until one fails, and the exit code; None where they stood still."""
        caches = copy.with_name(copy.name + "-cache")
        shutil.rmtree(caches, ignore_errors=True)
        given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        environment = {
            "POCL_CACHE_DIR": str(self.folder / "kernels"),
            "POCL_MAX_PTHREAD_COUNT": "2",  # as in CI
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                [str(copy), str(copy / "tests"), str(Path(__file__).resolve().parent), *given]
            ),
            "PYTHONDONTWRITEBYTECODE": "1",  # two mutants may have one size and one time
            "XDG_CACHE_HOME": str(caches),
        }
        environment.pop("CI", None)
        if self.options.profile == "ci":
            environment["CI"] = "true"
        listed = copy.with_name(copy.name + "-tests.txt")  # more names than a command may have
        listed.write_text("\n".join(tests), encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-v",
            "-n",
            "0",
            "--tb=short",
            "-p",
            "no:cacheprovider",
            "-m",
            "slow or not slow",
            f"@{listed}",
        ]
        command += ["--device", self.options.device] if self.options.device else []
        with self.lock:
            left_out = "".join(f"{test}\n" for test in sorted(self.left_out))
        names = copy.with_name(copy.name + "-left-out.txt")
        names.write_text(left_out, encoding="utf-8")
        command += ["-p", "left_out", f"--left-out={names}"]
        said = copy.with_name(copy.name + ".txt")
        with said.open("wb") as file:
            process = subprocess.Popen(
                command, cwd=copy, env=environment, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            code = self._exit_code(process, said)
        finally:
            end(process)
        return said.read_text(errors="replace"), code

    def _exit_code(self, process, said):
        length, since = 0, time.monotonic()
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(1)
            if said.stat().st_size > length:
                length, since = said.stat().st_size, time.monotonic()
            if memory_of(process) > MOST_MEMORY or time.monotonic() > min(
                since + self.options.stall, math.inf if self.end is None else self.end + 5
            ):
                return None


def tests_in(output: str) -> list[str]:
    """The tests that began, in order."""
    return TEST.findall(SUMMARIES.split(output, maxsplit=1)[0])


def memory_of(process) -> int:
    """The bytes that a process holds, where the system says so."""
    with contextlib.suppress(OSError):
        pages = Path(f"/proc/{process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    return 0


def end(process):
    """End a process and its children."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, 9)
    process.wait()


def write(path, results):
    ordered = sorted(results, key=lambda one: (one["of"], one["family"], one["path"], one["line"]))
    Path(path).write_text(json.dumps(ordered, indent=1) + "\n")


def test_files(family: str, path: str) -> list[str]:
    """A family's test files, those first whose names have words that begin as in a mutated file's path; then all's."""
    wanted = tuple(set(re.findall(r"[a-z]{3,}", path)) - {"mako", "clgeom", "templates", "src"})
    files = []
    for name in FAMILIES[family].tests:
        place = ROOT / name
        mine = [place] if place.is_file() else sorted(place.glob("test_*.py"))
        mine.sort(key=lambda file: -sum(word.startswith(wanted) for word in file.stem.split("_")))
        files += mine
    return [file.relative_to(ROOT).as_posix() for file in [*files, *(ROOT / name for name in SHARED_TESTS)]]


def equivalents() -> list[dict]:
    """Changes that nobody can notice: path, line before and after, and the reason."""
    return tomllib.loads(EQUIVALENTS.read_text(encoding="utf-8"))["mutant"]


def table(results) -> str:
    """How many mutants of each family the tests killed."""
    rows = [f"{'':22}" + "".join(f"{verdict:>12}" for verdict in VERDICTS) + f"{'killed of all others':>22}"]
    groups = {}
    for one in results:
        groups.setdefault((one["of"], one["family"]), []).append(one["verdict"])
    for of in ("kernels", "python"):
        mine = {key: verdicts for key, verdicts in sorted(groups.items()) if key[0] == of}
        for (_, family), verdicts in mine.items():
            rows.append(_row(f"{of} of {family}", verdicts))
        if mine:
            rows.append(_row(f"{of} in all", [one for verdicts in mine.values() for one in verdicts]))
    return "\n".join(rows)


def _row(name, verdicts):
    counts = {verdict: verdicts.count(verdict) for verdict in VERDICTS}
    others = counts["killed"] + counts["survived"]
    share = f"{100 * counts['killed'] / others:.0f} %" if others else ""
    return f"{name:22}" + "".join(f"{count:12}" for count in counts.values()) + f"{share:>22}"


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
