-- What bounds the tasks of a kind: every (µs), burst, most; arrival: when the next one comes by
-- that rhythm (µs); hand: how many are in slots. It is the generic cell rate algorithm of ITU-T
-- I.371 and of the ATM Forum's Traffic Management 4.0, in its form of virtual scheduling.
local function task_rate(kind, us)
  local its = { every = 0, burst = 1, most = 0, arrival = 0, hand = 0 }
  local text = redis.call('HGET', K.tasks_rates, kind)
  if text then
    local every, burst, most = string.match(text, '^(%d+)|(%d+)|(%d+)$')
    its.every, its.burst, its.most = tonumber(every), tonumber(burst), tonumber(most)
  end
  if its.every > 0 then
    -- No arrival is further ahead, unless Redis' clock was set back since.
    its.arrival = tonumber(redis.call('HGET', K.tasks_arrivals, kind) or 0)
    its.set_back = its.arrival > us + its.burst * its.every
    its.arrival = math.min(its.arrival, us + its.burst * its.every)
  end
  if its.most > 0 then
    its.hand = redis.call('SCARD', K.tasks_hand(kind))
  end
  return its
end
