-- Record that a host was reported failed: it is down at once, and its owners are fenced.
local function set_failed(host, state, by, why, clock)
  redis.call('HSET', K.host(host), 'failed', W.failed({ at = clock, by = by, why = why }))
  if state ~= 'down' then
    redis.call('HSET', K.host(host), 'state', 'down', 'epoch', next_epoch('host:' .. host, clock), 'since', clock)
    lose(host, clock)
  end
end
