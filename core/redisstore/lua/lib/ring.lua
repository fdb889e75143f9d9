-- Ring a bell: a list of at most one entry.
local function ring(bell)
  if redis.call('EXISTS', bell) == 0 then
    redis.call('LPUSH', bell, '1')
  end
end
