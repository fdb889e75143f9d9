-- Wake hosts for n preemptible requests of a pool that have idle VMs of its leases.
local function wake_lenders(pool, n, clock)
  for leased in string.gmatch(redis.call('HGET', K.pool(pool), 'leases') or '', '(%S-)>') do
    n = wake_idle(leased, n, clock)
  end
end
