-- The due time up to which owners and hosts count as late by the given ms; nil while nobody may be
-- judged: Redis began to serve (start) only recently, all owners were silent until recently, or
-- most are late at once, which is Redis' fault until it has lasted as long as the given lateness. A
-- silence or a step of the clock during such a grace period makes living owners late as well:
-- owners with a heartbeat since its beginning are not judged with the others. Owners that came back
-- from a silence, and so are due after its end, have a grace period of their own after the next one.
-- A silence whose end is still to come ended before the clock was set back. It counts as ended when
-- that is noticed: else, once the clock is set forward, nobody would be due after it, and so nobody
-- would have come back from it.
local function overdue(by, start, clock)
  local mark, due = 'mass_late_' .. by, clock - by
  local late = redis.call('ZCOUNT', K.owners, 1, due)
  local alive = redis.call('ZCOUNT', K.owners, 1, '+inf')
  local silent_until = tonumber(redis.call('HGET', K.meta, 'silent_until') or 0)
  if silent_until > clock then
    pass_when_full()
    silent_until = clock
    redis.call('HSET', K.meta, 'silent_until', int(clock))
  end
  if clock - began(start, clock) < by or clock - silent_until < by then
    return nil
  end
  local again = tonumber(redis.call('HGET', K.meta, 'silent_again') or 0)
  if again <= clock and clock - again < by then
    due = math.min(due, silent_until)
  end
  pass_when_full()
  if alive < 3 or late * 2 <= alive then
    redis.call('HDEL', K.meta, mark)
    return due
  end
  local since = tonumber(redis.call('HGET', K.meta, mark) or clock)
  -- A mark from before most of them last sent heartbeats is of another time, and so is
  -- one that is still to come.
  if since >= clock or redis.call('ZCOUNT', K.owners, 1, since) * 2 <= alive then
    redis.call('HSET', K.meta, mark, clock)
    return nil
  end
  if clock - since >= by then
    return math.min(due, since)
  end
  return nil
end
