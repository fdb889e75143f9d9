-- End an owner's epoch: its later writes are refused. What it holds is recorded; only: see
-- keep_hand.
local function end_epoch(owner, clock, only)
  if tonumber(redis.call('ZSCORE', K.owners, owner) or 1) > 0 then
    keep_hand(owner, only)
  end
  local epoch = next_epoch(owner, clock)
  redis.call('HSET', K.owner(owner), 'epoch', epoch)
  redis.call('ZADD', K.owners, 0, owner)
  redis.call('SADD', K.owners_on(host_of(owner)), owner)
  ring(K.notice(owner))
  return epoch
end
