-- Begin the record of a request's move off a host: scheduled to another, or parked.
local function evacuate(key, state, from, to, clock, why)
  redis.call('HSET', K.evacuations, key, evacuation_text(state, from, to, int(clock), '0', why))
end
