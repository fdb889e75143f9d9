-- Move requests that wait in another pool than they would be queued in now, because a lease of it was opened or
-- closed, to the back of their submitters' queues there.
-- ARGV    per request: key, pool by the result store, class of the submission that it grades; empty: none, ...
-- RETURN  how many were moved
-- REFUSE  -
-- MOVES   request parked→queued; evacuation scheduled→failed, parked→failed
-- REPEAT  those that were moved are where they belong
local clock, moved, goers = now(), {}, {}
pass_when_full()
for i = 1, #ARGV, 3 do
  local key, of = ARGV[i], ARGV[i + 1]
  local pool, priority, submitter, due = spec_head(key)
  -- One that was given another pool meanwhile is left to the change.
  local its = pool == of or pool and (base_of(pool) == of or redis.call('SISMEMBER', K.pools, pool) == 0)
  if its and redis.call('SISMEMBER', K.pools, of) == 1 then
    local goes = route(of, submitter, ARGV[i + 2])
    if goes ~= pool and relocate(key, { pool = pool, priority = priority, submitter = submitter, due = due }, goes,
      priority, clock, 'it moved to pool ' .. goes) then
      local was = redis.call('HGET', K.specs, key)
      local spec = in_pool(was, goes)
      redis.call('HSET', K.specs, key, spec)
      count('bytes', #spec - #was)
      goers[goes] = (goers[goes] or 0) + 1
      moved[#moved + 1] = key
    end
  end
end
for pool, n in pairs(goers) do
  wake(pool, n, clock)
end
if #moved > 0 then
  event('reroute', '-', table.concat(moved, ' '))
end
return #moved
