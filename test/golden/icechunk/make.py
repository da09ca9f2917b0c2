"""Makes the repository beside it that is of the icechunk it runs with, one of versions.json: repo.icechunk by
icechunk 1 (version 1 of the format), repo-v2.icechunk by icechunk 2 (version 2). Each has a branch of four versions with a tag
each, a side branch, a deleted tag; arrays with native and inline chunks, several manifests, shards, holes,
scalars; a virtual chunk. expected.json (expected-v2.json) says what each version holds.

Run: python make.py [folder]
"""
import json
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import icechunk
import numpy as np
import zarr

HERE = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
SUFFIX = "" if version("icechunk").startswith("1.") else "-v2"
PATH = HERE / f"repo{SUFFIX}.icechunk"
expected = {}


def describe(session):
    """Every array of a version, as lists, and its groups."""
    root = zarr.open_group(session.store, mode="r")
    found = {"arrays": {}, "groups": []}
    for name, node in sorted(root.members(max_depth=None)):
        if isinstance(node, zarr.Group):
            found["groups"].append(name)
        elif name != "virtual":
            found["arrays"][name] = node[...].tolist()
    return found


def commit(session, tag):
    snapshot = session.commit(f"version {tag}", metadata={"who": "make.py", "number": 1})
    repo.create_tag(tag, snapshot_id=snapshot)
    expected[tag] = describe(repo.readonly_session(tag=tag)) | {"snapshot": snapshot}


shutil.rmtree(PATH, ignore_errors=True)
split = icechunk.ManifestSplittingConfig.from_dict(
    {icechunk.ManifestSplitCondition.name_matches("many"): {icechunk.ManifestSplitDimCondition.Any(): 4}})
config = icechunk.RepositoryConfig(
    inline_chunk_threshold_bytes=40, manifest=icechunk.ManifestConfig(splitting=split))
config.set_virtual_chunk_container(
    icechunk.VirtualChunkContainer("file:///data/", icechunk.local_filesystem_store("/data")))
repo = icechunk.Repository.create(icechunk.local_filesystem_storage(str(PATH)), config=config)

session = repo.writable_session("main")
root = zarr.open_group(session.store, mode="w")
root.attrs["title"] = "golden"
native = root.create_array("group/native", shape=(7, 10), chunks=(4, 5), dtype="f8", compressors=None)
native[...] = np.arange(70).reshape(7, 10)
inline = root.create_array("group/inline", shape=(9,), chunks=(4,), dtype="i2", compressors=None)
inline[...] = np.arange(9) - 4
root.create_array("many", shape=(20,), chunks=(2,), dtype="i8", compressors=None)[...] = np.arange(20) * 11
root.create_array("scalar", shape=(), dtype="u1")[...] = 200
root.create_array("empty", shape=(3, 3), chunks=(2, 2), dtype="f4", fill_value=1.5)
commit(session, "v1")

session = repo.writable_session("main")
root = zarr.open_group(session.store)
root["group/native"][0:4, 0:5] = -1
root["group/native"].resize((9, 12))
root.create_array("sharded", shape=(8, 8), shards=(8, 4), chunks=(2, 2), dtype="u2")[2:6, 1:7] = 7
commit(session, "v2")

session = repo.writable_session("main")
root = zarr.open_group(session.store)
del root["group/inline"]
root["many"][6:8] = -5
root.create_group("group/deeper/still")
commit(session, "v3")

session = repo.writable_session("main")
root = zarr.open_group(session.store)
root.create_array("virtual", shape=(4,), chunks=(4,), dtype="i4", compressors=None)
session.store.set_virtual_ref("virtual/c/0", "file:///data/x.bin", offset=8, length=16,
                              validate_container=True)
commit(session, "v4")

repo.create_branch("side", snapshot_id=expected["v1"]["snapshot"])
session = repo.writable_session("side")
zarr.open_group(session.store)["scalar"][...] = 77
session.commit("on the side")
expected["branch:side"] = describe(repo.readonly_session(branch="side"))
expected["branch:main"] = expected["v4"]
repo.create_tag("gone", snapshot_id=expected["v2"]["snapshot"])
repo.delete_tag("gone")

shutil.rmtree(PATH / "overwritten", ignore_errors=True)  # earlier states of version 2's "repo"
(HERE / f"expected{SUFFIX}.json").write_text(json.dumps(expected, indent=1) + "\n")
versions = json.loads((HERE / "versions.json").read_text())
versions[PATH.name] = {name: version(name) for name in ("icechunk", "zarr")}
(HERE / "versions.json").write_text(json.dumps(versions, indent=1) + "\n")
