-- Change the spec of a waiting request. With another pool or priority it joins the back of its
-- submitter's queue there; a pause after a fault goes on.
-- ARGV    1 key, 2 the change that Redis has of it, as the caller knows, 3 number of the new one, 4 its pool,
--         5 its priority, 6 spec, 7 most bytes of specs
-- RETURN  {verdict, number that Redis had}: ok, have (Redis has it), held (an owner has claimed the request),
--         other (Redis has another change than 2), absent, nopool, full-submitter, full-bytes
-- REFUSE  -
-- MOVES   request parked→queued; evacuation scheduled→failed, parked→failed
-- REPEAT  the second run returns have
local key, from, to, spec = ARGV[1], ARGV[2], ARGV[3], ARGV[6]
local was = redis.call('HGET', K.specs, key)
if not was then
  return { 'absent', '0' }
end
local has = spec_change(was)
if has == to then
  return { 'have', has }
end
local its = place(key)
if not its then
  return { 'absent', has }
end
if its[4] ~= '' then
  return { 'held', has }
end
if has ~= from then
  return { 'other', has }
end
local pool, priority, submitter = its[2], its[3], its[9]
local moves = pool ~= ARGV[4] or priority ~= ARGV[5]
local most = tonumber(redis.call('HGET', K.pool(ARGV[4]), 'max_waiting') or 0)
local more = #spec - #was
if most == 0 then
  return { 'nopool', has }
end
if more > 0 and tonumber(redis.call('HGET', K.counts, 'bytes') or 0) + more > tonumber(ARGV[7]) then
  return { 'full-bytes', has }
end
local _, _, _, due = spec_head(key)
if moves and waiting_of(ARGV[4], ARGV[5], submitter) >= most then
  return { 'full-submitter', has }
end
redis.call('HSET', K.specs, key, spec)
count('bytes', more)
if moves then
  local clock = now()
  local line = line_of(ARGV[5], due, clock)
  count(pool .. ':' .. priority, -1)
  count(ARGV[4] .. ':' .. ARGV[5], 1)
  if unqueue(key, pool, priority, submitter, due) then
    enqueue(ARGV[4], line, submitter, { key }, false)
  elseif pool ~= ARGV[4] and not redis.call('ZSCORE', K.later, key) then
    if redis.call('LREM', K.apart(pool), 1, key) == 1 then
      redis.call('RPUSH', K.apart(ARGV[4]), key)
    else
      redis.call('LREM', its[1] == 'parked' and K.parked(pool) or K.assigned(its[11], pool), 1, key)
      evacuated(key, redis.call('HGET', K.evacuations, key), 'failed', clock, 'its pool was changed')
      enqueue(ARGV[4], line, submitter, { key }, false)
    end
  end
  wake(ARGV[4], 1, clock)
end
event('change', '-', key)
return { 'ok', has }
