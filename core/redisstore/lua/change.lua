-- Change the spec of a waiting request. With another pool or priority it joins the back of its
-- submitter's queue there; a pause after a fault goes on. That of a lease's holder goes to the lease's
-- pool.
-- ARGV    1 key, 2 the change that Redis has of it, as the caller knows, 3 number of the new one, 4 its pool,
--         5 its priority, 6 spec, 7 most bytes of specs, 8 class of the submission that it grades; empty: none
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
local goes, priority = ARGV[4], ARGV[5]
local most
goes, most = route(goes, its[9], ARGV[8])
if most == 0 then
  return { 'nopool', has }
end
if goes ~= ARGV[4] then
  most, spec = tonumber(redis.call('HGET', K.pool(goes), 'max_waiting') or 0), in_pool(spec, goes)
end
local moves, more = its[2] ~= goes or its[3] ~= priority, #spec - #was
if more > 0 and tonumber(redis.call('HGET', K.counts, 'bytes') or 0) + more > tonumber(ARGV[7]) then
  return { 'full-bytes', has }
end
local _, _, _, due = spec_head(key)
if moves and waiting_of(goes, priority, its[9]) >= most then
  return { 'full-submitter', has }
end
redis.call('HSET', K.specs, key, spec)
count('bytes', more)
if moves then
  local clock = now()
  relocate(key, { pool = its[2], priority = its[3], submitter = its[9], due = due }, goes, priority, clock,
    'its pool was changed')
  wake(goes, 1, clock)
end
event('change', '-', key)
return { 'ok', has }
