-- An owner of the role that has a piece of work in hand; nil if none has.
local function holder(key, role)
  for _, owner in ipairs(redis.call('ZRANGE', K.owners, 0, -1)) do
    if string.sub(owner, 1, #role + 1) == role .. '@' and redis.call('HEXISTS', K.slots(owner), key) == 1 then
      return owner
    end
  end
  return nil
end
