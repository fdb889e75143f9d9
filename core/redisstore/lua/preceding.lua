-- Return how many waiting requests take their turns before one that is in its submitter's queue.
-- ARGV    1 key, 2 most submitters to look at
-- RETURN  {before it in its priority, 1: at least so many, because there are too many submitters to look
--         at, parked ones of its pool, 1: it is in the line of what is due soon, how many of its submitter
--         run with its priority, and how many may; 0 where the pool does not limit them, waiting of each
--         priority}, or nil if it is in no queue
-- REFUSE  -
-- MOVES   -
-- REPEAT  reads only
local key, most = ARGV[1], tonumber(ARGV[2])
local pool, priority, submitter, due = spec_head(key)
if not pool then
  return nil
end
local line, at = queued(key, pool, priority, submitter, due)
if not at then
  return nil
end
local turns = K.turns(pool, line)
local all, first = redis.call('LLEN', turns), redis.call('LPOS', turns, submitter) or 0
-- Each of them has one at least. Whose turn comes first goes once more than this one's submitter
-- has before it.
local before, more = at + (at == 0 and first or all - 1), at > 0 and all > most
if at > 0 then
  for i, other in ipairs(redis.call('LRANGE', turns, 0, most - 1)) do
    if i ~= first + 1 then
      local has = redis.call('LLEN', K.queue(pool, line, other))
      before = before + math.min(has, i > first and at or at + 1) - 1
    end
  end
end
-- Of four turns three are those of what is due soon.
local soon = line ~= priority
local beside, share = soon and priority or priority .. '-soon', soon and math.floor(before / 3) or 3 * (before + 1)
local others = redis.call('LLEN', K.turns(pool, beside))
if others > 0 and others < share then
  more = more or others > most
  for _, other in ipairs(redis.call('LRANGE', K.turns(pool, beside), 0, most - 1)) do
    others = others + redis.call('LLEN', K.queue(pool, beside, other)) - 1
  end
end
return { before + math.min(others, share), more and 1 or 0, redis.call('LLEN', K.parked(pool)), soon and 1 or 0,
  running(pool, line, { submitter })[1], redis.call('HGET', K.pool(pool), 'running') or '0',
  unpack((waiting_in(pool))) }
