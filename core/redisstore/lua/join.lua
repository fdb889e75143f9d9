-- Agree on the result store that is the herd's ledger: the first one named stands, until
-- another is adopted while nobody works.
-- ARGV    1 schema, 2 id of the result store, 3 adopt it: 1 or 0
-- RETURN  1
-- REFUSE  VERSION CONFLICT BUSY
-- MOVES   -
-- REPEAT  finds what it wrote
local known = redis.call('HMGET', K.meta, 'schema', 'store')
local schema, store = known[1], known[2]
if schema and schema ~= ARGV[1] then
  return fail('VERSION', schema)
end
if store == ARGV[2] then
  return 1
end
if store and ARGV[3] ~= '1' then
  return fail('CONFLICT', store)
end
local alive = store and redis.call('ZRANGEBYSCORE', K.owners, now(), '+inf', 'LIMIT', 0, 1)
if alive and alive[1] then
  return fail('BUSY', alive[1])
end
pass_when_full()
redis.call('HSET', K.meta, 'schema', ARGV[1], 'store', ARGV[2])
event('store', '-', ARGV[2])
return 1
