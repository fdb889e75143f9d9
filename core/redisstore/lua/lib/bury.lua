-- Remember what ended, so that an enqueue on its way does not bring it back.
local function bury(keys)
  redis.call('SADD', K.tombstones, unpack(keys))
end
