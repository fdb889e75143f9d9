-- The only place that adds to a host's list of assigned requests, and rings its bells.
local function assign(pool, key, from, host, clock, why)
  evacuate(key, 'scheduled', from, host, clock, why)
  redis.call('RPUSH', K.assigned(host, pool), key)
  ring(K.bell(host))
  ring(K.factory_bell(host))
  ring(K.placement_bell)
end
