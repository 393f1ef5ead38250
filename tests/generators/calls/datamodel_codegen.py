"""Calls services with models of datamodel-code-generator: ``python datamodel_codegen.py FOLDER URLS``."""

import importlib
import json
import sys
from collections.abc import Callable
from typing import Any

import httpx
from comparison import FOLDER, TASKS, URLS, body, check_equal, events, plain, run

sys.path.insert(0, str(FOLDER))


def models(task: str) -> Any:
    return importlib.import_module(f"{task}_pydantic")


def request(task: str) -> Any:
    """A typed request."""
    made, example = models(task), body(task)
    if task == "translation":
        return made.TextRequest(text=example["text"], purpose=made.Purpose.replay)
    if task == "motion":
        return made.SceneRequest(scene=example["scene"], submission=True, purpose=made.Purpose.replay)
    if task == "lesion":
        return made.Request(flair=example["flair"], maps=[made.Map.mask], purpose=made.Purpose.replay)
    rows = [made.Row(**row) for row in example["rows"]]
    return made.RowsRequest(rows=rows, purpose=made.Purpose.replay, members=True)


def post(task: str, path: str, content: Any, **headers: str) -> httpx.Response:
    text = content.model_dump_json(exclude_unset=True, by_alias=True)
    return httpx.post(
        f"{URLS[task]}{path}", content=text, headers={"content-type": "application/json"} | headers, timeout=60
    )


def predict(task: str) -> None:
    response = post(task, "/v1/predict", request(task))
    answer = models(task).Answer.model_validate_json(response.content)
    assert answer.purpose is models(task).Purpose.replay
    check_equal(answer.model_dump(mode="json", exclude_unset=True, by_alias=True), plain(task))


def refused(task: str) -> None:
    response = post(task, "/v1/predict", request(task), **{"demur-timeout-seconds": "-1"})
    assert response.status_code == 422
    error = models(task).Error.model_validate_json(response.content).error
    assert isinstance(error, models(task).ErrorDetail)
    assert (error.code, error.field, error.unit) == ("bad_timeout", "demur-timeout-seconds", "s")


def job() -> None:
    made = models("vessel")
    accepted = made.JobState.model_validate_json(post("vessel", "/v1/jobs", request("vessel")).content)
    seen = [
        made.JobEvent(event=name, data=json.loads(data))
        for name, data in events(f"{URLS['vessel']}/v1/jobs/{accepted.id}/events")
    ]
    assert seen[-1].event is made.JobStatus.done
    ended = made.Job.model_validate_json(httpx.get(f"{URLS['vessel']}/v1/jobs/{accepted.id}").content)
    check_equal(ended.result.model_dump(mode="json", exclude_unset=True, by_alias=True), plain("vessel"))


CASES: dict[str, Callable[[], None]] = {f"predict[{task}]": lambda task=task: predict(task) for task in TASKS}
CASES |= {f"refused[{task}]": lambda task=task: refused(task) for task in TASKS}
CASES |= {"job": job}

if __name__ == "__main__":
    run(CASES)
