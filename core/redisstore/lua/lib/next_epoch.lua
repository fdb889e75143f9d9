-- The next epoch of an owner or host. It is no smaller than the ms since 2026, so that none is
-- reused after Redis lost its memory or was restored from an old copy.
local function next_epoch(name, clock)
  local last = tonumber(redis.call('HGET', K.epochs, name) or 0)
  local epoch = math.max(last + 1, clock - 1767225600000)
  redis.call('HSET', K.epochs, name, epoch)
  return epoch
end
