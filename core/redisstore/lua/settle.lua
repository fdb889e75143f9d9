-- Empty slots on behalf of an owner: of its previous epoch, or of a fenced owner. A death is
-- recorded separately: see declare_dead and register. Requests may be moved to hosts if the number
-- of placements is still the one that the placement was computed for.
-- ARGV    1 owner, 2 epoch, 3 host, 4 that number, 5 number of items, then the items in runs: token,
--         outcome, count, key, ...; outcome: done, dead, release, retry; retry>host, release>host
--         assign, retry>-, release>- park
-- RETURN  {how many moved, the number now; 0 if it is unchanged}
-- REFUSE  FENCED CONFLICT
-- MOVES   request claimed→queued, running→queued, cancelling→queued, claimed→parked, running→parked,
--         cancelling→parked, claimed→completed, running→completed, cancelling→completed, claimed→failed,
--         running→failed, cancelling→failed, running→timed_out, cancelling→timed_out, cancelling→cancelled,
--         claimed→dead, running→dead; vm claimed→dirty, creating→dirty, destroying→dirty, claimed→lost,
--         creating→lost, destroying→lost; task running→queued, cancelling→queued, running→delayed,
--         cancelling→delayed, running→done, cancelling→done, running→dead, cancelling→dead,
--         cancelling→cancelled; evacuation →scheduled, →parked, accepted→finished, accepted→failed
-- REPEAT  what moved is not in its slot any more and is skipped
local owner, host = ARGV[1], ARGV[3]
if redis.call('HGET', K.owner(owner), 'epoch') ~= ARGV[2] then
  return fail('FENCED', owner)
end
local ends, assigns, can = endings(6, tonumber(ARGV[5])), false, {}
local slots = redis.call('HMGET', K.slots(owner), unpack(ends.keys))
for i = 1, #ends.keys do
  local _, _, to = outcome_parts(ends.outcomes[i])
  if to ~= '' and to ~= '-' and holds(slots[i], ends.tokens[i]) then
    assigns = true
    if can[to] == nil then
      can[to] = able(to)
    end
    if not can[to] then
      return fail('CONFLICT', to)
    end
  end
end
local placed = redis.call('HGET', K.meta, 'placed') or '0'
if assigns and placed ~= ARGV[4] then
  return fail('CONFLICT', owner)
end
local its = redis.call('HMGET', K.host(host), 'probation', 'canary')
local how = { late = true, lost = true, why = 'its owner died', probation = its[1], canary = its[2] }
local verdicts, moved, dirty = settle(owner, host, ends, now(), how)
if moved ~= '' then
  event('settle', owner, moved, { vms_now(dirty, {}) })
end
return { select(2, string.gsub(verdicts, '1', '')), assigns and redis.call('HINCRBY', K.meta, 'placed', 1) or 0 }
