-- Agree on the cluster's result store and blob store: the first ones stay, until others are adopted
-- while no component runs.
-- ARGV    1 schema, 2 id of the result store, 3 id of the blob store: '' if it is not known,
--         4 adopt them: 1 or 0
-- RETURN  1
-- REFUSE  VERSION CONFLICT BUSY
-- MOVES   -
-- REPEAT  finds what it wrote
local known = redis.call('HMGET', K.meta, 'schema', 'store', 'blobs')
local schema, store, blobs = known[1], known[2], known[3]
if schema and schema ~= ARGV[1] then
  return fail('VERSION', schema)
end
local another = store and store ~= ARGV[2] and 'store:' .. store
  or blobs and ARGV[3] ~= '' and blobs ~= ARGV[3] and 'blobs:' .. blobs
if another and ARGV[4] ~= '1' then
  return fail('CONFLICT', another)
end
if not another and store and (blobs or ARGV[3] == '') then
  return 1
end
-- One that is a little late is busy rather than dead, and goes on with the stores before.
local dead = 60000
local alive = another and redis.call('ZRANGEBYSCORE', K.owners, now() - dead, '+inf', 'LIMIT', 0, 1)
if alive and alive[1] then
  return fail('BUSY', alive[1])
end
pass_when_full()
redis.call('HSET', K.meta, 'schema', ARGV[1], 'store', ARGV[2])
event('store', '-', ARGV[2])
if ARGV[3] ~= '' then
  redis.call('HSET', K.meta, 'blobs', ARGV[3])
  event('blobs', '-', ARGV[3])
end
return 1
