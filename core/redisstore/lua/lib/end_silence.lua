-- Note that a silence of everybody ends with this sign of life, if nobody gave one for two beats:
-- that was Redis, and who comes second is as alive as who comes first. It is not noted again before
-- most have given theirs since, or a few that often pause would shield the dead for ever. Whoever
-- sent one since is due after that, whatever its beat: before, everybody was overdue.
local function end_silence(clock, beat)
  local newest = tonumber(redis.call('ZRANGE', K.owners, -1, -1, 'WITHSCORES')[2] or 0)
  if newest == 0 or newest > clock - beat then
    return
  end
  local since = tonumber(redis.call('HGET', K.meta, 'silent_until') or 0)
  local back = redis.call('ZCOUNT', K.owners, '(' .. int(since), '+inf')
  if since >= clock or back * 2 > redis.call('ZCOUNT', K.owners, 1, '+inf') then
    redis.call('HSET', K.meta, 'silent_until', int(clock))
  end
end
