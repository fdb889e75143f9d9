-- Put a request back to the front of its queue and wake who may want it.
local function requeue(key, clock)
  local pool, class, submitter = spec_head(key)
  if pool then
    enqueue(pool, class, submitter, { key }, true)
    wake(pool, 1, clock)
  end
end
