"""Calls services by clients of openapi-python-client: ``python openapi_python_client.py FOLDER URLS``."""

import base64
import importlib
import io
import json
import sys
from collections.abc import Callable
from typing import Any

from comparison import FOLDER, TASKS, URLS, body, check_equal, events, plain, run

sys.path.insert(0, str(FOLDER))


class Generated:
    """The client of a task."""

    def __init__(self, task: str) -> None:
        package = f"{task}_attrs"
        self.models: Any = importlib.import_module(f"{package}.models")
        self.types: Any = importlib.import_module(f"{package}.types")
        self.client = importlib.import_module(f"{package}.client").Client(URLS[task], timeout=60.0)
        self._package = package

    def call(self, name: str, **arguments: Any) -> Any:
        """What an operation answers."""
        module = importlib.import_module(f"{self._package}.api.default.{name}")
        return module.sync(client=self.client, **arguments)


def request(generated: Generated, task: str) -> Any:
    """A typed request."""
    models, example = generated.models, body(task)
    purpose = models.Purpose(example["purpose"])
    if task == "translation":
        return models.TextRequest(example["text"], purpose=purpose)
    if task == "motion":
        return models.SceneRequest(example["scene"], submission=True, purpose=purpose)
    if task == "lesion":
        return models.Request(example["flair"], maps=[models.Map.MASK], purpose=purpose)
    rows = [models.Row.from_dict(row) for row in example["rows"]]
    return models.RowsRequest(rows, purpose=purpose, members=True)


def predict(task: str) -> None:
    generated = Generated(task)
    answer = generated.call("predict", body=request(generated, task))
    assert isinstance(answer, generated.models.Answer), answer
    assert answer.purpose is generated.models.Purpose.REPLAY
    check_equal(answer.to_dict(), plain(task))


def form(task: str) -> None:
    generated = Generated(task)
    name = {"motion": "scene", "lesion": "flair"}[task]
    file = generated.types.File(io.BytesIO(base64.b64decode(body(task)[name])), file_name=name)
    more = {"motion": {"submission": "1"}, "lesion": {"maps": "mask"}}[task]
    answer = generated.call("predict", body=generated.models.RequestForm(**{name: file}, purpose="replay", **more))
    assert isinstance(answer, generated.models.Answer), answer
    check_equal(answer.to_dict(), plain(task))


def refused(task: str) -> None:
    generated = Generated(task)
    answer = generated.call("predict", body=request(generated, task), demur_timeout_seconds=-1.0)
    assert isinstance(answer, generated.models.Error), answer
    assert isinstance(answer.error, generated.models.ErrorDetail)
    assert (answer.error.code, answer.error.field, answer.error.unit) == ("bad_timeout", "demur-timeout-seconds", "s")


def job() -> None:
    generated = Generated("vessel")
    models = generated.models
    accepted = generated.call("create_job", body=request(generated, "vessel"))
    assert isinstance(accepted, models.JobState), accepted
    seen = [
        models.JobEvent.from_dict({"event": name, "data": json.loads(data)})
        for name, data in events(f"{URLS['vessel']}/v1/jobs/{accepted.id}/events")
    ]
    assert seen[-1].event is models.JobStatus.DONE
    assert seen[-1].data.progress.fraction == 1.0
    ended = generated.call("get_job", job=accepted.id)
    assert isinstance(ended, models.Job), ended
    check_equal(ended.result.to_dict(), plain("vessel"))


def policy() -> None:
    generated = Generated("vessel")
    change = generated.models.PolicyChange(audit_rate=1e-5)
    answer = generated.call("change_policy", head="power", body=change)
    assert isinstance(answer, generated.models.Error), answer
    assert (answer.error.field, answer.error.allowed) == ("audit_rate", "[0.0001, 1]")


def labels() -> None:
    generated = Generated("vessel")
    claimed = generated.call("claim_requests", body=generated.models.Claim(count=49.0))
    assert isinstance(claimed, generated.models.Claimed), claimed
    acts = generated.call("list_acts", most=5)
    assert isinstance(acts, generated.models.Acts), acts


CASES: dict[str, Callable[[], None]] = {f"predict[{task}]": lambda task=task: predict(task) for task in TASKS}
CASES |= {f"refused[{task}]": lambda task=task: refused(task) for task in TASKS}
CASES |= {f"form[{task}]": lambda task=task: form(task) for task in ("motion", "lesion")}
CASES |= {"job": job, "policy": policy, "labels": labels}

if __name__ == "__main__":
    run(CASES)
