"""The codecs of a Zarr store, which its metadata names: only those that decode numbers and texts may run.

Among the codecs that Zarr knows is "pickle", which runs what the store says.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clgeom.arguments import wrong_file
from clgeom.core.messages import shown

#: Files of metadata: of versions 2 and 3, and of all arrays of a store in one.
METADATA = (".zarray", ".zmetadata", "zarr.json")
#: Codecs of both versions. Those of version 3 may have the prefix "numcodecs.".
CODECS = frozenset(
    "adler32 astype base64 bitround blosc bytes bz2 categorize crc32 crc32c delta fixedscaleoffset fletcher32 gzip "
    "jenkins_lookup3 json2 lz4 lzma packbits pcodec quantize sharding_indexed shuffle transpose vlen-array vlen-bytes "
    "vlen-utf8 zfpy zlib zstd".split()
)
#: Bytes of metadata that are read of a file.
MOST_BYTES = 1 << 26


def check_codecs(path: Path) -> None:
    """Raise `InvalidInput` if metadata anywhere in a Zarr store name a codec that is not one of `CODECS`.

    All folders are looked into, those of chunks and those behind links, too: any of them may hold another array.
    """
    seen = set()
    for folder, folders, names in os.walk(path, followlinks=True):
        place = os.path.realpath(folder)
        if place in seen:  # a loop of links
            folders.clear()
            continue
        seen.add(place)
        for name in names:
            if name.lower() in METADATA:
                metadata = _metadata(path, Path(folder, name))
                unknown = sorted({str(codec) for codec in _codecs(metadata)} - CODECS)
                if unknown:
                    raise wrong_file(path, f"has the codec {shown(unknown[0])!r}, which is not run")


def _metadata(path: Path, file: Path) -> Any:
    """Return what a file of metadata has; `InvalidInput` if it is no JSON."""
    with file.open("rb") as opened:
        text = opened.read(MOST_BYTES + 1)
    try:
        metadata = json.loads(text) if len(text) <= MOST_BYTES else None
    except (ValueError, RecursionError):
        metadata = None
    if not isinstance(metadata, dict):
        raise wrong_file(path, f"is not a raster, or it is damaged: its '{file.name}' is no object of JSON")
    return metadata


def _codecs(metadata: Any) -> Iterator[Any]:
    """Yield the names of codecs in metadata, at any depth: also those of attributes called as if they had codecs."""
    if isinstance(metadata, dict):
        for key, name in (("codecs", "name"), ("index_codecs", "name"), ("filters", "id"), ("compressor", "id")):
            some = metadata.get(key)
            for one in some if isinstance(some, list) else [some]:
                if isinstance(one, dict):
                    yield str(one.get(name)).removeprefix("numcodecs.")
                elif isinstance(one, str):
                    yield one.removeprefix("numcodecs.")
    for value in metadata.values() if isinstance(metadata, dict) else metadata:
        if isinstance(value, (dict, list)):
            yield from _codecs(value)
