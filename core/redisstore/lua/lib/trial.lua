-- How many of the wanted claims a host may have now, and whether it is on probation: then it has
-- one at a time, its canary, and none before its delay is over.
local function trial(host, want, clock)
  local its = redis.call('HMGET', K.host(host), 'probation', 'canary')
  local probation, canary = R.probation(its[1]), R.canary(its[2])
  if not probation then
    return want, false
  end
  local out = canary and redis.call('HEXISTS', K.slots(canary.owner), canary.key) == 1
  -- A delay that has longer to go than it is was begun by a clock that was set back since: it is over.
  local early = probation.from - clock
  if out or early > 0 and early <= probation.delay then
    return 0, true
  end
  return math.min(want, 1), true
end
