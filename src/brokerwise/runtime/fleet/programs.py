"""The processes of one fleet, as they are started."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from brokerwise.runtime.fleet.children import Program
from brokerwise.runtime.fleet.keeper import Keeper, Tell
from brokerwise.runtime.fleet.restarts import Restarts
from brokerwise.runtime.fleet.settings import Settings
from brokerwise.runtime.launch import Launch
from brokerwise.runtime.tokens import Keys, Role

_COORDINATOR = "coordinator"


@dataclass(frozen=True)
class Programs:
    """`lock` is the state directory's, handed down; none for a broker that joins
    from outside."""

    state: Path
    keys: Keys
    settings: Settings
    lock: tuple[int, ...] = ()

    def coordinator(self) -> Program:
        """It alone has the keys of operators."""
        launch = self._launch(_COORDINATOR, self.keys, self.settings.port)
        return self._program(self.settings.coordinator, launch, coordinator=True)

    def broker(self, name: str, coordinator: str) -> Program:
        keys = self.keys.only(Role.USER, Role.BROKER)
        launch = self._launch(name, keys, 0, coordinator)
        return self._program(self.settings.broker, launch, coordinator=False)

    def keeper(self, program: Program, tell: Tell) -> Keeper:
        first, most = self.settings.first_pause, self.settings.longest_pause
        return Keeper(program, tell, Restarts(program.coordinator, first, most))

    def _launch(
        self, name: str, keys: Keys, port: int, coordinator: str = ""
    ) -> Launch:
        tls = self.settings.tls
        return Launch(
            name=name,
            host=self.settings.host,
            port=port,
            keys=keys.as_json(),
            coordinator=coordinator,
            state="" if coordinator else str(self.state.resolve()),
            certificate=tls.certificate,
            private_key=tls.private_key,
            authority=tls.authority,
        )

    def _program(
        self, command: tuple[str, ...], launch: Launch, *, coordinator: bool
    ) -> Program:
        return Program(
            command,
            launch,
            log_path(self.state, launch.name),
            self.lock,
            coordinator,
            self.settings.start_seconds,
            self.settings.stop_seconds,
        )


def log_path(state: Path, name: str) -> Path:
    """Where the output of a process goes; a name may hold what no file name may."""
    return state / "logs" / f"{quote(name, safe=' ')}.log"
