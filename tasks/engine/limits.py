"""Limits that hold over all workers: a job reserves its own turn, once, and waits for it in the ledger.

In Redis, per key, stand two short lists. *Turns* are what was given out: with N per window, a new one comes no
earlier than a window after the N-th last, and a job whose turn lies ahead is parked until then, holding no worker
and asking nobody. *Starts* are what really happened, and they decide: whoever comes starts only if fewer than N did
within the last window. Turns are a little more than a window apart (GRACE), because the relay looks twice a second;
so a job that is not later than that finds its turn free. One that is late by more than a window, after a pause say,
gets another turn, so that what has piled up does not come at once.
"""

from dataclasses import dataclass
from datetime import timedelta
from functools import cache

import redis
import structlog

from config.rates import Rate
from config.settings import get_settings

log = structlog.get_logger()

# KEYS: turns (a list), whose they are (a hash), starts (a list), the freeze. ARGV: job, N, window, grace, weight.
# All times in milliseconds of Redis's own clock. Returns how long to wait; 0 is
# "start now". N is 0 for a key without a rate.
_RESERVE = """
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local limit, window, grace, weight = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])

local open = math.max(now, tonumber(redis.call('GET', KEYS[4]) or '0'))
if limit == 0 then return open - now end
local blocking = redis.call('LINDEX', KEYS[3], limit - weight)
if blocking then open = math.max(open, tonumber(blocking) + window) end

local function push(list, moment, life)
  for _ = 1, weight do redis.call('LPUSH', list, moment) end
  redis.call('LTRIM', list, 0, limit - 1)
  redis.call('PEXPIRE', list, life)
end
local function begin()
  redis.call('HDEL', KEYS[2], ARGV[1])
  push(KEYS[3], now, 2 * window)
  return 0
end
local function wait(moment)
  redis.call('HSET', KEYS[2], ARGV[1], moment)
  redis.call('PEXPIRE', KEYS[2], math.max(moment - now + 3 * (window + grace), redis.call('PTTL', KEYS[2])))
  return moment - now
end

local mine = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '-1')
if mine > now then return mine - now end
if mine >= 0 and open <= now then return begin() end
if mine >= 0 and now - mine <= window then return wait(open) end

local turn = open
local before = redis.call('LINDEX', KEYS[1], limit - weight)
if before then turn = math.max(turn, tonumber(before) + window + grace) end
local last = redis.call('LINDEX', KEYS[1], 0)
if last then turn = math.max(turn, tonumber(last)) end
push(KEYS[1], turn, turn - now + 2 * (window + grace))
if turn <= now then return begin() end
return wait(turn)
"""

# A freeze only ever grows: the provider that named the later time knows best.
_FREEZE = """
local clock = redis.call('TIME')
local till = clock[1] * 1000 + math.floor(clock[2] / 1000) + tonumber(ARGV[1])
if till > tonumber(redis.call('GET', KEYS[1]) or '0') then redis.call('SET', KEYS[1], till, 'PX', ARGV[1]) end
"""


class LimitsUnavailable(Exception):
    """The Redis that keeps the limits does not answer; nobody may start then."""


@dataclass(frozen=True)
class Limit:
    """A rate under a key that several job types may share; without a rate only a freeze makes them wait."""

    key: str
    rate: Rate | None

    @property
    def grace(self) -> timedelta:
        """How much further than a window turns are apart."""
        if self.rate is None:
            return timedelta()
        return max(timedelta(seconds=0.75), min(timedelta(seconds=2), self.rate.per / 10))

    @property
    def margin(self) -> timedelta:
        """How much further than a window starts are apart: a body begins a claim later than its reservation."""
        return self.grace / 4

    def reserve(self, job_id: str, *, weight: int = 1) -> timedelta:
        """How long the job has to wait for its start; zero means now. `weight` counts as that many starts.

        Asking again before that time gives the rest of the wait. Raises LimitsUnavailable.
        """
        limit, window = (self.rate.limit, self.rate.per + self.margin) if self.rate else (0, timedelta())
        grace = self.grace - self.margin
        arguments: list[str | int] = [job_id, limit, _ms(window), _ms(grace), min(weight, limit)]
        try:
            wait_ms = _scripts().reserve(keys=_keys(self.key), args=arguments)
        except redis.RedisError as error:
            raise LimitsUnavailable(type(error).__name__) from error
        return timedelta(milliseconds=int(wait_ms))


def freeze(key: str, pause: timedelta) -> None:
    """Nobody starts under this key for so long. Raises LimitsUnavailable."""
    try:
        _scripts().freeze(keys=_keys(key)[3:], args=[max(1, _ms(pause))])
    except redis.RedisError as error:
        raise LimitsUnavailable(type(error).__name__) from error
    log.warning("limit.frozen", key=key, seconds=pause.total_seconds())


def _keys(key: str) -> list[str]:
    # One hash tag, so that a Redis cluster keeps them together.
    return [f"limit:{{{key}}}:{part}" for part in ("turns", "waiting", "starts", "frozen")]


def _ms(duration: timedelta) -> int:
    return int(duration.total_seconds() * 1000)


class _Scripts:
    def __init__(self, url: str) -> None:
        client = redis.Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2)
        self.reserve = client.register_script(_RESERVE)
        self.freeze = client.register_script(_FREEZE)


def _scripts() -> _Scripts:
    url = get_settings().limits_url
    if url is None:
        raise LimitsUnavailable("REDIS_URL is not set, and BROKER_URL is not a Redis")
    return _connect(url)


@cache
def _connect(url: str) -> _Scripts:
    # redis-py's pool notices a fork by itself and opens connections of its own there.
    return _Scripts(url)
