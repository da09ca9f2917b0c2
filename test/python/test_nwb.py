"""A file of pynwb's, and LINDI's reference file of it, made by lindi: through pynwb under the plugin, here and behind
a web server, they are what pynwb finds in the file itself."""
import json
import os
import subprocess

import pytest

from http_support import fault_server
from support import environment

MAKE = """
import sys
from datetime import datetime, timezone
import numpy as np
from pynwb import NWBHDF5IO, NWBFile, TimeSeries, H5DataIO
from pynwb.behavior import Position, SpatialSeries
from pynwb.ecephys import ElectricalSeries, LFP
from pynwb.file import Subject
from pynwb.image import ImageSeries
from pynwb.ophys import ImageSegmentation

rng = np.random.default_rng(4)
nwb = NWBFile(session_description="a session, with ümlauts", identifier="x1", experimenter=["A, B", "C, D"],
              session_start_time=datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc), keywords=["one", "two"])
nwb.subject = Subject(subject_id="s1", age="P9D", species="Mus musculus", sex="F")
device = nwb.create_device("probe", description="many sites")
nwb.add_electrode_column("label", "of the site")
groups = [nwb.create_electrode_group(f"shank{i}", description="a shank", location="V1", device=device) for i in range(2)]
for i in range(16):
    nwb.add_electrode(group=groups[i % 2], location=f"layer {i}", label=f"e{i}", x=1.0 * i, y=2.0, z=float("nan"))
region = nwb.create_electrode_table_region(list(range(12)), "those used")
noise = rng.integers(-999, 999, (60000, 12)).astype("i2")
nwb.add_acquisition(ElectricalSeries(
    "raw", data=H5DataIO(noise, chunks=(5000, 4), compression="gzip", shuffle=True), electrodes=region, rate=30000.0,
    filtering="none", conversion=1e-6))
nwb.add_acquisition(ElectricalSeries(
    "many", data=H5DataIO(noise[:6000], chunks=(50, 1), compression="gzip"), electrodes=region, rate=30000.0))
lfp = ElectricalSeries("lfp", data=noise[::100].astype("f4"), electrodes=region,
                       timestamps=np.linspace(0, 2, 600))
nwb.create_processing_module("ecephys", "made of raw").add(LFP(electrical_series=lfp))
nwb.add_unit_column("quality", "good or not")
for i in range(20):
    nwb.add_unit(spike_times=np.sort(rng.random(rng.integers(3, 300))), quality="good" if i % 3 else "bad",
                 electrodes=[i % 12, (i + 1) % 12], obs_intervals=[[0.0, 1.0], [2.0, 3.0]])
nwb.add_trial_column("correct", "was it")
for i in range(10):
    nwb.add_trial(start_time=i * 1.0, stop_time=i + 0.5, correct=bool(i % 2), timeseries=[nwb.acquisition["raw"]],
                  tags=["a", "b"][: i % 3])
position = SpatialSeries("xy", data=rng.random((100, 2)), reference_frame="corner", rate=50.0, unit="m")
nwb.create_processing_module("behavior", "where it was").add(Position(spatial_series=position))
nwb.add_stimulus(ImageSeries("film", data=rng.integers(0, 255, (20, 30, 40), dtype="u1"), unit="n.a.", rate=5.0))
nwb.add_scratch(np.arange(5), name="notes", description="of someone")
with NWBHDF5IO(sys.argv[1], "w") as io:
    io.write(nwb)
"""

REFER = """
import sys, lindi
lindi.LindiH5pyFile.from_hdf5_file(sys.argv[1]).write_lindi_file(sys.argv[2])
"""

DUMP = """
import hashlib, json, sys, warnings
warnings.simplefilter("ignore")
import h5py, numpy as np
from pynwb import NWBHDF5IO
from hdmf.container import Container, Data

def shown(value):
    if isinstance(value, Container):
        return [type(value).__name__, value.name]
    if isinstance(value, Data):
        return [type(value).__name__, value.name, shown(value.data)]
    if isinstance(value, dict) or hasattr(value, "items"):
        return {str(k): shown(v) for k, v in sorted(value.items())}
    if isinstance(value, h5py.Dataset) or type(value).__module__.startswith("hdmf") and hasattr(value, "__len__"):
        value = [shown(one) for one in value[:]] if getattr(value, "ndim", 1) == 1 else np.asarray(value[:])
    if isinstance(value, np.ndarray) and value.dtype.kind not in "OV":
        if value.size < 50:
            return [str(value.dtype), value.tolist()]
        return [str(value.dtype), value.shape, hashlib.sha1(np.ascontiguousarray(value).tobytes()).hexdigest()]
    if isinstance(value, (list, tuple, set, np.ndarray, np.void)):
        return [shown(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        value = value.decode()
    return repr(value)

found = {}
with h5py.File(sys.argv[1], "r") as file, NWBHDF5IO(file=file, mode="r") as io:
    nwb = io.read()
    for key, thing in nwb.objects.items():
        fields = {name: shown(value) for name, value in thing.fields.items() if name != "container_source"}
        found[f"{type(thing).__name__} {thing.name} {key}"] = fields
    table = nwb.units.to_dataframe()
    found["units"] = [shown(list(row[["spike_times", "quality", "obs_intervals"]])) for _, row in table.iterrows()]
    found["electrodes of units"] = [list(map(str, row["label"])) for row in table["electrodes"]]
    found["trials"] = [[shown(row["start_time"]), shown(row["correct"]), shown(row["tags"]),
                        [(int(one.idx_start), int(one.count), one.timeseries.name) for one in row["timeseries"]]]
                       for _, row in nwb.trials.to_dataframe().iterrows()]
    found["group of electrode 3"] = nwb.electrodes["group"][3].name
json.dump(found, sys.stdout, sort_keys=True, indent=1)
"""


def python(code, *arguments, **env):
    program = os.environ.get("H5ZARR_NWB_PYTHON")
    if not program:
        pytest.skip("H5ZARR_NWB_PYTHON names no Python that has pynwb and lindi (./run env does)")
    done = subprocess.run([program, "-c", code, *map(str, arguments)], env=environment(**env), capture_output=True,
                          text=True, timeout=300, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root = tmp_path_factory.mktemp("nwb")
    python(MAKE, root / "x.nwb", plugin=False, connector=None)
    with fault_server(root) as server:
        python(REFER, f"{server.url}/x.nwb", root / "x.lindi.json", plugin=False, connector=None)
        server.root = root
        yield server


@pytest.fixture(scope="module")
def expected(server):
    found = json.loads(python(DUMP, server.root / "x.nwb", plugin=False, connector=None))
    assert len(found) > 30
    return found


@pytest.mark.parametrize("name", ["x.nwb", "x.lindi.json"])
@pytest.mark.parametrize("remote", [True, False])
def test_pynwb_finds_the_same(server, expected, name, remote):
    place = server.url if remote else server.root
    found = json.loads(python(DUMP, f"{place}/{name}"))
    assert found.keys() == expected.keys()
    for key, fields in expected.items():
        assert found[key] == fields, key


def test_lindis_file_is_of_the_kind_that_is_tested(server):
    """Arrays of many chunks are links into the HDF5 file, others are references to chunks, or values."""
    refs = json.loads((server.root / "x.lindi.json").read_text())["refs"]
    text = json.dumps(refs)
    for word in ("_EXTERNAL_ARRAY_LINK", "_REFERENCE", "_COMPOUND_DTYPE", "_SCALAR", "json2"):
        assert word in text
    assert isinstance(refs["acquisition/raw/data/0.0"], list)
