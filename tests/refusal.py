"""Whether a device that computes wrongly is refused by every public function, and is not the default. Opt-in.

    RUSTICL_ENABLE=llvmpipe python tests/refusal.py rusticl      # apt-get install mesa-opencl-icd

Another device must be present. Calls of few keys, which the host computes, are right instead. Exits with 1 on a wrong
result.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]


def outcome(call, session, other):
    """What became of a call on a device, compared with another one: "refused", "right" or "wrong"."""
    from clgeom.errors import DeviceError

    try:
        found = call(session)
    except DeviceError as error:
        return "refused" if "computes wrongly" in str(error) else f"wrong: {error}"
    return "right" if found == call(other) else "wrong"


def main(name):
    from calls import CALLS

    import clgeom
    from clgeom.core.device import Session

    session, other = Session(name), clgeom.default_session()
    assert session.device != other.device, f"{name} is the default device"
    found = {call: outcome(CALLS[call], session, other) for call in CALLS}
    for call, result in found.items():
        print(f"{result:<8} {call}")
    wrong = [call for call, result in found.items() if result not in ("refused", "right")]
    print(f"{len(found) - len(wrong)} of {len(found)} calls refused or right")
    return int(bool(wrong) or "refused" not in found.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
