-- Remove a waiting request whose end stands in the result store.
-- ARGV    1 key
-- RETURN  1, or 0 if it does not wait
-- REFUSE  -
-- MOVES   request queued→cancelled, queued→timed_out
-- REPEAT  the second run answers 0
local key = ARGV[1]
local pool, class, submitter = spec_head(key)
if not pool then
  return 0
end
local queue = K.queue(pool, class, submitter)
if redis.call('LREM', queue, 1, key) == 0 then
  return 0
end
if redis.call('EXISTS', queue) == 0 then
  redis.call('LREM', K.turns(pool, class), 0, submitter)
end
redis.call('HDEL', K.specs, key)
redis.call('HDEL', K.cancels, key)
redis.call('HDEL', K.attempts, key)
bury({ key })
event('withdraw', '-', key)
return 1
