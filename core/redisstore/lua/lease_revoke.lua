-- End claims of VMs that a lease's pool lent to preemptible requests, the youngest first. The requests are queued
-- again at no cost of an attempt, and the owners are notified.
-- ARGV    1 pool, 2 most
-- RETURN  how many were ended
-- REFUSE  -
-- MOVES   request claimed→queued, running→queued, cancelling→queued; vm claimed→dirty, claimed→lost;
--         evacuation accepted→failed
-- REPEAT  ends others, if there are some: its caller counts again before
local all, mine, clock = redis.call('HGETALL', K.lent), {}, now()
for i = 1, #all, 2 do
  local its = R.lent(all[i + 1])
  local slot = its and its.pool == ARGV[1] and R.slot(redis.call('HGET', K.slots(its.owner), all[i]))
  if slot and slot.token == its.token then
    mine[#mine + 1] = { key = all[i], owner = its.owner, token = its.token, since = slot.since }
  end
end
table.sort(mine, function(a, b)
  return a.since > b.since or a.since == b.since and a.key > b.key
end)
local n, why = math.min(#mine, tonumber(ARGV[2])), 'its VM was lent by a lease, which needs it'
if n > 0 then
  pass_when_full()
end
for i = 1, n do
  local its = mine[i]
  local host = host_of(its.owner)
  local trial = redis.call('HMGET', K.host(host), 'probation', 'canary')
  local ends = { keys = { its.key }, tokens = { its.token }, outcomes = { 'release' } }
  local _, moved, dirty = settle(its.owner, host, ends, clock,
    { late = true, why = why, probation = trial[1], canary = trial[2] })
  ring(K.notice(its.owner))
  event('revoke', its.owner, moved, { 'why', why, vms_now(dirty, {}) })
end
return n
