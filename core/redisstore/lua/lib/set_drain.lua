-- Set or clear a host's drain flag. What is assigned to a drained host is requeued, and what it
-- holds must move elsewhere after within ms; 0: never.
local function set_drain(host, drained, within, clock)
  local is = drained and within > 0
  redis.call('HSET', K.host(host), 'drain', drained and '1' or '0',
    'drain_until', is and int(clock + within) or '0', 'drain_within', is and int(within) or '0')
  local pools = redis.call('SMEMBERS', K.pools)
  never_idle(host, pools)
  if drained then
    unassign(host, pools, clock, clock, host .. ' is drained')
  end
  event(drained and 'drain' or 'undrain', '-', host)
end
