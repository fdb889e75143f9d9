-- Which of the keys ended recently: 1 or 0 each.
local function has_tombstone(keys)
  local ended = redis.call('SMISMEMBER', K.tombstones, unpack(keys))
  for i, before in ipairs(redis.call('SMISMEMBER', K.tombstones_old, unpack(keys))) do
    ended[i] = math.max(ended[i], before)
  end
  return ended
end
