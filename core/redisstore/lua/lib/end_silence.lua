-- Record that a silence of all owners ends with this heartbeat, if there was none for two beats:
-- Redis was the cause, and no owner is judged by who comes back first. It is not recorded again
-- as one of all (silent_until) before most owners have sent a heartbeat, or a few that often pause
-- would protect dead ones forever. Owners that sent one since are due after that, whatever their beat: before, all were
-- overdue.
local function end_silence(clock, beat)
  local newest = tonumber(redis.call('ZRANGE', K.owners, -1, -1, 'WITHSCORES')[2] or 0)
  if newest == 0 or newest > clock - beat then
    return
  end
  note_gap(clock, newest - beat)
  redis.call('HSET', K.meta, 'silent_again', int(clock))
  local since = tonumber(redis.call('HGET', K.meta, 'silent_until') or 0)
  local back = redis.call('ZCOUNT', K.owners, '(' .. int(since), '+inf')
  if since >= clock or back * 2 > redis.call('ZCOUNT', K.owners, 1, '+inf') then
    redis.call('HSET', K.meta, 'silent_until', int(clock))
  end
end
