"""What families say about their kernels: found by the kernel's name, imported when asked for."""

import json
import subprocess
import sys

import numpy as np
import pytest
from profiles import imaginary as profile

from clgeom.core import sources, tuning
from clgeom.core.checks import Check, check, require, same
from clgeom.core.families import all_checks, all_rows, all_spaces, policies_of, policy_class, require_shape, rows_of
from clgeom.core.policies import Limit, Policy
from clgeom.errors import InvalidInput
from clgeom.hull.policies import POLICIES

SIEVE = "hull/sieve/sieve"


def test_policies_are_in_the_module_of_the_first_folder():
    assert rows_of(SIEVE) is POLICIES[SIEVE] and all_rows()[SIEVE] is POLICIES[SIEVE]
    for family in sources.families():
        module = policies_of(family)
        named = {*module.POLICIES, *module.SPACES, *getattr(module, "LIMITS", {})}
        assert named <= {kernel for kernel in sources.kernels() if kernel.startswith(f"{family}/")}
        assert {*module.SPACES, *getattr(module, "LIMITS", {})} <= set(module.POLICIES)
    assert len(all_spaces()) > 100 and all(policy_class(kernel) for kernel in all_rows())


def test_trials_are_of_kernels_of_their_own_family():
    for one in all_checks():
        assert all(f"{name}/".startswith(f"{one.family}/") for name in one.before)
    names = [one.name for one in all_checks()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "kernel", ("", "hull", "hull/nothing", "os/path", "os.path/x", "../hull/x", "core/x", "x" * 999)
)
def test_other_names_have_no_policies_and_import_nothing(kernel):
    before = set(sys.modules)
    assert rows_of(kernel) == {} and policy_class(kernel) is Policy
    require_shape(kernel, Policy())
    with pytest.raises(KeyError, match="has no row in clgeom/"):
        tuning.select(profile(), kernel)
    assert set(sys.modules) == before


def test_a_family_is_imported_when_it_is_asked_for():
    program = """
import json, sys
import clgeom
from clgeom.core import checks, families, trust, tuning
def loaded(): return sorted(n for n in sys.modules if n.endswith((".policies", ".checks")) and ".core." not in n)
seen = [loaded()]
families.rows_of("primitives/scan_totals")
seen.append(loaded())
trust.first_trial()
seen.append(loaded())
print(json.dumps(seen))
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(found.stdout) == [
        [],
        ["clgeom.primitives.policies"],
        ["clgeom.primitives.checks", "clgeom.primitives.policies"],
    ]


def test_a_limit_is_of_a_field_and_a_variant():
    limit = Limit("items_per_thread", range(1, 5), "at most 4", "group")
    limit.require("a/kernel", Policy("group", 8, 4))
    limit.require("a/kernel", Policy("serial", 1, 5))
    words = "The items_per_thread of a/kernel must be at most 4 in the variant 'group'. Got 5 instead."
    with pytest.raises(InvalidInput, match=words):
        limit.require("a/kernel", Policy("group", 8, 5))
    with pytest.raises(InvalidInput, match=r"The wg_size of a/kernel must be 8\. Got 4 instead\."):
        Limit("wg_size", (8,), "8").require("a/kernel", Policy("group", 4))


def test_a_check_runs_for_the_types_that_a_device_has(session):
    seen = []

    @check("a: one two", "b/c: three", before="a", by_type=True)
    def typed(session, dtype):
        seen.append(dtype.name)
        return f"{dtype.itemsize} bytes"

    assert isinstance(typed, Check) and typed.kernels == ("a/one", "a/two", "b/c/three") and typed.before == ("a",)
    assert typed.run_all(session) == ("4 bytes; 8 bytes" if session.profile.fp64 else "4 bytes")
    assert seen == ["float32", *["float64"] * session.profile.fp64, "int32"]
    assert typed.run(session) == "4 bytes" and seen[-1] == "float32"
    plain = check(before=["a", "b"])(lambda session: "once")
    assert (plain.kernels, plain.before, plain.run_all(session)) == ((), ("a", "b"), "once")


def test_what_is_wrong_is_raised():
    same([1, 2], np.array([1, 2]), "numbers")
    require(True, "a fact")
    with pytest.raises(AssertionError, match="numbers: got array.*, expected array"):
        same([1, 2], [1, 3], "numbers")
    with pytest.raises(AssertionError, match="a fact"):
        require(False, "a fact")
