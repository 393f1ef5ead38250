"""Settings from the environment: types, ranges, and messages that name variable and value."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

from models.executors.device import Device
from services.runtime.addresses import address
from services.runtime.registry import default_ports
from services.runtime.settings import TASKS, Settings
from services.runtime.variables import SettingsError
from tests.settings_page import PAGE, docstrings, page


def test_without_an_environment_there_are_defaults() -> None:
    assert Settings.read({}) == Settings()
    assert Settings.read({}).ports == default_ports("vessel")


def test_every_task_has_ports_of_its_own() -> None:
    ports = [port for task in TASKS for port in default_ports(task)]
    assert len(set(ports)) == 2 * len(TASKS)


def test_values_are_read_by_type() -> None:
    settings = Settings.read(
        {
            "DEMUR_HOME": "/data",
            "DEMUR_HTTP_PORT": "8080",
            "DEMUR_TARGET_RETENTION": "0.9",
            "DEMUR_FIXED_THRESHOLD": "1e5",
            "DEMUR_DEFER_ON_SHIFT": "True",
            "DEMUR_WITHHOLD": "0",
            "DEMUR_PROVIDER": "cuda",
            "HOME": "ignored",
        }
    )
    assert settings.home == Path("/data")
    assert settings.ports == (8080, default_ports("vessel")[1])
    assert (settings.target_retention, settings.fixed_threshold) == (0.9, 1e5)
    assert (settings.defer_on_shift, settings.withhold) == (True, False)
    assert settings.lane_count == 1, "one lane a GPU"
    assert Settings.read({"DEMUR_FIXED_THRESHOLD": ""}).fixed_threshold is None


@pytest.mark.parametrize("url", ["https://review.example", "https://review.example:8443/", "http://127.0.0.1:3011"])
def test_the_address_of_the_review_console_needs_tokens(url: str) -> None:
    assert Settings.read({"DEMUR_REVIEW_URL": url, "DEMUR_TOKENS": "tokens.toml"}).review_url == url
    with pytest.raises(SettingsError, match="needs DEMUR_TOKENS"):
        Settings.read({"DEMUR_REVIEW_URL": url, "DEMUR_ALLOW_REMOTE": "1"})


@pytest.mark.parametrize("url", ["review.example", "ftp://review.example", "https://a:b@review.example", "https://"])
def test_the_address_of_the_review_console_is_complete(url: str) -> None:
    with pytest.raises(SettingsError, match="DEMUR_REVIEW_URL"):
        Settings.read({"DEMUR_REVIEW_URL": url, "DEMUR_TOKENS": "tokens.toml"})


@pytest.mark.parametrize("url", ["https://review.example/demur", "https://review.example/?a=b"])
def test_the_review_console_is_served_at_the_root(url: str) -> None:
    with pytest.raises(SettingsError, match="without a path"):
        Settings.read({"DEMUR_REVIEW_URL": url, "DEMUR_TOKENS": "tokens.toml"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTP_PORT", "many"),
        ("HTTP_PORT", "70000"),
        ("GRPC_PORT", "-1"),
        ("PORT_OFFSET", "70000"),
        ("PORT_OFFSET", "62000"),
        ("PORT_OFFSET", "-3005"),
        ("HTTP_PORT", "4005"),
        ("LANES", "-2"),
        ("PROVIDER", "tpu"),
        ("WITHHOLD", "perhaps"),
        ("TARGET_RETENTION", "0"),
        ("TARGET_RETENTION", "1"),
        ("TARGET_RETENTION", "nan"),
        ("FIXED_THRESHOLD", "low"),
        ("FIXED_THRESHOLD", "nan"),
        ("STREAM_WINDOW_CHUNKS", "0"),
        ("MAX_ROWS", "0"),
        ("QUEUE_SECONDS", "nan"),
        ("QUEUE_SECONDS", "-1"),
        ("REQUEST_SECONDS", "0"),
        ("MAX_JOBS", "0"),
        ("INTRA_OP_THREADS", "0"),
        ("MAX_MESSAGE_BYTES", "1e9"),
        ("QUALIFY", "maybe"),
        ("QUALIFY_SECONDS", "-1"),
    ],
)
def test_a_wrong_value_is_named_with_its_variable(name: str, value: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.read({f"DEMUR_{name}": value})
    assert f"DEMUR_{name}" in str(caught.value)
    assert "<class" not in str(caught.value)


def test_the_device_is_what_the_environment_says() -> None:
    assert Settings.read({}).device == Device("cpu", threads=1)
    environment = {
        "DEMUR_PROVIDER": "cuda",
        "DEMUR_DEVICE_INDEX": "3",
        "DEMUR_DEVICE_MEMORY_BYTES": str(8 << 30),
        "DEMUR_DEVICE_ARENA": "double",
        "DEMUR_TF32": "1",
        "DEMUR_CONVOLUTION_SEARCH": "exhaustive",
        "DEMUR_INTRA_OP_THREADS": "2",
    }
    device = Device(
        "cuda", 2, tf32=True, convolution_search="exhaustive", memory_bytes=8 << 30, index=3, growth="double"
    )
    assert Settings.read(environment).device == device
    own = {"DEMUR_LESION_PROVIDER": "cpu", "DEMUR_LESION_DEVICE_INDEX": "1", "DEMUR_LESION_TF32": "0"}
    lesion = Settings.read(environment | own, task="lesion").device
    assert lesion == replace(device, provider="cpu", index=1, tf32=False)
    assert Settings.read(environment | own, task="motion").device == device


@pytest.mark.parametrize("prefix", ["DEMUR_", "DEMUR_VESSEL_"])
@pytest.mark.parametrize(
    ("name", "value", "needed"),
    [
        ("PROVIDER", "gpu", "cpu or cuda"),
        ("PROVIDER", "CUDA", "cpu or cuda"),
        ("DEVICE_INDEX", "-1", "0 to 1023"),
        ("DEVICE_INDEX", "1024", "0 to 1023"),
        ("DEVICE_INDEX", "first", "a whole number"),
        ("DEVICE_MEMORY_BYTES", "-5", "0 to 9.22337e+18"),
        ("DEVICE_MEMORY_BYTES", "8Gi", "a whole number"),
        ("DEVICE_MEMORY_BYTES", "1.5", "a whole number"),
        ("DEVICE_ARENA", "twice", "same or double"),
        ("TF32", "on", "1 or 0"),
        ("CONVOLUTION_SEARCH", "EXHAUSTIVE", "heuristic or exhaustive or default"),
        ("INTRA_OP_THREADS", "0", "1 to 1024"),
    ],
)
def test_a_wrong_device_is_refused_with_what_is_possible(prefix: str, name: str, value: str, needed: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.read({prefix + name: value}, task="vessel")
    message = str(caught.value)
    assert message.startswith(f"{prefix}{name} = ")
    assert value in message
    assert needed in message


def test_an_offset_does_not_count_where_both_ports_are_given() -> None:
    environ = {"DEMUR_PORT_OFFSET": "70000", "DEMUR_HTTP_PORT": "8080", "DEMUR_GRPC_PORT": "8081"}
    assert Settings.read(environ).ports == (8080, 8081)


def test_ipv6_addresses_stand_in_brackets() -> None:
    assert address("::1", 4005) == "[::1]:4005"
    assert address("127.0.0.1", 4005) == "127.0.0.1:4005"


def test_other_machines_are_served_only_where_somebody_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMUR_ALLOW_REMOTE", "1")
    with pytest.raises(SettingsError, match="without tokens"):
        Settings.read({"DEMUR_HOST": "0.0.0.0"})
    assert Settings.read({"DEMUR_HOST": "0.0.0.0", "DEMUR_ALLOW_REMOTE": "1"}).host == "0.0.0.0"
    for host in ("127.0.0.1", "localhost", "::1"):
        assert Settings.read({"DEMUR_HOST": host}).host == host


def test_variables_that_are_no_settings_are_found() -> None:
    environ = {
        "DEMUR_TARGET_RETENSION": "0.9",
        "DEMUR_ZZZ": "",
        "DEMUR_TASK": "vessel",
        "DEMUR_ALLOW_REMOTE": "1",
        "DEMUR_ARTEFACTS": "elsewhere",
        "HOME": "/root",
        "DEMUR_SERVICE_HOST": "10.0.0.1",
        "DEMUR_VESSEL_SERVICE_PORT_GRPC": "4005",
        "DEMUR_VESSEL_PORT": "tcp://10.0.0.1:4005",
        "DEMUR_PORT": "tcp://10.0.0.1:4005",
        "DEMUR_VESSEL_PORT_4005_TCP_ADDR": "10.0.0.1",
    }
    strangers = Settings.strangers(environ)
    assert strangers == {"DEMUR_TARGET_RETENSION": "DEMUR_TARGET_RETENTION", "DEMUR_ZZZ": ""}


def test_every_setting_is_described() -> None:
    assert list(docstrings()) == [field.name for field in fields(Settings)]
    assert PAGE.read_text() == page(), "run python -m tests.settings_page"


def test_settings_of_a_task_go_before_those_of_all() -> None:
    environ = {"DEMUR_CENSUS": "power", "DEMUR_WEATHER_CENSUS": "temperature", "DEMUR_WEATHER_TARGET_RETENTION": "0.8"}
    assert Settings.read(environ, task="weather").census == "temperature"
    assert Settings.read(environ | {"DEMUR_TASK": "weather"}).target_retention == 0.8
    assert Settings.read(environ, task="vessel").census == "power"
    assert Settings.read(environ, task="vessel").target_retention == 0.95
    assert Settings.strangers(environ) == {}


def test_a_wrong_setting_of_a_task_is_named_as_it_was_given() -> None:
    with pytest.raises(SettingsError, match="DEMUR_WEATHER_AUDIT_RATE = 'often' is not"):
        Settings.read({"DEMUR_WEATHER_AUDIT_RATE": "often"}, task="weather")
