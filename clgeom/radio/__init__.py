"""Radio maps: path loss by Walfisch-Ikegami, free space and two rays, and synthetic maps with shadowing.

The names are loaded when they are first used.
"""

from clgeom.lazy import lazy_names

TYPE_CHECKING = False  # as in typing, whose import takes longer than that of this module
#: Public names by module; a module's own name stands for the module.
_HOMES = {
    "antennas": "Antenna sector_antenna",
    "beacon": "BeaconFix locate_by_beacon",
    "beams": "beam_pattern",
    "maps": "coverage_map distance_map orientation_map shadowing",
    "path_loss": "free_space two_ray walfisch_ikegami",
    "planet": "read_antenna",
    "results": "RadioMap ServerMap",
    "servers": "best_server",
    "terrain": "knife_edge_loss terrain_loss",
    "transmitters": "Transmitter receiver_sensitivity",
    "urban": "cost231_hata okumura_hata rural_macro urban_macro urban_micro",
}

if TYPE_CHECKING:
    from clgeom.radio.antennas import Antenna as Antenna, sector_antenna as sector_antenna
    from clgeom.radio.beacon import BeaconFix as BeaconFix, locate_by_beacon as locate_by_beacon
    from clgeom.radio.beams import beam_pattern as beam_pattern
    from clgeom.radio.maps import (
        coverage_map as coverage_map,
        distance_map as distance_map,
        orientation_map as orientation_map,
        shadowing as shadowing,
    )
    from clgeom.radio.path_loss import (
        free_space as free_space,
        two_ray as two_ray,
        walfisch_ikegami as walfisch_ikegami,
    )
    from clgeom.radio.planet import read_antenna as read_antenna
    from clgeom.radio.results import RadioMap as RadioMap, ServerMap as ServerMap
    from clgeom.radio.servers import best_server as best_server
    from clgeom.radio.terrain import knife_edge_loss as knife_edge_loss, terrain_loss as terrain_loss
    from clgeom.radio.transmitters import Transmitter as Transmitter, receiver_sensitivity as receiver_sensitivity
    from clgeom.radio.urban import (
        cost231_hata as cost231_hata,
        okumura_hata as okumura_hata,
        rural_macro as rural_macro,
        urban_macro as urban_macro,
        urban_micro as urban_micro,
    )
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__, globals(), _HOMES)
