-- Delete tombstones and entries of dead requests that are older than any retry. Tombstones are in
-- two sets, of which the older is deleted as a whole, so that adding one is cheap.
-- ARGV    1 ms to keep, 2 most tombstones to keep
-- RETURN  how many were forgotten
-- REFUSE  -
-- MOVES   -
-- REPEAT  deletes what became old meanwhile
local clock, keep, most = now(), tonumber(ARGV[1]), tonumber(ARGV[2])
-- So many at a time as nobody has to wait for; the others next time.
local old = redis.call('ZRANGEBYSCORE', K.dead, 0, clock - keep, 'LIMIT', 0, 1000)
local n = #old > 0 and redis.call('ZREM', K.dead, unpack(old)) or 0
local since = tonumber(redis.call('HGET', K.meta, 'tombstones_since') or 0)
if clock - since >= keep or redis.call('SCARD', K.tombstones) > most / 2 then
  n = n + redis.call('SCARD', K.tombstones_old)
  -- Not DEL: that frees half a million strings while all of the cluster waits.
  redis.call('UNLINK', K.tombstones_old)
  if redis.call('EXISTS', K.tombstones) == 1 then
    redis.call('RENAME', K.tombstones, K.tombstones_old)
  end
  redis.call('HSET', K.meta, 'tombstones_since', string.format('%.0f', clock))
end
return n
