-- What an owner has in hand under a token, in its epoch; nil and the refusal if it has not any more.
local function own_slot(owner, epoch, key, token)
  if redis.call('HGET', K.owner(owner), 'epoch') ~= epoch then
    return nil, fail('FENCED', owner)
  end
  local its = R.slot(redis.call('HGET', K.slots(owner), key))
  if not its or its.token ~= token then
    return nil, fail('STALE', key)
  end
  return its
end
