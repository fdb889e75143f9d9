-- Wake up to n living hosts that have a clean VM of the pool and wanted work of it. If there are
-- fewer, wake vmfactories to check whether they should create more.
local function wake(pool, n, clock)
  if wake_idle(pool, n, clock) > 0 then
    for _, other in ipairs(redis.call('ZRANGEBYSCORE', K.hosts, clock, '+inf', 'LIMIT', 0, 16)) do
      ring(K.factory_bell(other))
    end
    ring(K.placement_bell)
  end
end
