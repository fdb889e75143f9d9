-- Put a request at the front of its queue or, if it met a death, among those that run apart, and
-- wake an owner for it.
local function requeue(key, clock)
  local pool, priority, submitter, due = spec_head(key)
  if pool then
    if marked({ key })[1] then
      redis.call('RPUSH', K.apart(pool), key)
    else
      enqueue(pool, line_of(priority, due, clock), submitter, { key }, true)
    end
    wake(pool, 1, clock)
  end
end
