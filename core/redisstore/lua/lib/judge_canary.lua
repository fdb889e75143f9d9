-- The end of a host's canary: enough good ones in a row end its probation, a fault begins it
-- anew with twice the delay, at most ten minutes.
local function judge_canary(host, probation, outcome, clock)
  redis.call('HDEL', K.host(host), 'canary')
  local from, good, needed, delay, why = string.match(probation or '', '^(%d+)|(%d+)|(%d+)|(%d+)|(.*)$')
  if not from or string.sub(outcome, 1, 7) == 'release' then
    return
  end
  delay = tonumber(delay)
  if outcome == 'done' then
    good = tonumber(good) + 1
    if good >= tonumber(needed) then
      redis.call('HDEL', K.host(host), 'probation')
      event('host trusted', '-', host)
      ring(K.bell(host))
      return
    end
  else
    good, delay = 0, math.min(2 * delay, 600000)
    from = int(clock + delay)
  end
  redis.call('HSET', K.host(host), 'probation', table.concat({ from, int(good), needed, int(delay), why }, '|'))
end
