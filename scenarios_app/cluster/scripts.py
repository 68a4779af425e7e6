"""Lua scripts of RedisState; each runs as one atomic step in Redis.

`KEYS[1]` is the prefix of all keys. Below it are, for a session S with the alias A:

    clock        the moment of the last use, which never comes twice: microseconds at first
    changes      the name of the latest change of the common scenarios
    sessions     sorted: the sessions by their last use; `left` counts those that had to leave
    s:S          hash: o its ordinal, e the epoch of its list of consumed steps, y its alias,
                 b the bytes of its kept answers
    c:S, m:S     list of consumed steps in order, and the set of them
    a:S, l:S     hash of attempts and their counts, and the list of them in order
    k:S, v:S     hash of counters; list of violations
    r:S, q:S     hash of kept answers; sorted: their names by age
    z:S, x:N     set of the scenarios that S has steps of; of the sessions that scenario N is in
    w:A, n:A     hash of own scenarios (session, revision, documents); set of the names of A
    own          set of the aliases with own scenarios

A step is written as two netstrings, scenario and key; what follows them is its label.
"""

from typing import Final

LIBRARY: Final = """
local P = KEYS[1]
local function tick() return redis.call('INCR', P .. 'clock') end
local function after(text, from)
  local _, colon = text:find(':', from, true)
  return colon + tonumber(text:sub(from, colon - 1)) + 1
end
local function of(entry, scenario)
  local head = #scenario .. ':' .. scenario
  return entry:sub(1, #head) == head
end
local function leave_scenarios(S)
  for _, N in ipairs(redis.call('SMEMBERS', P .. 'z:' .. S)) do
    redis.call('SREM', P .. 'x:' .. N, S)
  end
end
local function forget(S)
  leave_scenarios(S)
  for kind in ('scmalkvrqz'):gmatch('.') do redis.call('DEL', P .. kind .. ':' .. S) end
end
local function drop_own(A)
  redis.call('DEL', P .. 'w:' .. A, P .. 'n:' .. A)
  redis.call('SREM', P .. 'own', A)
end
local function leave()
  local S = redis.call('ZPOPMIN', P .. 'sessions')[1]
  local A = redis.call('HGET', P .. 's:' .. S, 'y') or ''
  forget(S)
  redis.call('INCR', P .. 'left')
  for _, name in ipairs(redis.call('SMEMBERS', P .. 'n:' .. A)) do
    if redis.call('ZSCORE', P .. 'sessions', name) then return end
  end
  drop_own(A)
end
local function use(S, A, max_sessions)
  local now = tick()
  if redis.call('ZADD', P .. 'sessions', now, S) == 1 then
    redis.call('HSET', P .. 's:' .. S, 'e', now, 'y', A)
    if redis.call('ZCARD', P .. 'sessions') > tonumber(max_sessions) then leave() end
  end
  return now
end
local function note(S, N)
  redis.call('SADD', P .. 'z:' .. S, N)
  redis.call('SADD', P .. 'x:' .. N, S)
end
local function news(S, epoch, known)
  local e = redis.call('HGET', P .. 's:' .. S, 'e')
  local from = e == epoch and tonumber(known) or 0
  return e, from, redis.call('LRANGE', P .. 'c:' .. S, from, -1)
end
"""

# Arguments: session, alias, max_sessions; epoch and number of known consumed steps; known revision.
ARRIVE: Final = """
local S, A = ARGV[1], ARGV[2]
local now = use(S, A, ARGV[3])
local ordinal = redis.call('HINCRBY', P .. 's:' .. S, 'o', 1)
local e, from, entries = news(S, ARGV[4], ARGV[5])
local revision = redis.call('HGET', P .. 'w:' .. A, 'revision') or '0'
local documents = ''
if revision ~= '0' then
  redis.call('SADD', P .. 'n:' .. A, S)
  if revision ~= ARGV[6] then documents = redis.call('HGET', P .. 'w:' .. A, 'documents') end
end
return {ordinal, e, from, entries, revision, documents, redis.call('GET', P .. 'changes') or '0',
  now, redis.call('ZCARD', P .. 'sessions'), redis.call('GET', P .. 'left') or '0'}
"""

# Arguments: session, alias, max_sessions; known epoch and number; scenario, key and label per step.
CONSUME: Final = """
local S, taken = ARGV[1], 0
use(S, ARGV[2], ARGV[3])
for i = 6, #ARGV, 3 do
  if redis.call('SADD', P .. 'm:' .. S, ARGV[i + 1]) == 1 then
    redis.call('RPUSH', P .. 'c:' .. S, ARGV[i + 1] .. ARGV[i + 2])
    note(S, ARGV[i])
    taken = (i - 3) / 3
    break
  end
end
return {taken, news(S, ARGV[4], ARGV[5])}
"""

# Arguments: session, alias, max_sessions; scenario, step with provider, label; times.
FAIL: Final = """
local S = ARGV[1]
use(S, ARGV[2], ARGV[3])
local count = tonumber(redis.call('HGET', P .. 'a:' .. S, ARGV[5]) or 0)
if count >= tonumber(ARGV[7]) then return 0 end
redis.call('HINCRBY', P .. 'a:' .. S, ARGV[5], 1)
if count == 0 then
  redis.call('RPUSH', P .. 'l:' .. S, ARGV[5] .. ARGV[6])
  note(S, ARGV[4])
end
return 1
"""

# Arguments: session, alias, max_sessions; counter.
COUNT: Final = """
use(ARGV[1], ARGV[2], ARGV[3])
return redis.call('HINCRBY', P .. 'k:' .. ARGV[1], ARGV[4], 1)
"""

# Arguments: session, alias, max_sessions; violation, maximum number.
VIOLATE: Final = """
use(ARGV[1], ARGV[2], ARGV[3])
redis.call('RPUSH', P .. 'v:' .. ARGV[1], ARGV[4])
redis.call('LTRIM', P .. 'v:' .. ARGV[1], -tonumber(ARGV[5]), -1)
"""

# Argument: session.
READ: Final = """
local S = ARGV[1]
return {redis.call('HGET', P .. 's:' .. S, 'o') or '0',
  redis.call('LRANGE', P .. 'c:' .. S, 0, -1),
  redis.call('LRANGE', P .. 'l:' .. S, 0, -1), redis.call('HGETALL', P .. 'a:' .. S),
  redis.call('HGETALL', P .. 'k:' .. S), redis.call('LRANGE', P .. 'v:' .. S, 0, -1)}
"""

_ANSWERS: Final = """
local function give_up(S, name)
  local size = redis.call('HSTRLEN', P .. 'r:' .. S, name)
  if redis.call('HDEL', P .. 'r:' .. S, name) == 1 then
    redis.call('ZREM', P .. 'q:' .. S, name)
    redis.call('HINCRBY', P .. 's:' .. S, 'b', -size)
  end
end
"""

# Arguments: session, alias, max_sessions; name, data; maximum number and bytes of responses.
REMEMBER: Final = (
    _ANSWERS
    + """
local S, name, max_responses, max_bytes = ARGV[1], ARGV[4], tonumber(ARGV[6]), tonumber(ARGV[7])
local now = use(S, ARGV[2], ARGV[3])
give_up(S, name)
redis.call('HSET', P .. 'r:' .. S, name, ARGV[5])
redis.call('ZADD', P .. 'q:' .. S, now, name)
local held = redis.call('HINCRBY', P .. 's:' .. S, 'b', #ARGV[5])
local count = redis.call('ZCARD', P .. 'q:' .. S)
while count > 1 and (count > max_responses or held > max_bytes) do
  give_up(S, redis.call('ZRANGE', P .. 'q:' .. S, 0, 0)[1])
  held = tonumber(redis.call('HGET', P .. 's:' .. S, 'b'))
  count = count - 1
end
"""
)

# Arguments: session, name.
GIVE_UP: Final = _ANSWERS + "give_up(ARGV[1], ARGV[2])"

# No arguments.
SESSIONS: Final = """
local names, aliases = {}, {}
for _, S in ipairs(redis.call('ZRANGE', P .. 'sessions', 0, -1)) do
  local used = redis.call('HEXISTS', P .. 's:' .. S, 'o') == 1
  for kind in ('cakvr'):gmatch('.') do
    used = used or redis.call('EXISTS', P .. kind .. ':' .. S) == 1
  end
  if used then
    names[#names + 1] = S
    aliases[redis.call('HGET', P .. 's:' .. S, 'y')] = true
  end
end
for _, A in ipairs(redis.call('SMEMBERS', P .. 'own')) do
  if not aliases[A] then names[#names + 1] = redis.call('HGET', P .. 'w:' .. A, 'session') end
end
return names
"""

# Arguments: max_sessions, whether own scenarios are deleted, then each session and its alias.
RESET: Final = """
for i = 3, #ARGV, 2 do
  local S, A = ARGV[i], ARGV[i + 1]
  redis.call('ZREM', P .. 'sessions', S)
  forget(S)
  if ARGV[2] == '1' then
    drop_own(A)
  elseif redis.call('EXISTS', P .. 'w:' .. A) == 1 then
    use(S, A, ARGV[1])
  end
end
"""

# Arguments as for RESET. The end of a reset of all sessions, which are deleted already.
RESET_OWN: Final = """
for _, A in ipairs(redis.call('SMEMBERS', P .. 'own')) do
  if ARGV[2] == '1' then
    drop_own(A)
  else
    use(redis.call('HGET', P .. 'w:' .. A, 'session'), A, ARGV[1])
  end
end
"""

# Arguments: scenario; alias, or empty for every session.
CLEAR: Final = """
local N = ARGV[1]
for _, S in ipairs(redis.call('SMEMBERS', P .. 'x:' .. N)) do
  if ARGV[2] == '' or redis.call('HGET', P .. 's:' .. S, 'y') == ARGV[2] then
    for list, set in pairs({c = 'm', l = 'a'}) do
      local entries = redis.call('LRANGE', P .. list .. ':' .. S, 0, -1)
      redis.call('DEL', P .. list .. ':' .. S)
      for _, entry in ipairs(entries) do
        if of(entry, N) then
          local last = after(entry, after(entry, 1))
          if list == 'l' then last = after(entry, last) end
          redis.call(list == 'c' and 'SREM' or 'HDEL', P .. set .. ':' .. S, entry:sub(1, last - 1))
        else
          redis.call('RPUSH', P .. list .. ':' .. S, entry)
        end
      end
    end
    redis.call('HSET', P .. 's:' .. S, 'e', tick())
    redis.call('SREM', P .. 'z:' .. S, N)
    redis.call('SREM', P .. 'x:' .. N, S)
  end
end
"""

# Arguments: session, alias, max_sessions; expected revision, documents (empty for none), channel.
KEEP: Final = """
local S, A = ARGV[1], ARGV[2]
if ARGV[5] ~= '' then use(S, A, ARGV[3]) end
if (redis.call('HGET', P .. 'w:' .. A, 'revision') or '0') ~= ARGV[4] then return 0 end
if ARGV[5] == '' then
  drop_own(A)
else
  redis.call('HSETNX', P .. 'w:' .. A, 'session', S)
  redis.call('HSET', P .. 'w:' .. A, 'revision', tick(), 'documents', ARGV[5])
  redis.call('SADD', P .. 'n:' .. A, S)
  redis.call('SADD', P .. 'own', A)
end
redis.call('PUBLISH', ARGV[6], 'session_scenarios ' .. A)
return 1
"""

# Arguments: session, alias.
OWN: Final = """
local A = ARGV[2]
if redis.call('EXISTS', P .. 'w:' .. A) == 0 then return {'0', ''} end
redis.call('SADD', P .. 'n:' .. A, ARGV[1])
return redis.call('HMGET', P .. 'w:' .. A, 'revision', 'documents')
"""

# Arguments: microseconds now; the latest clock value and the name of Redis that this process knows.
# Returns 1 if Redis has lost nothing.
CHECK: Final = """
if ARGV[3] ~= '' then redis.call('SET', P .. 'name', ARGV[3], 'NX') end
local clock = tonumber(redis.call('GET', P .. 'clock') or '0')
if clock < tonumber(ARGV[2]) or clock == 0 then
  redis.call('SET', P .. 'clock', math.max(clock, tonumber(ARGV[1]), tonumber(ARGV[2])))
  return ARGV[2] == '0' and 1 or 0
end
return 1
"""

# Arguments: a new name for this Redis; the name that other processes have of theirs, or nothing;
# their channel. Returns the name that it has now. If they listen here, theirs is this one, although
# it may have lost its name and have got another one since.
NAME: Final = """
local used = redis.call('PUBSUB', 'NUMSUB', ARGV[3])[2] > 0
if used and ARGV[2] ~= '' then redis.call('SET', P .. 'name', ARGV[2]) end
redis.call('SET', P .. 'name', ARGV[1], 'NX')
return redis.call('GET', P .. 'name')
"""

# Argument: the channel. Announces a change of the common scenarios.
CHANGED: Final = """
redis.call('SET', P .. 'changes', tick())
redis.call('PUBLISH', ARGV[1], 'catalog')
"""

# Arguments: session, name.
RECALL: Final = "return redis.call('HGET', P .. 'r:' .. ARGV[1], ARGV[2])"

# No arguments.
NAMES: Final = "return redis.call('ZRANGE', P .. 'sessions', 0, -1)"

# Arguments: session, prefix of names.
RECALL_ALL: Final = """
local found = {}
for _, name in ipairs(redis.call('ZRANGE', P .. 'q:' .. ARGV[1], 0, -1)) do
  if name:sub(1, #ARGV[2]) == ARGV[2] then
    found[#found + 1] = name
    found[#found + 1] = redis.call('HGET', P .. 'r:' .. ARGV[1], name)
  end
end
return found
"""
