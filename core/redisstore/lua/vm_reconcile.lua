-- Make the host's records agree with the VMs that really exist, and let the host claim, unless it
-- was reported failed. In an incarnation of Redis that lacks the host's desired state, that is
-- restored first: a host that was drained before can never claim in between. While owners may yet come back that lived
-- before this incarnation, VMs in use that Redis does not know are left alone; and if it began with an old memory, the
-- host claims nothing, since what waits may be running.
-- ARGV    1 owner, 2 epoch, 3 host, 4 incarnation of Redis, 5 number of VMs found,
--         then per VM: itself, pool, 1 if it is healthy and unused, 2 if it is in use; then 1 if owners have had the
--         time to come back, 1 if the host's desired
--         state is known, ms until what it holds must move elsewhere (0: never, nothing: it is not
--         drained), who reported it failed; nothing: nobody, and why, ms for which it gets nothing on
--         probation; nothing: it is not on probation, its delay in ms, canaries, and why;
--         its settings as JSON; nothing: nobody set any
-- RETURN  {adopted, dirtied, removed, left alone}
-- REFUSE  FENCED
-- MOVES   host up→down, suspect→down; vm →clean, →dirty, clean→dirty, clean→gone, dirty→gone,
--         quarantined→gone, clean→lost, dirty→lost, quarantined→lost; evacuation scheduled→failed
-- REPEAT  changes nothing more; refuses FENCED if the host was reported failed
local owner, host = ARGV[1], ARGV[3]
if redis.call('HGET', K.owner(owner), 'epoch') ~= ARGV[2] then
  return fail('FENCED', owner)
end
pass_when_full()
local clock, vms, at_settings = now(), K.vms(host), 6 + 3 * tonumber(ARGV[5])
local all_back, old = ARGV[at_settings] == '1', redis.call('HGET', K.meta, 'old_memory') == '1'
local where = {}
for _, pool in ipairs(clean_in(host, redis.call('SMEMBERS', K.pools))) do
  for _, vm in ipairs(redis.call('LRANGE', K.clean(host, pool), 0, -1)) do
    where[vm] = K.clean(host, pool)
  end
end
for _, vm in ipairs(redis.call('LRANGE', K.dirty(host), 0, -1)) do
  where[vm] = K.dirty(host)
end
for _, vm in ipairs(redis.call('HKEYS', K.quarantined(host))) do
  where[vm] = 'quarantined'
end
for _, other in ipairs(redis.call('SMEMBERS', K.owners_on(host))) do
  local all = redis.call('HGETALL', K.slots(other))
  for i = 1, #all, 2 do
    local its = R.slot(all[i + 1]) or {}
    if its.phase == 'creating' or its.phase == 'destroying' then
      where[all[i]] = 'slot'
    elseif its.what then
      where[its.what] = 'slot'
    end
  end
end
local found, adopted, dirtied, removed, alone, now_in = {}, 0, 0, 0, 0, { clean = {}, dirty = {}, gone = {} }
for i = 0, tonumber(ARGV[5]) - 1 do
  local vm, pool, good = ARGV[6 + 3 * i], ARGV[7 + 3 * i], ARGV[8 + 3 * i] == '1'
  found[vm] = true
  local place = where[vm]
  local stray = not place
  if place and place == K.clean(host, pool) and not good then
    redis.call('LREM', place, 0, vm)
    stray = true
  end
  if stray and not all_back and ARGV[8 + 3 * i] == '2' then
    stray, alone = false, alone + 1
    redis.call('HDEL', vms, vm)
  else
    redis.call('HSETNX', vms, vm, W.vm({ pool = pool, since = clock }))
  end
  if stray then
    if good and redis.call('SISMEMBER', K.pools, pool) == 1 then
      redis.call('RPUSH', K.clean(host, pool), vm)
      adopted = adopted + 1
      table.insert(now_in.clean, vm)
    else
      redis.call('RPUSH', K.dirty(host), vm)
      dirtied = dirtied + 1
      table.insert(now_in.dirty, vm)
    end
  end
end
local known = redis.call('HKEYS', vms)
for vm, _ in pairs(where) do
  known[#known + 1] = vm
end
for _, vm in ipairs(known) do
  if not found[vm] and where[vm] ~= 'slot' then
    if where[vm] == 'quarantined' then
      redis.call('HDEL', K.quarantined(host), vm)
    elseif where[vm] then
      redis.call('LREM', where[vm], 0, vm)
    end
    if redis.call('HDEL', vms, vm) == 1 then
      removed = removed + 1
      table.insert(now_in.gone, vm)
    end
  end
end
local wants = at_settings + 1
local its = redis.call('HMGET', K.host(host), 'wished', 'drain', 'failed', 'probation', 'state')
local told = ARGV[wants] == '1'
if told and its[1] ~= ARGV[4] then
  if not its[3] then
    -- Whether it has recovered since, an overseer finds out.
    redis.call('HSET', K.host(host), 'wished', ARGV[4])
  end
  if ARGV[wants + 8] ~= '' then
    redis.call('HSET', K.host(host), 'settings', ARGV[wants + 8])
  end
  if ARGV[wants + 1] ~= '' and its[2] ~= '1' then
    set_drain(host, true, tonumber(ARGV[wants + 1]), clock)
  end
  if ARGV[wants + 4] ~= '' and not its[4] then
    set_probation(host, tonumber(ARGV[wants + 4]), tonumber(ARGV[wants + 5]), tonumber(ARGV[wants + 6]),
      ARGV[wants + 7], clock)
  end
  if ARGV[wants + 2] ~= '' and not its[3] then
    -- This fences the caller, too: it registers again, and what it says then stands.
    set_failed(host, its[5], ARGV[wants + 2], ARGV[wants + 3], clock)
    event('host failed', ARGV[wants + 2], host, { 'why', ARGV[wants + 3] })
  end
end
-- One that has followed another incarnation's wishes first hears what is wanted of it in this one.
local claims = (all_back or not old) and redis.call('HEXISTS', K.host(host), 'failed') == 0
if claims and (told or not its[1] or its[1] == ARGV[4]) then
  redis.call('HSET', K.host(host), 'incarnation', ARGV[4])
end
if adopted + dirtied + removed > 0 then
  local words = {}
  for _, state in ipairs({ 'clean', 'dirty', 'gone' }) do
    words[#words + 1] = '=' .. state .. ' ' .. table.concat(now_in[state], ' ')
  end
  event('reconcile', owner, adopted .. ' ' .. dirtied .. ' ' .. removed, { 'vms', table.concat(words, ' ') })
end
ring(K.bell(host))
ring(K.factory_bell(host))
return { adopted, dirtied, removed, alone }
