-- Whether work may be assigned to a host: it is up, reconciled, takes new work and is not on
-- probation.
local function able(host)
  local its = redis.call('HMGET', K.host(host), 'state', 'incarnation', 'drain', 'failed', 'probation')
  return its[1] == 'up' and its[2] and its[3] ~= '1' and not its[4] and not its[5]
end
