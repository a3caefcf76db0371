"""What a container is asked and told, over the network of its pod or inside of it."""

from __future__ import annotations

import asyncio

from penstock.engine.attempts import Attempt
from penstock.engine.podspec import Container, Hook, Probe
from penstock.engine.probes import UNABLE, Answer, Dial, over_http, over_tcp
from penstock.engine.runtime import Runtime
from penstock.engine.sandbox import Sandbox

_SHOWN = 512
"""Characters of a command's output that people are shown."""
_LONGEST_HOOK = 3600.0
"""Seconds; the pod's grace ends a hook that is told to end sooner."""


class Health:
    """Asks after the containers of one pod."""

    def __init__(self, runtime: Runtime, sandbox: Sandbox, dial: Dial) -> None:
        self._runtime = runtime
        self._sandbox = sandbox
        self._dial = dial

    async def ask(self, container: Container, attempt: Attempt, probe: Probe) -> Answer:
        """One question of a probe; OSError when it cannot be asked."""
        if probe.exec:
            return await self._run(attempt, probe.exec.command, max(probe.timeout_seconds, 1))
        if probe.http_get:
            return await over_http(probe.http_get, container, self._sandbox.address, self._dial)
        if probe.tcp_socket:
            return await over_tcp(probe.tcp_socket, container, self._sandbox.address, self._dial)
        return Answer(good=False, said="the probe asks nothing; give it exec, httpGet or tcpSocket")

    async def do(self, container: Container, attempt: Attempt, hook: Hook) -> Answer:
        """What a hook says is to be done; that it cannot be is an answer, too."""
        try:
            return await self._done(container, attempt, hook)
        except UNABLE as problem:
            return Answer(good=False, said=f"could not be done: {problem}")

    async def _done(self, container: Container, attempt: Attempt, hook: Hook) -> Answer:
        if hook.exec:
            return await self._run(attempt, hook.exec.command, _LONGEST_HOOK)
        if hook.http_get:
            return await over_http(hook.http_get, container, self._sandbox.address, self._dial)
        if hook.sleep:
            await asyncio.sleep(hook.sleep.seconds)
        return Answer(good=True)

    async def _run(self, attempt: Attempt, command: tuple[str, ...], seconds: float) -> Answer:
        done = await self._runtime.execute(attempt.container_id, command, timeout=seconds)
        said = (done.output + done.error).decode(errors="replace").strip()[-_SHOWN:]
        return Answer(done.exit_code == 0, f"{' '.join(command)}: {said or f'exit code {done.exit_code}'}")
