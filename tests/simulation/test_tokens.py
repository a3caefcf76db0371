"""Tokens are signed once and refreshed in time; host keys are made once and then stay."""

from __future__ import annotations

import asyncio

from penstock.slurm import tokens
from penstock.slurm.tokens import Claims

from .loop import clock, now, simulated
from .manifests import JWT_KEY, TOKEN, sample, secret, token
from .world import World, cluster

NEW_KEY = "another-key-that-signs-tokens-for-slurmrestd"


@simulated
async def test_a_token_is_signed_once_and_again_when_four_fifths_of_its_life_are_over() -> None:
    async with cluster() as (here, operator):
        signed = operator.port.counted()["apply", "secrets"]
        first = _claims(here)
        await asyncio.sleep(first.issued_at + 0.8 * 3600 - clock().timestamp() - 5)
        assert _claims(here) == first
        assert operator.port.counted()["apply", "secrets"] == signed
        await here.until(lambda: _claims(here) != first, within=10)
        second = _claims(here)
        assert second.expires_at - second.issued_at == 3600
        assert operator.port.counted()["apply", "secrets"] == signed + 1
        await here.until(lambda: here.sight("Token", TOKEN).status["issuedAt"] > "2030-01-01T00:48", within=10)


@simulated
async def test_through_half_a_day_a_token_is_never_out_of_date() -> None:
    async with cluster() as (here, operator):
        since = now()
        for _ in range(12 * 12):
            await asyncio.sleep(300)
            assert _claims(here).expires_at > clock().timestamp() + 600
        assert len(operator.port.writes(since, besides=("events.events.k8s.io", "tokens.slinky.slurm.net"))) == 15


@simulated
async def test_a_new_key_signs_a_new_token_at_once() -> None:
    async with cluster() as (here, _):
        await here.apply([secret(JWT_KEY, **{"jwt.key": NEW_KEY})])
        await here.until(lambda: _is_good(here), within=1)
        await here.ready()


@simulated
async def test_a_restarted_operator_signs_nothing_anew() -> None:
    async with cluster() as (here, operator):
        before, keys = _claims(here), here.sight("Secret", "slurm-login-ssh-host-keys")
        pods = {pod.metadata.uid for pod in here.sight.all("Pod")}
        await operator.crash()
        again = here.start()
        await asyncio.sleep(60)
        assert _claims(here) == before
        assert here.sight("Secret", "slurm-login-ssh-host-keys") == keys
        assert keys.immutable
        assert {pod.metadata.uid for pod in here.sight.all("Pod")} == pods
        assert ("create", "secrets") not in again.port.counted()
        # An apply of what is there changes nothing; a status is not even applied.
        assert {call.verb for call in again.port.writes()} == {"apply"}, again.port.writes()


@simulated
async def test_a_token_without_refresh_stays_and_says_when_it_has_expired() -> None:
    async with cluster([*sample(), token(refresh=False, lifetime="10m")]) as (here, _):
        before = here.sight("Secret", "admin-jwt-slurm")
        assert before.immutable
        await asyncio.sleep(550)
        assert here.sight.is_true("Token", TOKEN, "Ready")
        await asyncio.sleep(60)
        told = here.sight.condition("Token", TOKEN, "Ready")
        assert (told["status"], told["reason"]) == ("False", "TokenExpired")
        await asyncio.sleep(7200)
        assert here.sight("Secret", "admin-jwt-slurm") == before


@simulated
async def test_what_somebody_writes_into_a_tokens_secret_is_replaced() -> None:
    async with cluster() as (here, _):
        await here.edit("Secret", "admin-jwt-slurm", data={"SLURM_JWT": "bm90IGEgdG9rZW4="})
        await here.until(lambda: _is_good(here), within=1)


def _claims(here: World) -> Claims:
    text = here.sight.secret("admin-jwt-slurm")["SLURM_JWT"].decode()
    return tokens.read(text, here.sight.secret(JWT_KEY)["jwt.key"], now=int(clock().timestamp()))


def _is_good(here: World) -> bool:
    try:
        return bool(_claims(here))
    except tokens.TokenError:
        return False
