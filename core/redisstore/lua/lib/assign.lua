-- The one way into what waits for one host, and its bells.
local function assign(pool, key, from, host, clock, why)
  evacuate(key, 'scheduled', from, host, clock, why)
  redis.call('RPUSH', K.assigned(host, pool), key)
  ring(K.bell(host))
  ring(K.factory_bell(host))
end
