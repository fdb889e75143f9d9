-- Judge the end of a host's canary: enough successes in a row end its probation, a fault restarts
-- it with twice the delay, at most ten minutes.
local function judge_canary(host, probation, outcome, clock)
  redis.call('HDEL', K.host(host), 'canary')
  local its, word = R.probation(probation), outcome_parts(outcome)
  if not its or word == 'release' then
    return
  end
  if word == 'done' then
    its.good = its.good + 1
    if its.good >= its.needed then
      redis.call('HDEL', K.host(host), 'probation')
      event('host trusted', '-', host)
      ring(K.bell(host))
      return
    end
  else
    its.good, its.delay = 0, math.min(2 * its.delay, 600000)
    its.from = clock + its.delay
  end
  redis.call('HSET', K.host(host), 'probation', W.probation(its))
end
