"""Compare the speed and the results of two commits: a regression ends with exit code 1.

    python bench/compare.py HEAD~5 HEAD
    python bench/compare.py main . --what hull,sort --device nvidia --seconds 30

OLD and NEW are commits, of which worktrees are made in a temporary folder, or folders of checkouts as they are. Three
processes, two of OLD and one of NEW, take turns with the same short calls for about `--seconds`. "new/old" is the
median of the ratios of the rounds, since other load changes from round to round; "noise" is the larger of the ratio
between the two processes of OLD and the error of the median, and no less than the median of that over all cases. A
case is slower if its ratio is beyond both noise and `--threshold`, also when new processes measure it again. Results
are compared by digests; other results end with exit code 1, too.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
#: Calls of a case are repeated so that a turn of the slowest process takes so many seconds.
TURN = 0.01
#: Turns of each process in a case, at least and at most.
TURNS = 5, 60
OLD, AGAIN, NEW = "old", "old again", "new"


class Stopped(Exception):
    """Why nothing can be compared."""


class Child:
    """A process that runs cases with the clgeom of a folder."""

    def __init__(self, folder: Path, options, stack):
        self.folder, self.log = folder, stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8"))
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}
        command = [sys.executable, str(HERE / "compare_cases.py"), options.device or "", f"{options.scale:g}"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self.log, "text": True}
        self.process = stack.enter_context(subprocess.Popen(command, env=env, cwd=folder, **pipes))
        stack.callback(self.process.kill)

    def begun(self) -> dict:
        """What the process says of itself when it is ready."""
        about = self.answer()
        if "error" in about:
            raise Stopped(f"{self.folder}: {about['error']}")
        if not Path(about["file"]).resolve().is_relative_to(self.folder.resolve()):
            raise Stopped(f"{about['file']} was imported, not the clgeom of {self.folder}")
        return about

    def ask(self, case: str, calls: int) -> dict:
        try:
            print(json.dumps({"case": case, "calls": calls}), file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass  # the answer says it
        return self.answer()

    def answer(self) -> dict:
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        self.log.seek(0)
        said = self.log.read().strip().splitlines() or ["it said nothing"]
        return {"error": f"the process ended with code {self.process.wait()}: {said[-1]}"}


@contextlib.contextmanager
def checkouts(names):
    """The folders of checkouts: those that are named, and worktrees of commits, which are removed in the end."""
    with tempfile.TemporaryDirectory(prefix="clgeom-compare-") as folder:
        made = {}
        try:
            for number, name in enumerate(dict.fromkeys(names)):
                if not (Path(name) / "clgeom").is_dir():
                    made[name] = Path(folder) / str(number)
                    git("worktree", "add", "--detach", "--quiet", str(made[name]), f"{name}^{{commit}}")
            yield [made.get(name, Path(name).resolve()) for name in names]
        finally:
            for path in made.values():
                if path.exists():
                    git("worktree", "remove", "--force", str(path))


def git(*words):
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
    if done.returncode:
        raise Stopped(f"git {words[0]} says: {done.stderr.strip()}")


# Measuring --------------------------------------------------------------------------------------------------------


def measured(folders, names, options) -> list[dict]:
    """A row for each of the cases `names` (None: of those that ``--what`` chooses)."""
    with contextlib.ExitStack() as stack:
        places = {OLD: folders[0], AGAIN: folders[0], NEW: folders[1]}
        children = {which: Child(folder, options, stack) for which, folder in places.items()}
        about = [child.begun() for child in children.values()]
        names = chosen(about[0]["cases"], options.what) if names is None else names
        print(f"{about[0]['device']}; old: {options.old}, new: {options.new}", flush=True)
        return [row_of(children, name, options.seconds / len(names)) for name in names]


def chosen(names, what) -> list[str]:
    """The cases whose names begin with one of the words of ``--what``."""
    words = what.split(",") if what else [""]
    unknown = [word for word in words if not any(name.startswith(word) for name in names)]
    if unknown:
        raise Stopped(f"no case begins with {', '.join(unknown)}; there are {', '.join(names)}")
    return [name for name in names if name.startswith(tuple(words))]


def row_of(children, name, seconds) -> dict:
    """Times of a case by all processes in turn, for so many seconds."""
    first = {which: child.ask(name, 0) for which, child in children.items()}
    for which in (NEW, OLD, AGAIN):
        if "error" in first[which]:
            return failure(name, which, first[which])
    calls = math.ceil(TURN / max(answer["seconds"] for answer in first.values()))
    times, begin, order = {which: [] for which in children}, time.perf_counter(), list(children)
    shuffle = random.Random(0).shuffle
    while len(times[OLD]) < TURNS[0] or (len(times[OLD]) < TURNS[1] and time.perf_counter() - begin < seconds):
        shuffle(order)
        for which in order:
            answer = children[which].ask(name, calls)
            if "error" in answer:
                return failure(name, which, answer)
            times[which].append(answer["seconds"])
    same = len({answer["digest"] for answer in first.values()}) == 1
    return {"case": name, **judged(times[OLD], times[AGAIN], times[NEW]), "results": "same" if same else "DIFFER"}


def failure(name, which, answer) -> dict:
    """The row of a case that fails. That of OLD alone may be a call it does not have yet."""
    return {"case": name, "said": f"{which}: {answer['error'][:100]}", "failed": which == NEW}


def judged(old, again, new) -> dict:
    """Medians in ms, the ratio and its noise, from the seconds of two processes of OLD and one of NEW, by rounds."""
    ratios = [after / math.sqrt(one * other) for one, other, after in zip(old, again, new)]
    between = abs(statistics.median(other / one for one, other in zip(old, again)) - 1)
    # both ms by rounds, as the ratio: medians of all times would mix rounds of more and of less load
    before = 1e3 * statistics.median(math.sqrt(one * other) for one, other in zip(old, again))
    after = 1e3 * statistics.median(new)
    noise = max(between, error_of(ratios))
    return {"old ms": before, "new ms": after, "new/old": statistics.median(ratios), "noise": noise}


def error_of(values) -> float:
    """The relative error of a median: half the notch of a box plot."""
    low, middle, high = statistics.quantiles(values, n=4)
    return 1.57 * (high - low) / middle / math.sqrt(len(values))


def slower(rows, threshold) -> list[str]:
    """The cases that are slower beyond noise and threshold."""
    usual = statistics.median([row["noise"] for row in rows if "noise" in row] or [0.0])
    return [row["case"] for row in rows if "noise" in row and row["new/old"] - 1 > max(row["noise"], usual, threshold)]


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", metavar="OLD", help="a commit, or the folder of a checkout")
    parser.add_argument("new", metavar="NEW", help="a commit, or the folder of a checkout")
    parser.add_argument("--what", help="beginnings of cases, with commas between them: hull,sort,region,rings ...")
    parser.add_argument("--device", help="part of the device's name")
    parser.add_argument(
        "--seconds", type=common.number(), default=60.0, help="for all cases, besides what they take to begin"
    )
    parser.add_argument(
        "--threshold", type=common.number(), default=0.05, help="share of more time that counts as slower"
    )
    parser.add_argument(
        "--scale", type=common.number(), default=0.0, help="factor of sizes; by default 1 on a CPU, 8 on a GPU"
    )
    options = parser.parse_args(arguments)
    try:
        with checkouts([options.old, options.new]) as folders:
            rows = measured(folders, None, options)
            suspects = slower(rows, options.threshold)
            common.print_table([{key: row.get(key) for key in row if key != "failed"} for row in rows])
            if suspects:
                print(f"\nagain: {', '.join(suspects)}")
                again = measured(folders, suspects, options)
                common.print_table(again)
                suspects = slower(again, options.threshold)
    except Stopped as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    differing = [row["case"] for row in rows if row.get("results") == "DIFFER"]
    failed = [row["case"] for row in rows if row.get("failed")]
    for names, what in ((suspects, "slower"), (differing, "other results"), (failed, "failed")):
        if names:
            print(f"{what}: {', '.join(names)}")
    if not (suspects or differing or failed):
        print("nothing is slower beyond the noise, and all results are the same")
    return int(bool(suspects or differing or failed))


if __name__ == "__main__":
    sys.exit(main())
