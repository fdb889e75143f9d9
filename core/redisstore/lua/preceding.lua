-- Return how many waiting requests take their turns before one that is in its submitter's queue.
-- ARGV    1 key, 2 most submitters to look at
-- RETURN  {before it in its priority, 1: at least so many, because there are too many submitters to look
--         at, waiting of high, normal and low, parked ones of its pool}, or nil if it is in no queue
-- REFUSE  -
-- MOVES   -
-- REPEAT  reads only
local key, most = ARGV[1], tonumber(ARGV[2])
local pool, priority, submitter = spec_head(key)
local at = pool and redis.call('LPOS', K.queue(pool, priority, submitter), key)
if not at then
  return nil
end
local turns = K.turns(pool, priority)
local all, first = redis.call('LLEN', turns), redis.call('LPOS', turns, submitter) or 0
-- Each of them has one at least. Whose turn comes first goes once more than this one's submitter
-- has before it.
local before, more = at + (at == 0 and first or all - 1), at > 0 and all > most
if at > 0 then
  for i, other in ipairs(redis.call('LRANGE', turns, 0, most - 1)) do
    if i ~= first + 1 then
      local has = redis.call('LLEN', K.queue(pool, priority, other))
      before = before + math.min(has, i > first and at or at + 1) - 1
    end
  end
end
local waiting = redis.call('HMGET', K.counts, pool .. ':high', pool .. ':normal', pool .. ':low')
return { before, more and 1 or 0, waiting[1] or '0', waiting[2] or '0', waiting[3] or '0',
  redis.call('LLEN', K.parked(pool)) }
