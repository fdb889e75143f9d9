-- Add tombstones of ended requests or tasks, so that an enqueue in flight does not queue them
-- again.
local function add_tombstones(keys)
  redis.call('SADD', K.tombstones, unpack(keys))
end
