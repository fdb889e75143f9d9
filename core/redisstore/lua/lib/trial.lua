-- How many claims a host may have now that wants so many, and whether it is on probation: then
-- it has one at a time, its canary, and none before its delay is over.
local function trial(host, want, clock)
  local its = redis.call('HMGET', K.host(host), 'probation', 'canary')
  if not its[1] then
    return want, false
  end
  local key, owner = string.match(its[2] or '', '^(.-)|(.*)$')
  local out = key and redis.call('HEXISTS', K.slots(owner), key) == 1
  local from, delay = string.match(its[1], '^(%d+)|%d+|%d+|(%d+)')
  -- A delay that has longer to go than it is was begun by a clock that was set back since: it is over.
  local early = tonumber(from) - clock
  if out or early > 0 and early <= tonumber(delay) then
    return 0, true
  end
  return math.min(want, 1), true
end
