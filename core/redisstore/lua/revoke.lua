-- End one slot of an owner, living or not, if it still has the value that was read: its work is
-- hung, or must move elsewhere. That is no death. The owner is notified.
-- ARGV    1 owner, 2 host, 3 key, 4 the slot as it was read, 5 outcome, as settle has them, 6 why
-- RETURN  1, or 0 if the slot is empty by now
-- REFUSE  CONFLICT
-- MOVES   request claimed→queued, running→queued, cancelling→queued, claimed→parked, running→parked,
--         cancelling→parked, claimed→completed, running→completed, cancelling→completed, claimed→failed,
--         running→failed, cancelling→failed, running→timed_out, cancelling→timed_out, cancelling→cancelled,
--         claimed→dead, running→dead; vm claimed→dirty, creating→dirty, destroying→dirty, claimed→lost,
--         creating→lost, destroying→lost; task running→queued, cancelling→queued, running→delayed,
--         cancelling→delayed, running→done, cancelling→done, running→dead, cancelling→dead,
--         cancelling→cancelled; evacuation →scheduled, →parked, accepted→finished, accepted→failed
-- REPEAT  if the slot is empty, returns 0
local owner, host, key, outcome = ARGV[1], ARGV[2], ARGV[3], ARGV[5]
local slot = redis.call('HGET', K.slots(owner), key)
if not slot then
  return 0
end
if slot ~= ARGV[4] then
  return fail('CONFLICT', key)
end
local _, _, to = outcome_parts(outcome)
local assigns = to ~= '' and to ~= '-'
if assigns and not able(to) then
  return fail('CONFLICT', to)
end
local its = redis.call('HMGET', K.host(host), 'probation', 'canary')
local ends = { keys = { key }, tokens = { R.slot(slot).token }, outcomes = { outcome } }
local _, moved, dirty = settle(owner, host, ends, now(),
  { late = true, why = ARGV[6], probation = its[1], canary = its[2] })
if assigns then
  redis.call('HINCRBY', K.meta, 'placed', 1)
end
ring(K.notice(owner))
event('revoke', owner, moved, { 'why', ARGV[6], vms_now(dirty, {}) })
return 1
