"""Limits that hold over all workers: a job reserves its own turn, once, and waits for it in the ledger.

In Redis, per key, stand two short records. *Turns* are what was given out: with N per window, a new one comes no
earlier than a window after the N-th last, and a job whose turn lies ahead is parked until then, holding no worker
and asking nobody. *Starts* are what really happened, and they decide: whoever comes starts only if fewer than N did
within the last window. Turns are a little more than a window apart, because a job comes a moment after its turn (the
relay publishes it then); one that is no later than that finds its turn free. One that is late by more than a window,
after a pause say, gets another turn, so that what has piled up does not come at once.

A job may weigh more than one; N is then a weight. Each entry is scored by the weight of all entries up to and with it,
so the one that holds the N-th last unit is found by its score, whatever the single ones weigh.
"""

from dataclasses import dataclass
from datetime import timedelta
from functools import cache

import redis
import structlog

from config.rates import Rate
from config.settings import get_settings
from services.errors import Permanent

log = structlog.get_logger()

# KEYS: turns (a sorted set), whose they are (a hash), starts (a sorted set), the freeze. ARGV: job, N, window, grace,
# weight (1 to N). All times in milliseconds of Redis's own clock. Returns how long to wait; 0 is
# "start now". N is 0 for a key without a rate.
_RESERVE = """
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local limit, window, grace, weight = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])

local open = math.max(now, tonumber(redis.call('GET', KEYS[4]) or '0'))
if limit == 0 then return open - now end

local function moment_of(entries) return entries[1] and tonumber(string.match(entries[1], '%d+')) end
local function newest(record) return redis.call('ZREVRANGE', record, 0, 0, 'WITHSCORES') end
local function total(record) return tonumber(newest(record)[2] or '0') end
local function blocking(record)
  local unit = total(record) + weight - limit
  return unit > 0 and moment_of(redis.call('ZRANGEBYSCORE', record, unit, '+inf', 'LIMIT', 0, 1))
end
local function push(record, moment, life)
  local sum = total(record) + weight
  redis.call('ZADD', record, sum, string.format('%d:%d', moment, sum))
  redis.call('ZREMRANGEBYSCORE', record, '-inf', sum - limit)
  redis.call('PEXPIRE', record, life)
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

local full = blocking(KEYS[3])
if full then open = math.max(open, full + window) end

local mine = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '-1')
if mine > now then return mine - now end
if mine >= 0 and open <= now then return begin() end
if mine >= 0 and now - mine <= window then return wait(open) end

local turn = open
local before, last = blocking(KEYS[1]), moment_of(newest(KEYS[1]))
if before then turn = math.max(turn, before + window + grace) end
if last then turn = math.max(turn, last) end
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


class TooHeavy(Permanent):
    """The job weighs more than its limit allows in a whole window, so its turn would never come."""

    code = "too_heavy"


@dataclass(frozen=True)
class Limit:
    """A rate under a key that several job types may share; without a rate only a freeze makes them wait."""

    key: str
    rate: Rate | None

    @property
    def margin(self) -> timedelta:
        """How much further than a window starts are apart: a body begins a claim later than its reservation."""
        return self._share(at_least=timedelta(seconds=0.2))

    @property
    def grace(self) -> timedelta:
        """How late a job may come to its turn without moving those behind it."""
        return self._share(at_least=timedelta(seconds=0.1))

    def _share(self, *, at_least: timedelta) -> timedelta:
        # Of a short window each moment costs starts; in a long one half a second is nothing.
        return max(at_least, min(timedelta(seconds=0.5), self.rate.per / 100)) if self.rate else timedelta()

    def check(self, weight: int) -> None:
        """Raises TooHeavy for a weight that no window can hold."""
        if self.rate and weight > self.rate.limit:
            raise TooHeavy(f"It weighs {weight}, and its limit allows {self.rate.limit} in a window.")

    def reserve(self, job_id: str, *, weight: int = 1) -> timedelta:
        """How long the job has to wait for its start; zero means now. `weight` counts as that many starts.

        Asking again before that time gives the rest of the wait. Raises TooHeavy, LimitsUnavailable.
        """
        self.check(weight)
        limit, window = (self.rate.limit, self.rate.per + self.margin) if self.rate else (0, timedelta())
        arguments: list[str | int] = [job_id, limit, _ms(window), _ms(self.grace), weight]
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
