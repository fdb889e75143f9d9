-- Prove an owner's life. A fenced owner cannot: its epoch is over.
-- ARGV    1 owner, 2 epoch, 3 ms until the next proof of life, 4 host,
--         5 incarnation of Redis
-- RETURN  {slots held, draining, {cancelled key, ...}, ready}
-- REFUSE  FENCED
-- MOVES   -
-- REPEAT  proves it again
local owner, host = ARGV[1], ARGV[4]
if redis.call('HGET', K.owner(owner), 'epoch') ~= ARGV[2] then
  return fail('FENCED', owner)
end
local its = redis.call('HMGET', K.host(host), 'state', 'drain', 'incarnation')
if its[1] == 'down' then
  return fail('FENCED', owner)
end
-- A first write that frees memory lets the others pass when Redis is full.
redis.call('HDEL', K.owner(owner), 'full')
local due = now() + tonumber(ARGV[3])
redis.call('ZADD', K.owners, 'XX', due, owner)
redis.call('ZADD', K.hosts, 'XX', 'GT', due, host)
local cancelled = {}
if redis.call('EXISTS', K.cancels) == 1 then
  local keys = redis.call('HKEYS', K.slots(owner))
  if #keys > 0 then
    local marks = redis.call('HMGET', K.cancels, unpack(keys))
    for i = 1, #keys do
      if marks[i] then
        cancelled[#cancelled + 1] = keys[i]
      end
    end
  end
end
return { redis.call('HLEN', K.slots(owner)), its[2] == '1' and 1 or 0, cancelled,
  its[3] == ARGV[5] and 1 or 0 }
