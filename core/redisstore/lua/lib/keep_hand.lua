-- Keep what an owner has in hand whose epoch ends, until it is known whether its process died.
-- only: what that would count against, if others die with it.
local function keep_hand(owner, only)
  local its = redis.call('HMGET', K.owner(owner), 'process', 'epoch')
  local keys, alone = hand({ owner })
  if #keys > 0 and string.sub(owner, 1, 9) ~= 'vmfactory' then
    redis.call('HSET', K.hands, owner,
      table.concat({ its[1] or '', its[2] or '0', only or alone, table.concat(keys, ' ') }, '|'))
  end
end
