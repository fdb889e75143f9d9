-- Say how many waiting requests take their turns before one that is in its submitter's queue.
-- ARGV    1 key, 2 most submitters to look at per class
-- RETURN  {before it in its class, waiting of high, normal and low, parked ones of its pool}, or
--         nil if it is in no queue
-- REFUSE  -
-- MOVES   -
-- REPEAT  reads only
local key, most = ARGV[1], tonumber(ARGV[2])
local pool, class, submitter = spec_head(key)
local at = pool and redis.call('LPOS', K.queue(pool, class, submitter), key)
if not at then
  return nil
end
local before, waiting, met = at, {}, false
for i, one in ipairs({ 'high', 'normal', 'low' }) do
  local total = 0
  for _, other in ipairs(redis.call('LRANGE', K.turns(pool, one), 0, most - 1)) do
    local has = redis.call('LLEN', K.queue(pool, one, other))
    total = total + has
    if one == class and other == submitter then
      met = true
    elseif one == class then
      -- Whose turn comes first goes once more than this one's submitter has before it.
      before = before + math.min(has, met and at or at + 1)
    end
  end
  waiting[i] = total
end
return { before, waiting[1], waiting[2], waiting[3], redis.call('LLEN', K.parked(pool)) }
