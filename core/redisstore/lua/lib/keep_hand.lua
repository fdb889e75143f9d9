-- Record what an owner held when its epoch ends, until it is known whether its process died. only:
-- the item that the death would count against, if others die with it.
local function keep_hand(owner, only)
  local its = redis.call('HMGET', K.owner(owner), 'process', 'epoch')
  local keys, alone = hand({ owner })
  if #keys > 0 and role_of(owner) ~= 'vmfactory' then
    redis.call('HSET', K.hands, owner, W.hand({ process = its[1] or '', epoch = tonumber(its[2] or 0),
      only = only or alone, keys = table.concat(keys, ' ') }))
  end
end
