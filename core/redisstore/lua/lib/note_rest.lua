-- Requests that left their slots do not run any more. If that lets another one of the same submitter
-- begin, wake an owner for it.
local function note_rest(keys, clock)
  if redis.call('EXISTS', K.running) == 0 then
    return
  end
  for i, whose in ipairs(redis.call('HMGET', K.running, unpack(keys))) do
    if whose then
      redis.call('HDEL', K.running, keys[i])
      local left = redis.call('HINCRBY', K.counts, 'running:' .. whose, -1)
      if left <= 0 then
        redis.call('HDEL', K.counts, 'running:' .. whose)
      end
      local pool = string.match(whose, '^[^:]*')
      if left + 1 == tonumber(redis.call('HGET', K.pool(pool), 'running') or 0) then
        wake(pool, 1, clock)
      end
    end
  end
end
