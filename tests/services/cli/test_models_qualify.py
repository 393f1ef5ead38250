"""`demur models qualify --data`: labelled files of one's own in place of an artefact's replay set, for each task."""

import hashlib
import shutil
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import msgspec
import pytest

from models import artefact, replay
from models.artefact import Artefact
from models.building import UNSTATED
from models.manifest import inputs_name
from models.profile import Profile
from models.qualification.record import Record
from models.tasks.vessel.artefact import replay_set
from models.tasks.vessel.training import workbench
from services.app.assembly import qualify
from services.app.model_store import Store
from services.cli import main
from services.qualification.records import Records
from services.runtime.settings import Settings
from simulators.vessel.dataset import simulate
from simulators.weather import actions
from tests.models.lesion import bright
from tests.models.motion import city
from tests.models.translation import made
from tests.services.tasks.motion import straight_artefact

pytestmark = pytest.mark.usefixtures("home")
REFERENCE = Path(__file__).resolve().parents[3] / "artefacts"
CUDA = Profile(provider="cuda", version="1.0", architecture="sm_90")
"""Device that computes what this CPU does."""
Case = tuple[Artefact, Path]
"""An artefact, and a folder of labelled files for it."""


def vessel(folder: Path) -> Case:
    """Some 280 rows."""
    folder.mkdir()
    tables = simulate(0.01, 0)
    for name in ("dev_in", "dev_out"):
        tables[name].write_csv(folder / f"{name}.csv")
    return artefact.read(REFERENCE / "vessel" / "dnn-10"), folder


def weather(folder: Path) -> Case:
    """Some 80 rows."""
    actions.simulate_files(folder, 0.001, 2, lambda done, what: None)
    (folder / "train.csv").unlink()  # training data are not replayed
    return artefact.read(REFERENCE / "weather" / "ft_transformer-1"), folder


def translation(folder: Path) -> Case:
    """21 sentences."""
    folder.mkdir()
    for name, count in (("train", 2), ("valid", 28)):
        lines = [f"{p.domain}\t{p.source}\t{p.english}\t{p.russian}\n" for p in made.corpus(count, 3).pairs]
        (folder / f"{name}.tsv").write_text("domain\tsource\ten\tru\n" + "".join(lines))
    return artefact.read(REFERENCE / "translation" / "transformer-3"), folder


def motion(folder: Path) -> Case:
    """24 requests."""
    model = straight_artefact.artefact(folder / "made", members=2, towns=10)
    return model, city.write(folder / "data", scenes_each=8, rendered=False)


def lesion(folder: Path) -> Case:
    """20 crops of 10 scans."""
    model = bright.artefact(folder / "made", members=1, cases=2)
    for number in range(10):
        bright.case(folder / "data" / "site" / ("dev_in" if number < 7 else "eval_out"), number)
    return model, folder / "data"


TASKS: Mapping[str, Callable[[Path], Case]] = {
    "vessel": vessel,
    "weather": weather,
    "translation": translation,
    "motion": motion,
    "lesion": lesion,
}


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Case]:
    """Makes each task's case once; its folders are not to be changed."""
    return cache(lambda task: TASKS[task](tmp_path_factory.mktemp("cases") / task))


def measured(home: Path, model: Artefact, data: Path) -> Record:
    """The record that the command leaves of an artefact in the store."""
    store = Store(home)
    store.add(model.directory)
    assert main(["models", "qualify", model.tag, "--data", str(data), "--json"]) == 0
    (record,) = Records(store.qualifications).all()
    return record


@pytest.mark.long
@pytest.mark.parametrize("task", TASKS)
def test_labelled_files_are_replayed_under_the_profile_of_the_calibration(
    task: str, case: Callable[[str], Case], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, data = case(task)
    record = measured(home, model, data)
    assert (record.verdict, {head.verdict for head in record.heads.values()}) == ("carried", {"carried"})
    assert (record.artefact, record.tag) == (model.version, model.tag)
    assert record.profile_name in next(iter(model.manifest.heads.values()))
    assert record.units >= 20
    stored = model.manifest.replay
    assert record.inputs.startswith("replay-")
    assert stored is None or record.inputs != stored.inputs, "the record names what was replayed"
    assert Store(home).get(model.tag).manifest == model.manifest, "the artefact stays as it is"
    output = capsys.readouterr()
    assert msgspec.json.decode(output.out)["tag"] == model.tag
    assert "its own thresholds hold" in output.err


def test_a_service_on_another_device_rests_on_the_record(
    case: Callable[[str], Case], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "services.app.assembly.described", lambda device: msgspec.structs.replace(CUDA, tf32=device.tf32)
    )
    model, data = case("vessel")
    bare = replay.detached(artefact.copy(model, tmp_path / "bare"))
    record = measured(home, bare, data)
    assert (record.profile, record.reference_profile) == (CUDA, "cpu-fp32-stacked")
    assert record.inputs == inputs_name(hashlib.sha256(of_folder(data)).hexdigest())

    records = Store(home).qualifications
    qualification = qualify(bare, Settings(task="vessel", qualify="require"), records)
    tables = qualification.settle()
    assert (tables.origin, qualification.pending, tables.record) == ("carried", False, record)
    assert tables.by_head["power"] is not None
    assert qualification.standing.done == 1
    tables = qualify(bare, Settings(task="vessel", tf32=True), records).settle()
    assert (tables.origin, tables.record) == ("unqualified", None), "a profile that was not measured"


def of_folder(data: Path) -> bytes:
    """The file of inputs that vessel data amount to."""
    tables = workbench.read_files(data, ("dev_in", "dev_out"))
    return replay_set.encode(tables["dev_in"].features, tables["dev_out"].features)


def test_the_files_of_its_own_replay_set_can_be_given(case: Callable[[str], Case], home: Path, tmp_path: Path) -> None:
    """As after a training on files that do not say where they come from."""
    model, data = case("vessel")
    own = replay.attach(artefact.copy(model, tmp_path / "own"), of_folder(data), replay.units_of(UNSTATED))
    assert own.manifest.replay is not None
    record = measured(home, own, data)
    assert (record.verdict, record.inputs) == ("carried", own.manifest.replay.inputs)


def refusal(home: Path, tag: str, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """The one line that the command says where it measures nothing."""
    capsys.readouterr()
    assert main(["models", "qualify", tag, *options]) == 1
    assert Records(Store(home).qualifications).all() == []
    message = capsys.readouterr().err
    assert message.startswith("demur models: ")
    assert message.count("\n") == 1, message
    return message


INCOMPLETE = {
    "vessel": ("dev_in.csv", "dev.csv", "holds no dev_in.csv; needed: dev_in.csv"),
    "weather": ("dev_in.csv", "dev.csv", "holds no dev_in.csv or .parquet; needed: dev_in"),
    "translation": ("valid.tsv", "dev.tsv", "has no valid.tsv.gz"),
    "motion": ("dev_pb", "some_pb", "has no split 'dev', only train_pb, eval_pb"),
    "lesion": ("site/dev_in", "site/train", "no units to replay, at least 20 are needed"),
}
"""Task to what has another name in its folder, and what is said then."""


@pytest.mark.parametrize("task", INCOMPLETE)
def test_a_folder_without_the_files_is_refused_with_what_is_missing(
    task: str, case: Callable[[str], Case], home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, data = case(task)
    name, other, words = INCOMPLETE[task]
    folder = shutil.copytree(data, tmp_path / "data")
    (folder / name).rename(folder / other)
    Store(home).add(model.directory)
    message = refusal(home, model.tag, capsys, "--data", str(folder))
    assert f"{folder} {words}" in message or f"{folder}: {words}" in message


def test_too_few_units_leave_no_record(
    case: Callable[[str], Case], home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their verdict would be a refusal, and services would defer everything by it."""
    model, data = case("vessel")
    lines = (data / "dev_in.csv").read_text().splitlines()
    (tmp_path / "dev_in.csv").write_text("\n".join(lines[:20]))
    Store(home).add(model.directory)
    assert "19 units to replay, at least 20" in refusal(home, model.tag, capsys, "--data", str(tmp_path))


@pytest.mark.parametrize("with_set", [True, False])
def test_thresholds_of_another_device_are_not_compared_with_this_cpu(
    with_set: bool, case: Callable[[str], Case], home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, data = case("vessel")
    made = calibrated_on_cuda(model, tmp_path / "made")
    name = next(iter(made.manifest.heads["power"]))
    if not with_set:
        made = replay.detached(made)
    Store(home).add(made.directory)
    message = refusal(home, made.tag, capsys, "--data", str(data))
    assert f"--data compares with scores of this CPU, and this artefact was calibrated under {name}" in message
    assert ("leave --data out to use its replay set" in message) == with_set
    assert ("serve it under" in message and "without --no-replay-set or with --provider cpu" in message) != with_set
    if not with_set:
        message = refusal(home, made.tag, capsys)
        assert f"has no replay set: serve it under {name}" in message
        assert "--data" not in message


def calibrated_on_cuda(source: Artefact, folder: Path) -> Artefact:
    """The artefact as `--provider cuda` leaves it."""
    manifest = source.manifest
    assert manifest.replay is not None
    (calibration,) = manifest.heads["power"].values()
    manifest = msgspec.structs.replace(
        manifest,
        heads={"power": {CUDA.name: calibration}},
        replay=msgspec.structs.replace(manifest.replay, profile=CUDA.name),
    )
    return artefact.write(folder, manifest, {name: source.path(name) for name in manifest.files})


def test_an_artefact_that_was_never_calibrated_is_refused(
    case: Callable[[str], Case], home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, data = case("vessel")
    bare = replay.detached(artefact.copy(model, tmp_path / "bare"))
    manifest = msgspec.structs.replace(bare.manifest, heads={"power": {}})
    never = artefact.write(tmp_path / "never", manifest, {name: bare.path(name) for name in manifest.files})
    Store(home).add(never.directory)
    for options in (["--data", str(data)], []):
        assert "was never calibrated: it has no thresholds" in refusal(home, never.tag, capsys, *options)
