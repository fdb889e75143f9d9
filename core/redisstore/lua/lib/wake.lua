-- Wake up to n living hosts that have a clean VM of the pool and wanted work of it. If there are
-- fewer, wake vmfactories to check whether they should create more.
local function wake(pool, n, clock)
  for _ = 1, n + 16 do
    local host = n > 0 and redis.call('SPOP', K.idle(pool))
    if not host then
      for _, other in ipairs(n > 0 and redis.call('ZRANGEBYSCORE', K.hosts, clock, '+inf', 'LIMIT', 0, 16) or {}) do
        ring(K.factory_bell(other))
      end
      if n > 0 then
        ring(K.placement_bell)
      end
      return
    end
    local due = redis.call('ZSCORE', K.hosts, host)
    if due and tonumber(due) >= clock and redis.call('EXISTS', K.clean(host, pool)) == 1 then
      ring(K.bell(host))
      n = n - 1
    end
  end
end
