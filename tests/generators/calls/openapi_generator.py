"""Calls services by clients of openapi-generator (python): ``python openapi_generator.py FOLDER URLS``."""

import importlib
import json
import sys
from collections.abc import Callable
from typing import Any

from comparison import FOLDER, TASKS, URLS, body, check_equal, events, plain, run


def generated(task: str) -> tuple[Any, Any]:
    """The package of a task, and its API."""
    sys.path.insert(0, str(FOLDER / f"{task}_java"))
    package = importlib.import_module(f"{task}_generated")
    configuration = package.Configuration(host=URLS[task])
    return package, package.DefaultApi(package.ApiClient(configuration))


def request(package: Any, task: str) -> Any:
    """A typed request."""
    example = body(task)
    if task == "translation":
        return package.Request(package.TextRequest(text=example["text"], purpose="replay"))
    if task == "motion":
        scene = package.SceneRequestScene(example["scene"])
        return package.Request(package.SceneRequest(scene=scene, submission=True, purpose="replay"))
    if task == "lesion":
        return package.Request(flair=example["flair"], maps=["mask"], purpose="replay")
    rows = [package.Row.from_dict(row) for row in example["rows"]]
    return package.Request(package.RowsRequest(rows=rows, purpose="replay", members=True))


def predict(task: str) -> None:
    package, api = generated(task)
    answer = api.predict(request(package, task))
    assert isinstance(answer, package.Answer), answer
    assert answer.purpose is package.Purpose.REPLAY
    check_equal(without_nulls(json.loads(answer.to_json())), without_nulls(plain(task)))


def without_nulls(value: Any) -> Any:
    """The client's ``to_json`` leaves some properties out that are null."""
    if isinstance(value, dict):
        return {name: without_nulls(member) for name, member in value.items() if member is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def refused(task: str) -> None:
    package, api = generated(task)
    caught = None
    try:
        api.predict(request(package, task), _headers={"demur-timeout-seconds": "x"})
    except package.ApiException as error:
        caught = error
    assert caught is not None
    assert caught.status == 422, caught
    assert isinstance(caught.data, package.Error), caught.data
    assert caught.data.error.code == "bad_timeout"


def job() -> None:
    package, api = generated("vessel")
    accepted = api.create_job(request(package, "vessel"))
    assert isinstance(accepted, package.JobState), accepted
    seen = [
        package.JobEvent.from_dict({"event": name, "data": json.loads(data)})
        for name, data in events(f"{URLS['vessel']}/v1/jobs/{accepted.id}/events")
    ]
    assert seen[-1].event is package.JobStatus.DONE
    ended = api.get_job(accepted.id)
    check_equal(without_nulls(json.loads(ended.result.to_json())), without_nulls(plain("vessel")))


CASES: dict[str, Callable[[], None]] = {f"predict[{task}]": lambda task=task: predict(task) for task in TASKS}
CASES |= {f"refused[{task}]": lambda task=task: refused(task) for task in TASKS}
CASES |= {"job": job}

if __name__ == "__main__":
    run(CASES)
