"""The processes of one fleet, as they are started."""

from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from brokerwise.runtime.fleet.children import Program
from brokerwise.runtime.fleet.keeper import Keeper, Tell
from brokerwise.runtime.fleet.restarts import Restarts
from brokerwise.runtime.fleet.settings import DataClusterSettings, Settings
from brokerwise.runtime.fleet.starting import (
    BrokerStartError,
    CoordinatorStartError,
    DataClusterStartError,
    StartError,
)
from brokerwise.runtime.process.launch import Launch
from brokerwise.runtime.protocol.names import SOURCE
from brokerwise.runtime.protocol.tokens import Keys, Role

_COORDINATOR = "coordinator"


@dataclass(frozen=True)
class Programs:
    """`run` names this start of the fleet. `lock` is the state directory's, handed
    down; neither for a broker that joins from outside. Brokers do not get the keys of
    operators."""

    state: Path
    keys: Keys
    settings: Settings
    run: str = ""
    lock: tuple[int, ...] = ()

    def coordinator(self, data_cluster: str = "") -> Program:
        launch = replace(
            self._launch(_COORDINATOR, self.keys),
            port=self.settings.port,
            state=str(self.state.resolve()),
            data_cluster=data_cluster,
        )
        return self._program(self.settings.coordinator, launch, CoordinatorStartError)

    def data_cluster(self, settings: DataClusterSettings) -> Program:
        launch = replace(
            self._launch(SOURCE, self.keys),
            state=str(settings.place(self.state)),
            master=settings.master,
            conf=dict(settings.conf),
        )
        program = self._program(settings.command, launch, DataClusterStartError)
        return replace(program, stop_seconds=settings.stop_seconds)

    def broker(self, name: str, coordinator: str, data_cluster: str = "") -> Program:
        launch = replace(
            self._launch(name, self.keys.only(Role.USER, Role.BROKER)),
            coordinator=coordinator,
            data_cluster=data_cluster,
            cores=self.settings.broker_cores,
            nice=self.settings.broker_nice,
            step_limit=self.settings.step_limit,
        )
        return self._program(self.settings.broker, launch, BrokerStartError)

    def keeper(self, program: Program, tell: Tell) -> Keeper:
        first, most = self.settings.first_pause, self.settings.longest_pause
        return Keeper(program, tell, Restarts(program.lasting, first, most))

    def _launch(self, name: str, keys: Keys) -> Launch:
        tls = self.settings.tls
        return Launch(
            name=name,
            host=self.settings.host,
            port=0,
            keys=keys.as_json(),
            run=self.run,
            certificate=tls.certificate,
            private_key=tls.private_key,
            authority=tls.authority,
            cores=self.settings.cores,
            log=self.settings.log,
        )

    def _program(
        self, command: tuple[str, ...], launch: Launch, failure: type[StartError]
    ) -> Program:
        return Program(
            command,
            launch,
            log_path(self.state, launch.name),
            self.lock,
            failure is not BrokerStartError,
            failure,
            self.settings.start_seconds,
            self.settings.stop_seconds,
        )


def log_path(state: Path, name: str) -> Path:
    """Where the output of a process goes; a name may hold what no file name may."""
    return state / "logs" / f"{quote(name, safe=' ')}.log"
