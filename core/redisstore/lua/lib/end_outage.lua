-- End the time in which no host could make VMs of a pool. Returns 1 if there was one.
local function end_outage(pool)
  if redis.call('HDEL', K.pool(pool), 'outage') == 0 then
    return 0
  end
  event('pool works', '-', pool)
  return 1
end
