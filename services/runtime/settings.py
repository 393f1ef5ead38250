"""Everything that can be set, from the environment (``DEMUR_…``); read once at start."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_type_hints

from models.executors.device import Device
from services.runtime.addresses import is_address
from services.runtime.cores import available_cores
from services.runtime.ranges import RANGES
from services.runtime.registry import DEFAULT_TASK, default_ports
from services.runtime.registry import TASKS as REGISTRY
from services.runtime.variables import SettingsError, listed, parsed, strangers

TASK_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    name: task.defaults for name, task in REGISTRY.items() if task.defaults
}
"""Task name to the settings whose default differs from that of all tasks."""
TASKS = tuple(sorted(REGISTRY, key=lambda name: REGISTRY[name].port))
"""Names of the tasks, in the order of their ports."""


def address(host: str, port: int) -> str:
    """``host:port`` for URLs and gRPC targets; an IPv6 address stands in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@dataclass(frozen=True)
class Settings:
    """Each field is the environment variable DEMUR_<NAME IN CAPITALS>; docs/settings.md is made of what stands here."""

    task: str = DEFAULT_TASK
    """Name of the task that this process serves; `demur up` and `demur serve` set it."""
    home: Path = Path(".demur")
    """Directory of the model store, run files and logs."""
    model: str = ""
    """Name or tag of the artefact; empty: the task's reference artefact."""
    start_without_model: bool = False
    """1 or 0: whether a service without its artefact, or with a broken one, starts all the same: alive, not ready, and
    saying why to whoever asks. Else `demur serve` ends with the reason. Images set it."""
    host: str = "127.0.0.1"
    """Address that both protocols listen on. Other than a loopback address only with `DEMUR_TOKENS`, or with
    `DEMUR_ALLOW_REMOTE=1`."""
    http_port: int = 0
    """TCP port of HTTP; 0: the task's, 3001 to 3005, plus `DEMUR_PORT_OFFSET`."""
    grpc_port: int = 0
    """TCP port of gRPC; 0: the task's, 4001 to 4005, plus `DEMUR_PORT_OFFSET`."""
    port_offset: int = 0
    """Added to the task's port numbers, so that a second set of services can run beside the first."""
    probe_port: int = 0
    """TCP port that answers /livez and /readyz in plain HTTP, for probes that bring no client certificate; 0: none.
    `DEMUR_<TASK>_PROBE_PORT` and `DEMUR_MONITOR_PROBE_PORT` where several run on one host."""
    tokens: str = ""
    """File of hashed bearer tokens, which `demur tokens` writes; empty: nobody is asked for one. Read anew when it
    changes."""
    tls_certificate: str = ""
    """File of the certificate chain in PEM, for both protocols and the monitor; empty: plain text. Read anew when it
    changes, as are the next two."""
    tls_key: str = ""
    """File of its private key in PEM, not encrypted."""
    tls_client_ca: str = ""
    """File of the authorities of callers in PEM; then only who has a certificate of one gets a connection (mTLS)."""
    provider: Literal["cpu", "cuda"] = "cpu"
    """Device that runs the model; part of the numeric profile that thresholds are bound to, see below. `cuda` needs the
    extra `cuda`, which brings CUDA and cuDNN, and NVIDIA's driver."""
    device_index: int = 0
    """CUDA's number of the device, among those that the process sees."""
    device_memory_bytes: int = 0
    """Bytes that the arena of one session may take on the device; 0: no limit. A model of several graphs has as many
    sessions."""
    device_arena: Literal["same", "double"] = "same"
    """How a session's arena grows on the device: `same` by what is asked for, `double` to the next power of two, which
    is faster and larger."""
    tf32: bool = False
    """1 or 0: whether CUDA may round factors of float32 products to 10 bits of mantissa (TF32); part of the numeric
    profile."""
    convolution_search: Literal["heuristic", "exhaustive", "default"] = "heuristic"
    """How cuDNN chooses the algorithm of a convolution; part of the numeric profile. `exhaustive` measures all for each
    new shape, and may choose another at the next start."""
    qualify: Literal["auto", "require", "off"] = "auto"
    """What happens under a numeric profile that the artefact was not calibrated for: `auto` measures it at start with
    the artefact's replay set, `require` starts only where `demur models qualify` has measured it, `off` defers
    everything."""
    qualify_seconds: float = 60.0
    """Seconds of start that such a measurement may take before the service is ready; what is left goes on beside it,
    and until its verdict everything is deferred."""
    lanes: int = 0
    """Count of quanta that run at once; 0: one per available core on CPU (those of the container's CPU limit, in
    whole), one on GPU."""
    intra_op_threads: int = 1
    """Count of threads that compute one quantum."""
    target_retention: float = 0.95
    """Share of in-domain inputs that should be answered, above 0 and below 1; it chooses the calibrated threshold."""
    fixed_threshold: float | None = None
    """A threshold instead of the calibrated one, in the unit of the head's measure (power: kW²); empty: none. Only for
    tasks of one head; `demur policy set` takes one for each head."""
    measures: str = ""
    """What to defer by instead of the head's own measure, with commas between: `temperature=varm,precipitation=mi`."""
    defer_on_shift: bool = False
    """1 or 0: whether inputs that look unlike the training data are deferred, however certain the model is."""
    withhold: bool = False
    """1 or 0: whether answers keep the predictions of deferred inputs to themselves."""
    audits: Literal["uniform", "stratified"] = "uniform"
    """How labels are drawn among answered inputs: all alike, or more often where an error would cost the curve more."""
    audit_rate: float = 0.01
    """Share of answered inputs for which a label is requested at random."""
    audit_floor: float = 0.2
    """With `DEMUR_AUDITS=stratified`: the least rate of any input, as a share of `DEMUR_AUDIT_RATE`."""
    ledger: str = "sqlite"
    """Where decisions are recorded: `sqlite` for a file of the task in `DEMUR_HOME`, `sqlite:///FILE`,
    `postgresql+psycopg://USER:PASSWORD@HOST/NAME`, or `none`."""
    ledger_durability: Literal["process", "power"] = "process"
    """What a recorded answer outlives: `process` a kill of the service, `power` the loss of its host."""
    ledger_deadline_seconds: float = 0.25
    """Seconds that an answer waits for its record; then it leaves with `recorded = false`, and a gap is noted."""
    ledger_store: str = ""
    """Directory or fsspec address of what is too large for the database; empty: a directory in `DEMUR_HOME`."""
    keep_payload: Literal["task", "on", "off"] = "task"
    """Whether inputs of deferred and audited units are kept for those who label; `task`: as the task has it."""
    journal_bytes: int = 1 << 30
    """Bytes of answers that wait in `DEMUR_HOME` while the database is down."""
    explore_bytes: int = 64 << 20
    """Bytes of explored units that are held in memory, so that callers can commit to some."""
    explore_seconds: float = 900.0
    """Seconds for which explored units are held."""
    retention_days: float = 0.0
    """Days after which inputs, evidence and raw labels are erased, while the numbers stay; 0: never."""
    census: str = ""
    """Heads, with commas between, whose every unit gets a label (telemetry, stations): each is a row of the ledger."""
    request_days: float = 30.0
    """Days after which a request for a label expires, and counts as not answered."""
    second_phase: float = 0.0
    """Share of skipped and expired requests that is drawn at random and asked again, to be completed; 0: none."""
    callbacks: str = ""
    """Beginnings of addresses that may be told of labels, with commas between (`https://host/path`); empty: none."""
    request_webhook: str = ""
    """Address that is told of each new request for a label, without what it is about; empty: none."""
    webhook_secret: str = ""
    """Secret that signs what is sent to addresses, 16 characters or more; needed for the two settings above."""
    max_rows: int = 262_144
    """Count of rows of one unary call, or of one chunk of a stream, at most."""
    max_message_bytes: int = 16 << 20
    """Bytes of one HTTP body or gRPC message, at most."""
    max_upload_bytes: int = 256 << 20
    """Bytes of the files of one form, or of one item of a stream that comes in pieces, at most."""
    max_header_bytes: int = 16 << 10
    """Bytes of the headers of one HTTP request, or of the metadata of one gRPC call, at most."""
    max_connections: int = 4096
    """Count of connections of each protocol at once; further ones are closed."""
    max_connection_calls: int = 32
    """Count of gRPC calls and streams that one connection may have open at once; further ones wait at the caller."""
    slow_seconds: float = 15.0
    """Seconds for the headers of an HTTP request, and between two parts of its body or answer; then its connection is
    closed. Also for handshakes of gRPC, and until its peer has acknowledged the settings of HTTP/2."""
    message_seconds: float = 60.0
    """Seconds from the metadata of a gRPC call to its message, where it has one; then the call is refused. Streams of
    messages may be silent."""
    inline_bytes: int = 64 << 10
    """Bytes of text that are read, checked and written on the event loop; larger ones in threads beside it."""
    queue_seconds: float = 20.0
    """Seconds of model time that may wait or run, per lane; beyond it callers are told that the service is busy. Bulk
    work fills it for bulk work only."""
    lane_calls: int = 16
    """Count of interactive requests that may wait or run, per lane, before callers are told that the service is busy;
    four times as many for a moment. They take turns, so each takes as many times as long as alone."""
    waiting_calls: int = 16
    """Count of small calls that may wait for the event loop, on each protocol; more are refused at once. Over HTTP four
    times as many for a moment. So many callers can ask at once for long; latency under overload grows with it."""
    queue_bytes: int = 512 << 20
    """Bytes of waiting and running requests; beyond it callers are told that the service is busy."""
    stream_window_chunks: int = 4
    """Count of a stream's chunks that may be unanswered at once."""
    request_seconds: float = 60.0
    """Seconds for an HTTP call that brings no deadline of its own."""
    drain_seconds: float = 30.0
    """Seconds that running calls have to end after SIGTERM."""
    job_seconds: float = 3600.0
    """Seconds that the results of a job are kept after its end."""
    max_jobs: int = 256
    """Count of jobs, running and kept; an ended one gives way to a new one."""
    max_job_bytes: int = 256 << 20
    """Bytes of kept results; the oldest are forgotten first, the newest is kept whatever its size."""
    max_connection_age_seconds: float = 1800.0
    """Seconds until a gRPC connection is asked to reconnect, which rebalances; its calls and streams end in peace."""
    monitor_port: int = 0
    """TCP port of the monitor's HTTP; 0: 3000 plus `DEMUR_PORT_OFFSET`."""
    monitor_ledgers: str = ""
    """Ledgers that the monitor follows, URLs as of `DEMUR_LEDGER` divided by commas; empty: those of this home."""
    monitor_windows: str = "15m,1h,1d,7d,30d"
    """Windows by time that the monitor judges: numbers with m, h or d, at most 30d."""
    monitor_last_units: int = 100_000
    """Count of units of the monitor's window by count, which is judged exactly."""
    monitor_exact_units: int = 20_000
    """Count of units up to which windows by time are judged exactly; larger ones are sums of panes of 512 bins."""
    monitor_estimator: Literal["ht", "hajek", "aipw"] = "aipw"
    """How labels that were drawn by chance stand for the others: Horvitz-Thompson, Hájek, or augmented (AIPW)."""
    monitor_alpha: float = 0.05
    """Probability of a false alarm of drift, and of risk, for each model, however long it is watched."""
    monitor_seconds: float = 1.0
    """Seconds between two looks at the ledgers."""
    monitor_gone: str = ""
    """Epochs of processes that will never be heard of again, 16 hex digits each, divided by commas: windows do not wait
    for what they may have decided."""
    tracing: Literal["off", "otlp"] = "off"
    """Whether calls are traced: `otlp` sends OpenTelemetry spans where `OTEL_EXPORTER_OTLP_ENDPOINT` says; see
    docs/tracing.md. Needs the extra `tracing`."""
    log_level: str = "INFO"
    """Least severe level that is logged: DEBUG, INFO, WARNING or ERROR. DEBUG also has a line for each call."""

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None, *, task: str | None = None) -> Settings:
        """Settings from the environment; those of the task, ``DEMUR_<TASK>_…``, go before those of all.

        Args:
            task: in place of ``DEMUR_TASK``.

        Raises:
            SettingsError: a value is not of its field's type or range.
        """
        source = os.environ if environment is None else environment
        hints = get_type_hints(cls)
        name = task or source.get("DEMUR_TASK", cls.task)
        own = f"DEMUR_{name.upper()}_"
        values: dict[str, Any] = dict(TASK_DEFAULTS.get(name, {}))
        variables = {}
        for field in fields(cls):
            for variable in (f"{own}{field.name.upper()}", f"DEMUR_{field.name.upper()}"):
                if variable in source:
                    values[field.name] = parsed(variable, source[variable], hints[field.name])
                    variables[field.name] = variable
                    break
        settings = cls(**values | ({} if task is None else {"task": task}))
        settings._check(source.get("DEMUR_ALLOW_REMOTE") == "1", variables)
        return settings

    @classmethod
    def strangers(cls, environment: Mapping[str, str] | None = None) -> dict[str, str]:
        """Variables that look like settings and are none, each with the setting that may be meant, or nothing."""
        general = {field.name.upper() for field in fields(cls)}
        known = general | {f"{place}_{name}" for place in (*map(str.upper, TASKS), "MONITOR") for name in general}
        return strangers(os.environ if environment is None else environment, known)

    @property
    def ports(self) -> tuple[int, int]:
        """HTTP and gRPC port in force.

        Raises:
            SettingsError: one is outside 1 to 65535, or both are the same.
        """
        http, grpc = default_ports(self.task)
        pair = self.http_port or http + self.port_offset, self.grpc_port or grpc + self.port_offset
        for name, port, explicit in zip(
            ("HTTP_PORT", "GRPC_PORT"), pair, (self.http_port, self.grpc_port), strict=True
        ):
            if not 1 <= port <= 65535:
                cause = f"DEMUR_{name} = {port}" if explicit else f"DEMUR_PORT_OFFSET = {self.port_offset}: port {port}"
                raise SettingsError(f"{cause}: ports from 1 to 65535 are needed")
        if pair[0] == pair[1]:
            raise SettingsError(f"DEMUR_HTTP_PORT = DEMUR_GRPC_PORT = {pair[0]}: each needs a port of its own")
        return pair

    @property
    def ledger_url(self) -> str | None:
        """Where the ledger is; None for none."""
        if self.ledger in ("", "none"):
            return None
        return f"sqlite:///{self.home.resolve() / 'ledger' / self.task}.db" if self.ledger == "sqlite" else self.ledger

    @property
    def monitor_address(self) -> tuple[str, int]:
        """Host and port of the monitor in force.

        Raises:
            SettingsError: the port is outside 1 to 65535.
        """
        port = self.monitor_port or 3000 + self.port_offset
        if not 1 <= port <= 65535:
            raise SettingsError(
                f"DEMUR_PORT_OFFSET = {self.port_offset}: port {port}; ports from 1 to 65535 are needed"
            )
        return self.host, port

    @property
    def census_heads(self) -> tuple[str, ...]:
        """Heads whose population is declared to be labelled as a whole."""
        return listed(self.census)

    @property
    def measure_by_head(self) -> dict[str, str]:
        """Head name to the measure that it is to be deferred by.

        Raises:
            SettingsError: not of the form ``head=measure``, or a head twice.
        """
        measures_by_head: dict[str, str] = {}
        for entry in listed(self.measures):
            head, equals, measure = (part.strip() for part in entry.partition("="))
            if not (head and equals and measure) or head in measures_by_head:
                raise SettingsError(
                    f"DEMUR_MEASURES = {self.measures!r}: one head=measure for each head is needed, with commas "
                    "between, such as temperature=varm,precipitation=mi"
                )
            measures_by_head[head] = measure
        return measures_by_head

    @property
    def callback_prefixes(self) -> tuple[str, ...]:
        """Beginnings of the addresses that may be called back."""
        return listed(self.callbacks)

    @property
    def device(self) -> Device:
        """Where sessions compute, and how."""
        return Device(
            provider=self.provider,
            threads=self.intra_op_threads,
            tf32=self.tf32,
            convolution_search=self.convolution_search,
            memory_bytes=self.device_memory_bytes,
            index=self.device_index,
            growth=self.device_arena,
        )

    @property
    def lane_count(self) -> int:
        if self.lanes:
            return self.lanes
        return 1 if self.provider == "cuda" else available_cores()

    def _check(self, remote_allowed: bool, variables: Mapping[str, str]) -> None:
        """
        Args:
            variables: field to the variable that it was read from.
        """
        if not 0 < self.target_retention < 1:
            raise SettingsError(f"DEMUR_TARGET_RETENTION = {self.target_retention}: a share between 0 and 1 is needed")
        if self.fixed_threshold is not None and math.isnan(self.fixed_threshold):
            raise SettingsError("DEMUR_FIXED_THRESHOLD = nan: a number in the unit of the head's measure is needed")
        for name, lower, upper in RANGES:
            if not lower <= getattr(self, name) <= upper:
                variable = variables.get(name, f"DEMUR_{name.upper()}")
                raise SettingsError(f"{variable} = {getattr(self, name)}: {lower:g} to {upper:g} is needed")
        self.measure_by_head  # noqa: B018 - raises where it cannot be read
        self._check_addresses()
        if self.host not in ("127.0.0.1", "localhost", "::1") and not (self.tokens or remote_allowed):
            raise SettingsError(
                f"DEMUR_HOST = {self.host} would serve other machines without tokens; keep the loopback address, give "
                "DEMUR_TOKENS, or set DEMUR_ALLOW_REMOTE=1 where a proxy in front checks callers"
            )
        if bool(self.tls_certificate) != bool(self.tls_key) or (self.tls_client_ca and not self.tls_certificate):
            raise SettingsError(
                "DEMUR_TLS_CERTIFICATE and DEMUR_TLS_KEY go together, and DEMUR_TLS_CLIENT_CA goes with both"
            )
        self.ports  # noqa: B018 - raises where one is impossible

    def _check_addresses(self) -> None:
        for name, addresses in (
            ("CALLBACKS", self.callback_prefixes),
            ("REQUEST_WEBHOOK", listed(self.request_webhook)),
        ):
            for url in addresses:
                if not is_address(url):
                    raise SettingsError(f"DEMUR_{name} = {url!r}: an address such as https://host/path is needed")
            if addresses and len(self.webhook_secret) < SECRET_CHARACTERS:
                raise SettingsError(
                    f"DEMUR_{name} needs DEMUR_WEBHOOK_SECRET, which signs what is sent: {SECRET_CHARACTERS} "
                    "characters or more"
                )


SECRET_CHARACTERS = 16
"""A shorter secret could be found by trying."""
