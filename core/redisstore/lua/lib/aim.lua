-- The one way into what waits for one host, and its bells.
local function aim(pool, key, from, host, clock, why)
  evacuate(key, 'scheduled', from, host, clock, why)
  redis.call('RPUSH', K.aimed(host, pool), key)
  ring(K.bell(host))
  ring(K.factory_bell(host))
end
