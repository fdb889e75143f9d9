-- Forget of tasks what only those in slots have: that they count for their kinds, and how far
-- they are.
local function let_go(keys, kinds)
  for i = 1, #keys do
    redis.call('SREM', K.tasks_hand(kinds[i]), keys[i])
  end
  redis.call('HDEL', K.tasks_progress, unpack(keys))
end
