-- Remember what ended, so that an enqueue on its way does not bring it back.
local function add_tombstones(keys)
  redis.call('SADD', K.tombstones, unpack(keys))
end
