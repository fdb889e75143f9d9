-- What bounds the tasks of a kind: every (µs), burst, most; arrival: when the next one comes by
-- that rhythm (µs); hand: how many are in slots.
local function task_rate(kind, us)
  local its = { every = 0, burst = 1, most = 0, arrival = 0, hand = 0 }
  local text = redis.call('HGET', K.tasks_rates, kind)
  if text then
    local every, burst, most = string.match(text, '^(%d+)|(%d+)|(%d+)$')
    its.every, its.burst, its.most = tonumber(every), tonumber(burst), tonumber(most)
  end
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
