-- Put a request back to the front of its queue, or, if it met a death, to those that run apart,
-- and wake who may want it.
local function requeue(key, clock)
  local pool, priority, submitter = spec_head(key)
  if pool then
    if marked({ key })[1] then
      redis.call('RPUSH', K.apart(pool), key)
    else
      enqueue(pool, priority, submitter, { key }, true)
    end
    wake(pool, 1, clock)
  end
end
