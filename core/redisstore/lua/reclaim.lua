-- Make sure of the claims that an owner holds, and put back those that Redis lost with its memory: slot, VM and what is
-- known of faults. In the incarnation in which the owner last made sure of them, one that is not there was taken away.
-- ARGV    1 owner, 2 host, 3 epoch, 4 that incarnation; nothing: Redis forgot the owner, 5 the incarnation of Redis,
--         then per claim: key, VM, token, phase, ms within which that ends, attempts, deaths that it met, spec
-- RETURN  per claim: held, back, or gone: it was taken away or has ended, another owner has it, or its VM is being
--         destroyed
-- REFUSE  FENCED
-- MOVES   request →claimed, queued→claimed, parked→claimed; vm →claimed, clean→claimed, dirty→claimed,
--         quarantined→claimed; evacuation scheduled→failed, parked→failed, accepted→failed
-- REPEAT  returns held for what it put back
local owner, host, clock = ARGV[1], ARGV[2], now()
if redis.call('HGET', K.owner(owner), 'epoch') ~= ARGV[3] then
  return fail('FENCED', owner)
end
pass_when_full()
local forgot, out = ARGV[4] ~= ARGV[5], {}
local others = redis.call('SMEMBERS', K.owners_on(host))
local function is_in_hand(vm)
  for _, other in ipairs(others) do
    if redis.call('HEXISTS', K.slots(other), vm) == 1 then
      return true
    end
  end
  return false
end
for at = 6, #ARGV, 8 do
  local key, vm, token, spec = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 7]
  local its, slot = holder(key)
  if its == owner and holds(slot, token) == vm then
    out[#out + 1] = 'held'
  elseif its or not forgot or has_tombstone({ key })[1] == 1 or is_in_hand(vm) then
    out[#out + 1] = 'gone'
  else
    if not remove_waiting(key) and redis.call('HSETNX', K.specs, key, spec) == 1 then
      count('bytes', weight(key, #spec))
    end
    evacuated(key, redis.call('HGET', K.evacuations, key), 'failed', clock, 'it goes on where it was')
    local pool = spec_head(key)
    redis.call('HSETNX', K.vms(host), vm, W.vm({ pool = pool, since = clock }))
    redis.call('LREM', K.clean(host, pool), 0, vm)
    redis.call('LREM', K.dirty(host), 0, vm)
    redis.call('HDEL', K.quarantined(host), vm)
    if tonumber(ARGV[at + 5]) > tonumber(redis.call('HGET', K.attempts, key) or 0) then
      redis.call('HSET', K.attempts, key, ARGV[at + 5])
    end
    if ARGV[at + 6] ~= '' then
      redis.call('HSETNX', K.deaths, key, ARGV[at + 6])
    end
    redis.call('HSET', K.slots(owner), key, W.slot({ what = vm, token = token, since = clock, phase = ARGV[at + 3],
      limit = tonumber(ARGV[at + 4]) }))
    hold({ key }, owner)
    redis.call('HDEL', K.waits, key)
    local most = tonumber(redis.call('HGET', K.pool(pool), 'running') or 0)
    if most > 0 and redis.call('HEXISTS', K.running, key) == 0 then
      note_running(pool, { key })
    end
    event('reclaim', owner, '', { 'claimed', key, 'token', token, vms_now({}, { vm }) })
    out[#out + 1] = 'back'
  end
end
return out
