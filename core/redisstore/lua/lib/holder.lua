-- An owner that has a piece of work in hand; nil if none has.
local function holder(key)
  for _, owner in ipairs(redis.call('ZRANGE', K.owners, 0, -1)) do
    if redis.call('HEXISTS', K.slots(owner), key) == 1 then
      return owner
    end
  end
  return nil
end
