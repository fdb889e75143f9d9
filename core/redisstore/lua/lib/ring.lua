-- Ring a bell, which holds at most one ring.
local function ring(bell)
  if redis.call('EXISTS', bell) == 0 then
    redis.call('LPUSH', bell, '1')
  end
end
