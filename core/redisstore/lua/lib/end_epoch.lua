-- End an owner's epoch: nothing it still writes is accepted.
local function end_epoch(owner, clock)
  local epoch = next_epoch(owner, clock)
  redis.call('HSET', K.owner(owner), 'epoch', epoch)
  redis.call('ZADD', K.owners, 0, owner)
  ring(K.notice(owner))
  return epoch
end
