"""No kernel writes beyond its memory: the calls of races.py, in the shapes of GPUs, with guards behind every buffer."""

import pytest
import races
from device_settings import imposed_session
from guards import guarded

from clgeom.core.device import as_session


@pytest.mark.parametrize("family", races.FAMILIES)
def test_kernels_write_within_their_memory(family):
    session = imposed_session(as_session(None).device, kind="gpu")
    with guarded(session):
        races.FAMILIES[family](session)
