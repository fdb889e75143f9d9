-- Ring the bells of some hosts, after the first ones. Returns how many it rang.
local function ring_hosts(after)
  local hosts = redis.call('ZRANGE', K.hosts, after, after + 124)
  for _, host in ipairs(hosts) do
    ring(K.bell(host))
    ring(K.factory_bell(host))
  end
  return #hosts
end
