"""What `brokerwise up` was asked for."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from brokerwise.cli.fleet_options import check_host
from brokerwise.cli.options import parse_conf
from brokerwise.cli.points import parse_point
from brokerwise.cli.tls_options import tls_of
from brokerwise.model.errors import InputError
from brokerwise.runtime.process.logs import LogSettings

if TYPE_CHECKING:
    from brokerwise.runtime.fleet.settings import DataClusterSettings, Settings
    from brokerwise.runtime.protocol.seed import Seed

DEFAULT_BROKERS = 3
MOST_BROKERS = 1000  # processes, on one machine
DEFAULT_PLACEMENT = "round-robin"
NEAREST = "nearest"  # the placement that needs to know where brokers are


@dataclass(frozen=True)
class UpRequest:
    """The options, as they were given; None: not given."""

    state: Path
    brokers: int | None = None
    plan: str | None = None
    workload: str | None = None
    placement: str | None = None
    steps: tuple[str, ...] = ()
    into: tuple[str, ...] = ()
    certificate: Path | None = None
    private_key: Path | None = None
    authority: Path | None = None
    host: str = "127.0.0.1"
    port: int = 0
    data_cluster: bool = False
    master: str | None = None
    conf: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    log: LogSettings = field(default_factory=LogSettings)

    def seed(self) -> "Seed":
        """Raises InputError for options that contradict each other, and for a plan
        that cannot be run."""
        steps = parse_steps(self.steps)
        if self.plan is None:
            return self._plain(steps, parse_into(self.into))
        if self.brokers is not None or self.placement is not None or self.places:
            raise InputError(
                "--plan says which brokers there are and who goes where",
                hint="Leave out --brokers, --placement and --place, or --plan.",
            )
        from brokerwise.runtime.fleet.approval import seed_of_plan
        from brokerwise.storage.place import Place

        workload = None if self.workload is None else Place(self.workload)
        return seed_of_plan(Place(self.plan), workload, steps)

    def _plain(self, steps: dict[str, str], into: dict[str, str]) -> "Seed":
        if self.workload is not None:
            raise InputError("--workload is that of a plan: there is no --plan")
        from brokerwise.runtime.fleet.seeds import seed_of_count

        brokers = DEFAULT_BROKERS if self.brokers is None else self.brokers
        placement = self.placement or DEFAULT_PLACEMENT
        self._check_places(brokers, placement)
        places = [parse_point("--place", text) for text in self.places]
        return seed_of_count(brokers, placement, steps, places, into)

    def _check_places(self, brokers: int, placement: str) -> None:
        if placement != NEAREST and self.places:
            raise InputError(f"--place is for --placement {NEAREST}")
        if placement == NEAREST and len(self.places) != brokers:
            raise InputError(
                f"--placement {NEAREST} has to know where each broker is: found "
                f"{len(self.places):,} of {brokers:,} places",
                hint="Give --place X,Y once for each, the first one that of b0; users "
                "say where they are with `brokerwise subscribe --at X,Y`.",
            )

    def settings(self) -> "Settings":
        from brokerwise.runtime.fleet.settings import Settings

        check_host(self.host)
        tls = tls_of(self.certificate, self.private_key, self.authority)
        tls.check(self.host)
        return Settings(
            host=self.host,
            port=self.port,
            tls=tls,
            data_cluster=self._data_cluster(),
            log=self.log,
        )

    def _data_cluster(self) -> "DataClusterSettings | None":
        from brokerwise.runtime.fleet.settings import DataClusterSettings

        conf = parse_conf(self.conf)
        if not self.data_cluster:
            if self.master is not None or conf:
                raise InputError(
                    "--master and --conf are for the Spark of a data cluster: there "
                    "is no --data-cluster"
                )
            if self.into:
                raise InputError(
                    "--into is for the datasets of a data cluster: there is no "
                    "--data-cluster"
                )
            return None
        if self.plan is not None:
            raise InputError(
                "--data-cluster does not go with --plan: a plan says beforehand which "
                "topics each user is served, and a channel makes a new one for each "
                "subscription",
                hint="Leave out one of them.",
            )
        return DataClusterSettings(self.master or "", conf)

    def arguments(self) -> list[str]:
        """The same request as words of a command line."""
        words = ["up", "--state", str(self.state), "--host", self.host]
        words += ["--port", str(self.port)]
        words += ["--log-format", self.log.format, "--log-level", self.log.level]
        options = {
            "--brokers": self.brokers,
            "--plan": self.plan,
            "--workload": self.workload,
            "--placement": self.placement,
            "--certificate": self.certificate,
            "--private-key": self.private_key,
            "--authority": self.authority,
        }
        for name, value in options.items():
            words += [] if value is None else [name, str(value)]
        words += ["--data-cluster"] * self.data_cluster
        words += [] if self.master is None else ["--master", self.master]
        repeated = {
            "--step": self.steps,
            "--into": self.into,
            "--conf": self.conf,
            "--place": self.places,
        }
        for name, values in repeated.items():
            for value in values:
                words += [name, value]
        return words


def parse_steps(given: Sequence[str]) -> dict[str, str]:
    """TOPIC=STEP options; a topic's name may hold `=`, a step does not."""
    from brokerwise.runtime.broker.step_worker import check_step

    steps: dict[str, str] = {}
    for text in given:
        topic, equals, step = text.rpartition("=")
        if not (topic and equals and step):
            raise InputError(
                f"--step: found {text!r}, expected TOPIC=STEP",
                hint="A step is spin:MILLISECONDS or module:function.",
            )
        try:
            check_step(step)
        except InputError as cause:
            raise InputError(f"--step: found {text!r}: {cause}") from cause
        if topic in steps:
            raise InputError(f"--step: topic {topic!r} has two")
        steps[topic] = step
    return steps


def parse_into(given: Sequence[str]) -> dict[str, str]:
    """TOPIC=DATASET options; a topic's name may hold `=`, that of a dataset does not.

    The datasets need not be there yet.
    """
    from brokerwise.runtime.protocol.data import check_name

    into: dict[str, str] = {}
    for text in given:
        topic, equals, dataset = text.rpartition("=")
        if not (topic and equals and dataset):
            raise InputError(f"--into: found {text!r}, expected TOPIC=DATASET")
        check_name("--into", dataset)
        if topic in into:
            raise InputError(f"--into: topic {topic!r} has two")
        into[topic] = dataset
    return into
