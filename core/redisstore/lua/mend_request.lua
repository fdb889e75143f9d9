-- Put a request right that an audit found in no place, in several, or in a wrong one: who has
-- it in hand keeps it, else it waits at the front of its queue; what has no spec goes.
-- ARGV    1 key, then the queues that it is in by mistake: pool, class, submitter, ...
-- RETURN  1
-- REFUSE  -
-- MOVES   -
-- REPEAT  puts it right again
local key, clock = ARGV[1], now()
pass_when_full()
for i = 2, #ARGV, 3 do
  if redis.call('LREM', K.queue(ARGV[i], ARGV[i + 1], ARGV[i + 2]), 0, key) > 0 then
    right_turn(ARGV[i], ARGV[i + 1], ARGV[i + 2])
  end
end
local pool, class, submitter = spec_head(key)
if pool and redis.call('LREM', K.queue(pool, class, submitter), 0, key) > 0 then
  right_turn(pool, class, submitter)
end
redis.call('ZREM', K.later, key)
local hosts = redis.call('ZRANGE', K.hosts, 0, -1)
for _, other in ipairs(redis.call('SMEMBERS', K.pools)) do
  redis.call('LREM', K.parked(other), 0, key)
  for _, host in ipairs(hosts) do
    redis.call('LREM', K.aimed(host, other), 0, key)
  end
end
local record, owner = redis.call('HGET', K.evacuations, key), holder(key)
local state, to = string.match(record or '', '^(%l+)|[^|]*|([^|]*)|%d+|%d+|')
if not state then
  redis.call('HDEL', K.evacuations, key)
elseif not owner or state ~= 'accepted' or to ~= string.match(owner, '@(.-)#') then
  evacuated(key, record, 'failed', clock, 'its record was wrong')
end
if pool and not owner then
  requeue(key, clock)
end
event('mend', '-', key)
return 1
