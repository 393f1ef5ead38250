"""Everything that can be set, from the environment (``DEMUR_…``); read once at start."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_type_hints

from models.executors.device import Device
from services.runtime.addresses import check_notices
from services.runtime.cores import available_cores
from services.runtime.keyed_settings import keyed, numbers_by_head
from services.runtime.ranges import RANGES
from services.runtime.registry import DEFAULT_TASK, GRPC_PORT_OFFSET, default_ports
from services.runtime.registry import TASKS as REGISTRY
from services.runtime.review_addresses import check_page, service_urls
from services.runtime.row_models import place, row_models, served_name
from services.runtime.variables import SettingsError, listed, parsed, strangers

TASK_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    name: task.defaults for name, task in REGISTRY.items() if task.defaults
}
"""Task name to the settings whose default differs from that of all tasks."""
TASKS = tuple(sorted(REGISTRY, key=lambda name: REGISTRY[name].port))
"""Names of the tasks, in the order of their ports."""


@dataclass(frozen=True)
class Settings:
    """Settings of a service, each the environment variable DEMUR_<FIELD>; docs/settings.md is generated from here."""

    task: str = DEFAULT_TASK
    """Name of the task that this process serves; `demur up` and `demur serve` set it."""
    home: Path = Path(".demur")
    """Directory of the model store, run files and logs."""
    model: str = ""
    """Name or tag of the artefact; empty: the task's reference artefact."""
    start_without_model: bool = False
    """1: a service starts even if its artefact is missing or broken; it is then alive, not ready, and its readiness
    probe states the reason. 0: `demur serve` exits with the reason. Images set 1."""
    host: str = "127.0.0.1"
    """Address that both protocols listen on. An address other than loopback needs `DEMUR_TOKENS` or
    `DEMUR_ALLOW_REMOTE=1`."""
    http_port: int = 0
    """TCP port of HTTP; 0: the task's port, 3001 to 3005, plus `DEMUR_PORT_OFFSET`."""
    grpc_port: int = 0
    """TCP port of gRPC; 0: the task's port, 4001 to 4005, plus `DEMUR_PORT_OFFSET`."""
    port_offset: int = 0
    """Number added to the default ports of the tasks and the monitor, so that a second set of services can run beside
    the first; ports that are set explicitly, and probe ports, stay."""
    probe_port: int = 0
    """TCP port that answers /livez and /readyz in plain HTTP, for probes without a client certificate; 0: none. If
    several services run on one host, set `DEMUR_<TASK>_PROBE_PORT` and `DEMUR_MONITOR_PROBE_PORT`."""
    tokens: str = ""
    """File of hashed bearer tokens, written by `demur tokens`; empty: callers need no token. Reloaded when it
    changes."""
    tls_certificate: str = ""
    """PEM file with the certificate chain, for both protocols and the monitor; empty: no TLS. This file and the next
    two are reloaded when they change."""
    tls_key: str = ""
    """PEM file with the private key of the certificate, not encrypted."""
    tls_client_ca: str = ""
    """PEM file with the authorities of client certificates; if set, callers need a certificate of one of them
    (mTLS)."""
    provider: Literal["cpu", "cuda"] = "cpu"
    """Device that runs the model; part of the numeric profile that thresholds are bound to, see below. `cuda` needs the
    extra `cuda`, which installs CUDA and cuDNN, and NVIDIA's driver."""
    device_index: int = 0
    """CUDA device number, among the devices that the process sees."""
    device_memory_bytes: int = 0
    """Maximum size of one session's memory arena on the device, in bytes; 0: no limit. A model of several graphs has
    one session per graph."""
    device_arena: Literal["same", "double"] = "same"
    """Growth of a session's arena on the device: `same` by the requested size, `double` to the next power of two, which
    is faster and takes more memory."""
    tf32: bool = False
    """1: CUDA may round factors of float32 products to 10 bits of mantissa (TF32); part of the numeric profile. 0: it
    may not."""
    convolution_search: Literal["heuristic", "exhaustive", "default"] = "heuristic"
    """Search of cuDNN for the algorithm of a convolution; part of the numeric profile. `exhaustive` measures all
    algorithms for each new shape, and may choose a different one at the next start."""
    qualify: Literal["auto", "require", "off"] = "auto"
    """Behaviour under a numeric profile that the artefact was not calibrated for: `auto` measures it at start with the
    artefact's replay set, `require` starts only if `demur models qualify` has measured it, `off` defers everything."""
    qualify_seconds: float = 60.0
    """Time that this measurement may delay readiness, in seconds. If it takes longer, it continues in the background,
    and everything is deferred until its verdict."""
    lanes: int = 0
    """Number of quanta (parts of a request, see docs/glossary.md) that run in parallel; 0: one per available core on a
    CPU (whole cores of a container's CPU limit), one on a GPU."""
    intra_op_threads: int = 1
    """Number of threads that compute one quantum."""
    target_retention: float = 0.95
    """Share of in-domain inputs that should be answered, above 0 and below 1; it selects the calibrated threshold. A
    row model keeps the share it was built with unless this differs from the default."""
    fixed_threshold: float | None = None
    """Threshold that replaces the calibrated one, in the unit of the head's measure (power: kW²); empty: none. Only for
    tasks with one head; `demur policy set` sets one for each head."""
    measures: str = ""
    """Measures to defer by instead of the heads' own, separated by commas: `temperature=varm,precipitation=mi`."""
    defer_on_shift: bool = False
    """1: inputs unlike the training data are deferred, even if the model is certain. 0: they are only flagged."""
    withhold: bool = False
    """1: answers leave out the predictions of deferred inputs. 0: they contain them."""
    audits: Literal["uniform", "stratified"] = "uniform"
    """Sampling of answered inputs for labels: `uniform` at one rate, `stratified` more often where an error would
    change the retention curve more."""
    audit_rate: float = 0.01
    """Share of answered inputs for which a label is requested at random."""
    audit_floor: float = 0.2
    """Minimum rate of any input with `DEMUR_AUDITS=stratified`, as a share of `DEMUR_AUDIT_RATE`."""
    ledger: str = "sqlite"
    """Database of decisions: `sqlite` for a file of the task in `DEMUR_HOME`, `sqlite:///FILE`,
    `postgresql+psycopg://USER:PASSWORD@HOST/NAME`, or `none`."""
    ledger_durability: Literal["process", "power"] = "process"
    """Failure that a recorded answer survives: `process` a kill of the service, `power` the loss of its host."""
    ledger_deadline_seconds: float = 0.25
    """Maximum time that an answer waits for its record, in seconds; after that it is sent with `recorded = false`, and
    a gap is noted."""
    ledger_store: str = ""
    """Directory or fsspec URL for content that is too large for the database; empty: a directory in `DEMUR_HOME`."""
    keep_payload: Literal["task", "on", "off"] = "task"
    """Storage of the inputs of deferred and audited units, for reviewers: `on`, `off`, or `task`, which stores rows,
    but not scans, scenes and texts."""
    inputs: str = ""
    """Folder with files `UNIT.*`, or address that answers `GET ADDRESS/UNIT`, of inputs for reviewers that are not
    stored."""
    journal_bytes: int = 1 << 30
    """Maximum size of the answers that wait in `DEMUR_HOME` while the database is down, in bytes."""
    explore_bytes: int = 64 << 20
    """Maximum size of the explored units that are held in memory so that callers can commit to some of them, in
    bytes."""
    explore_seconds: float = 900.0
    """Time that explored units are held, in seconds."""
    retention_days: float = 0.0
    """Age at which inputs, evidence and raw labels are erased, in days; decisions, scores and errors are kept; 0:
    never. Unrelated to `DEMUR_TARGET_RETENTION`."""
    census: str = ""
    """Heads, separated by commas, of which every unit will get a label, such as from telemetry or weather stations;
    each unit is then a row of the ledger."""
    request_days: float = 30.0
    """Time after which a request for a label expires and counts as not answered, in days."""
    second_phase: float = 0.0
    """Share of skipped and expired requests that is drawn at random and requested again; 0: none."""
    second_opinions: float = 0.0
    """Share of the units labelled through the review queue whose label another reviewer gives again, unseen, so that
    the error of reviewers is known; 0: none."""
    known_units: float = 0.0
    """Share of the requests that reviewers claim which are units with a known label, of a census or adjudicated; 0:
    none."""
    adjudicate: str = ""
    """Difference of two reviewers above which a third one decides, by head: `temperature=9,precipitation=0.5`. Numbers
    differ by the square, in the square of the head's unit, classes by 0 or 1, texts in %, positions in m, masks by
    1 - Dice; empty: none decides."""
    drafts: bool = False
    """1: reviewers may edit the predictions of deferred units, in a queue of its own that holds no audits; these labels
    are marked as assisted. 0: every label is given blindly."""
    callbacks: str = ""
    """URL prefixes to which notices of labels may be sent, separated by commas (`https://host/path`); empty: none."""
    request_webhook: str = ""
    """URL that receives a notice of each new request for a label, without its content; empty: none."""
    webhook_secret: str = ""
    """Secret that signs these notices, 16 characters or more; required by the two settings above."""
    max_rows: int = 262_144
    """Maximum number of rows of one unary call or of one chunk of a stream, for tasks that take rows, and of labels of
    one call."""
    max_message_bytes: int = 16 << 20
    """Maximum size of one HTTP body or gRPC message, in bytes."""
    max_upload_bytes: int = 256 << 20
    """Maximum size of the files of one form, or of one item of a stream that is sent in pieces, in bytes."""
    max_header_bytes: int = 16 << 10
    """Maximum size of the headers of one HTTP request, or of the metadata of one gRPC call, in bytes."""
    max_connections: int = 4096
    """Maximum number of open connections of each protocol; further ones are closed."""
    max_connection_calls: int = 32
    """Maximum number of open gRPC calls and streams on one connection; further ones wait at the caller."""
    slow_seconds: float = 15.0
    """Maximum time for the headers of an HTTP request, and between two parts of its body or answer, in seconds; after
    that the connection is closed. It also limits gRPC handshakes and the acknowledgement of HTTP/2 settings."""
    message_seconds: float = 60.0
    """Maximum time from the metadata of a unary gRPC call to its message, in seconds; after that the call is refused.
    Streams may be silent."""
    inline_bytes: int = 64 << 10
    """Size up to which text is read, checked and written on the event loop, in bytes; larger text is handled in
    threads, unless requests come one at a time and it is at most eight times as large."""
    queue_seconds: float = 20.0
    """Maximum model time of waiting and running requests, in seconds per lane; beyond it callers get an error that the
    service is busy. Bulk work counts for bulk work only."""
    lane_calls: int = 16
    """Maximum number of interactive requests that wait or run, per lane; beyond it callers get an error that the
    service is busy. Bursts may reach four times this number. Requests take turns, so their duration grows with their
    number."""
    waiting_calls: int = 64
    """Maximum number of small calls that wait for the event loop, on each protocol; further ones are refused at once
    (over gRPC: CANCELLED without details). Over HTTP bursts may reach four times this number. It bounds the number of
    concurrent callers; latency under overload grows with it."""
    queue_bytes: int = 512 << 20
    """Maximum size of waiting and running requests, in bytes; beyond it callers get an error that the service is
    busy."""
    stream_window_chunks: int = 4
    """Maximum number of unanswered chunks of a stream."""
    request_seconds: float = 60.0
    """Deadline of an HTTP call that sets none, in seconds."""
    drain_seconds: float = 30.0
    """Time that running calls have to finish after SIGTERM, in seconds."""
    job_seconds: float = 3600.0
    """Time that the results of a finished job are kept, in seconds."""
    max_jobs: int = 256
    """Maximum number of running and finished jobs; a new job then replaces the oldest finished one, or is refused if
    all are running."""
    max_job_bytes: int = 256 << 20
    """Maximum size of kept results, in bytes; the oldest are removed first, and the newest is always kept."""
    max_connection_age_seconds: float = 1800.0
    """Age at which a gRPC connection is closed gracefully, in seconds, so that clients reconnect and load is
    rebalanced; its calls and streams finish."""
    monitor_port: int = 0
    """TCP port of the monitor; 0: 3000 plus `DEMUR_PORT_OFFSET`."""
    review_port: int = 0
    """TCP port of the review console; 0: 3011 plus `DEMUR_PORT_OFFSET`."""
    review_services: str = ""
    """Services that the review console shows, as `task=URL`, separated by commas; empty: those that run with the same
    `DEMUR_HOME`."""
    review_url: str = ""
    """Address that reviewers open, such as `https://review.example`, if a proxy is in front of the review console:
    calls from pages of any other address are refused, and with https cookies are `Secure`. Needs `DEMUR_TOKENS`. Empty:
    the `Host` of each call."""
    monitor_ledgers: str = ""
    """Ledgers that the monitor follows, URLs as in `DEMUR_LEDGER`, separated by commas; empty: those in
    `DEMUR_HOME`."""
    monitor_windows: str = "15m,1h,1d,7d,30d"
    """Lengths of the monitor's windows of time: numbers with m, h or d, at most 30d."""
    monitor_last_units: int = 100_000
    """Number of units in the monitor's window by count, whose figures are exact."""
    monitor_exact_units: int = 20_000
    """Number of units up to which the figures of windows of time are exact; larger windows are sums of histograms with
    512 bins."""
    monitor_estimator: Literal["ht", "hajek", "aipw"] = "aipw"
    """Estimator that weights sampled labels: Horvitz-Thompson, Hájek, or augmented inverse probability weighting
    (AIPW)."""
    monitor_assisted: Literal["fill", "omit", "compare"] = "fill"
    """Labels given in sight of the prediction: `fill` uses them only for units without a blind label, `omit` never uses
    them, and `compare` is `fill` with the figures of `omit` beside it, as the source `blind`."""
    monitor_alpha: float = 0.05
    """Probability of a false alarm of drift, and of risk, for each model over all time."""
    monitor_seconds: float = 1.0
    """Interval between two reads of the ledgers, in seconds."""
    monitor_gone: str = ""
    """Epochs (ids of processes, 16 hex digits) of processes that will not come back, separated by commas; windows do
    not wait for their decisions."""
    tracing: Literal["off", "otlp"] = "off"
    """Destination of traces: `otlp` sends OpenTelemetry spans to `OTEL_EXPORTER_OTLP_ENDPOINT` (docs/tracing.md; needs
    the extra `tracing`), `off` records none."""
    log_level: str = "INFO"
    """Minimum level of log lines: DEBUG, INFO, WARNING or ERROR. DEBUG also writes a line for each call."""

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None, *, task: str | None = None) -> Settings:
        """Return the settings in the environment; ``DEMUR_<TASK>_…`` takes precedence over ``DEMUR_…``.

        Args:
            task: in place of ``DEMUR_TASK``.

        Raises:
            SettingsError: a value is not of its field's type or range.
        """
        source = os.environ if environment is None else environment
        hints = get_type_hints(cls)
        name = served_name(task or source.get("DEMUR_TASK", cls.task), source)
        own = f"DEMUR_{place(name)}_"
        values: dict[str, Any] = dict(TASK_DEFAULTS.get(name, {}))
        variables = {}
        for field in fields(cls):
            for variable in (f"{own}{field.name.upper()}", f"DEMUR_{field.name.upper()}"):
                if variable in source:
                    values[field.name] = parsed(variable, source[variable], hints[field.name])
                    variables[field.name] = variable
                    break
        settings = cls(**values | {"task": name})
        settings._check(source.get("DEMUR_ALLOW_REMOTE") == "1", variables)
        return settings

    @classmethod
    def strangers(cls, environment: Mapping[str, str] | None = None) -> dict[str, str]:
        """Variables that look like settings and are none, each with the setting that may be meant, or nothing."""
        general = {field.name.upper() for field in fields(cls)}
        source = os.environ if environment is None else environment
        names = (*TASKS, *row_models(Path(source.get("DEMUR_HOME", cls.home))), source.get("DEMUR_TASK", "monitor"))
        known = general | {f"{place(name)}_{field}" for name in (*names, "monitor", "review") for field in general}
        return strangers(source, known)

    @property
    def ports(self) -> tuple[int, int]:
        """HTTP and gRPC port in force.

        Raises:
            SettingsError: one is outside 1 to 65535, or both are the same.
        """
        http, grpc = default_ports(self.task)
        if self.task not in REGISTRY and (model := row_models(self.home).get(self.task)) is not None:
            http, grpc = model.port, model.port + GRPC_PORT_OFFSET
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
    def census_heads(self) -> tuple[str, ...]:
        """Heads whose population is declared to be labelled as a whole."""
        return listed(self.census)

    @property
    def measure_by_head(self) -> dict[str, str]:
        """Head name to the measure that it is to be deferred by.

        Raises:
            SettingsError: not of the form ``head=measure``, or a head twice.
        """
        return keyed("DEMUR_MEASURES", self.measures, "head=measure", "temperature=varm,precipitation=mi")

    @property
    def adjudicate_by_head(self) -> dict[str, float]:
        """Head name to the difference of two labels above which a third reviewer decides.

        Raises:
            SettingsError: not of the form ``head=number``, a negative number, or a head twice.
        """
        return numbers_by_head("DEMUR_ADJUDICATE", self.adjudicate, "power=250000")

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
        _ = self.measure_by_head, self.adjudicate_by_head, service_urls(self.review_services)  # raise if unreadable
        check_page(self.review_url, self.tokens)
        check_notices("CALLBACKS", self.callback_prefixes, self.webhook_secret)
        check_notices("REQUEST_WEBHOOK", listed(self.request_webhook), self.webhook_secret)
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
