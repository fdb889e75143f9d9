-- The limits of the tasks of a kind: every (µs), burst, most; arrival: when the next one is due by
-- that rate (µs); hand: how many are in slots.
local function task_rate(kind, us)
  local its = R.task_rate(redis.call('HGET', K.tasks_rates, kind)) or { every = 0, burst = 1, most = 0 }
  its.arrival, its.hand = 0, 0
  if its.every > 0 then
    local arrival = tonumber(redis.call('HGET', K.tasks_arrivals, kind) or 0)
    its.arrival = in_rhythm(arrival, its.every, its.burst, us)
    its.set_back = arrival > its.arrival
  end
  if its.most > 0 then
    its.hand = redis.call('SCARD', K.tasks_hand(kind))
  end
  return its
end
