-- Start the record of a request's move off a host: scheduled to another host, or parked.
local function evacuate(key, state, from, to, clock, why)
  redis.call('HSET', K.evacuations, key,
    W.move({ state = state, from = from, to = to, scheduled = clock, accepted = 0, why = why }))
end
