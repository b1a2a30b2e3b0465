"""Processes and clusters: the same answers, one session each, workers that die, that share devices, that have none."""

import os
import pickle
import signal

import numpy as np
import pytest
from clouds import cloud

import clgeom
from clgeom import errors

pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
import clgeom.dask as lazily  # noqa: E402
from clgeom.dask import workers  # noqa: E402

POINTS = np.concatenate([cloud("normal", 3_000, np.float32), cloud("circle", 500, np.float32)])


@pytest.fixture(scope="module")
def client():
    """Two workers, processes of two threads each; worker 1 has a resource."""
    import dask
    from distributed import Client, Nanny, Scheduler, SpecCluster

    quiet = {"distributed.worker.resources": {}, "distributed.scheduler.work-stealing": False}
    workers_of = {
        k: {
            "cls": Nanny,
            "options": {"nthreads": 2, "resources": resources, "dashboard_address": None, "host": "127.0.0.1"},
        }
        for k, resources in enumerate(({}, {"GPU": 1}))
    }
    options = {"dashboard_address": None, "dashboard": False, "host": "127.0.0.1", "allowed_failures": 3}
    with (
        dask.config.set(quiet),
        SpecCluster(workers_of, {"cls": Scheduler, "options": options}, silence_logs=50) as cluster,
    ):
        with Client(cluster) as client:
            yield client


def addresses(client):
    return {info["name"]: address for address, info in client.scheduler_info(n_workers=-1)["workers"].items()}


def same(found, expected):
    assert found.vertices.tolist() == expected.vertices.tolist() and found.points.tobytes() == expected.points.tobytes()


def dying(block, block_info=None, folder=None):
    """The block; the first time that block 1 is asked for, its worker dies."""
    (number, _) = block_info[0]["chunk-location"]
    mark = os.path.join(folder, "died")
    if number == 1 and not os.path.exists(mark):
        open(mark, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.mark.slow
def test_hull_when_a_worker_dies(client, tmp_path):
    expected = clgeom.convex_hull(POINTS)
    array = da.from_array(POINTS, chunks=(500, 2)).map_blocks(dying, folder=str(tmp_path), dtype="f4")
    same(lazily.convex_hull(array, split_every=2).compute(), expected)
    assert (tmp_path / "died").exists()


def sessions(_):
    """The process and its sessions."""
    return os.getpid(), [repr(session) for session in workers._sessions.values()]


def test_results_of_a_cluster(client):
    client.wait_for_workers(2)
    array = da.from_array(POINTS, chunks=(250, 2)).persist()
    labels = da.from_array(np.arange(len(POINTS)) % 9, chunks=250)
    hull, batch = lazily.convex_hull(array), lazily.convex_hulls_by_label(array, labels)
    del array  # the graph holds what was persisted
    raster = np.random.default_rng(1).normal(size=(60, 40)).astype("f4").round(1)
    regions = lazily.coverage_regions(da.from_array(raster, chunks=(9, 40)), 0.5, holes=0, outline="segments")
    hull, batch, regions = client.gather(client.compute([hull, batch, regions]))
    same(hull, clgeom.convex_hull(POINTS))
    expected = clgeom.convex_hulls_by_label(POINTS, labels.compute())
    same(batch, expected)
    assert batch.areas.tolist() == expected.areas.tolist() and batch.labels.tolist() == list(range(9))
    assert [one.area for one in regions] == [
        one.area for one in clgeom.coverage_regions(raster, 0.5, holes=0, outline="segments")
    ]
    for address in addresses(client).values():
        assert len(client.submit(sessions, 0, workers=[address], pure=False).result()[1]) == 1


def seen(options, number, chunk):
    """In place of the task of a chunk: the name of its worker."""
    from distributed import get_worker

    return get_worker().name


def test_resources_choose_the_worker(client, monkeypatch):
    client.wait_for_workers(2)
    array = da.from_array(POINTS, chunks=(500, 2)).persist(workers=[addresses(client)[0]])
    from clgeom.dask import hulls

    monkeypatch.setattr(hulls, "_hull_of_chunk", seen)
    monkeypatch.setattr(hulls, "_join", collected)
    monkeypatch.setattr(hulls, "_finish", kept)
    assert lazily.convex_hull(array, resources={"GPU": 1}).compute() == {1}
    assert 0 in lazily.convex_hull(array, split_every=3).compute()  # where the chunks are


def collected(options, parts):
    return set().union(*({part} if isinstance(part, int) else part for part in parts))


def kept(options, part):
    return part


def place():
    return workers.place_on_host()


def test_workers_are_counted_on_their_host(client):
    client.wait_for_workers(2)
    for name, address in addresses(client).items():
        assert client.submit(place, workers=[address], pure=False).result() == name


def without_device(wanted):
    """Let this worker look for its session again, among devices of this name."""
    workers._sessions.clear()
    if wanted is None:
        del os.environ["CLGEOM_DEVICE"]
    else:
        os.environ["CLGEOM_DEVICE"] = wanted


def test_worker_without_a_device_is_named(client):
    client.wait_for_workers(2)
    client.run(without_device, "no such device")
    try:
        array = da.from_array(POINTS, chunks=(2_000, 2))
        with pytest.raises(
            errors.NoDevice, match=r"^Dask's worker [01] at tcp://\S+ cannot use OpenCL. .*CLGEOM_DEVICE"
        ):
            lazily.convex_hull(array).compute()
    finally:
        client.run(without_device, None)


@pytest.mark.slow
def test_hull_of_the_processes_of_dask():
    """Dask's own scheduler of processes, of which each has its session, or says what it lacks."""
    array = da.from_array(POINTS, chunks=(2_000, 2))
    same(lazily.convex_hull(array).compute(scheduler="processes", num_workers=1), clgeom.convex_hull(POINTS))
    error = pickle.loads(pickle.dumps(errors.NoDevice("The process 7 of Dask cannot use OpenCL.")))
    assert isinstance(error, errors.NoDevice) and str(error).startswith("The process 7")
