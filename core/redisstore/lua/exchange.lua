-- Finish n claims, record the owner's heartbeat, and claim up to k pairs of request and VM. A
-- heartbeat requeues retries whose pause is over. A host on probation has one request at a time.
-- ARGV    1 owner, 2 host, 3 epoch, 4 lane, 5 seq, 6 token number, 7 want,
--         8 ms until the next heartbeat, 0: this call is none, 9 incarnation of Redis,
--         10 number of pools, 11 number of finishes, then the pools, then the finishes in runs:
--         token, outcome, count, key, ...
-- RETURN  {verdicts, slots held, draining, ready, since when, number of claims, twice the
--         number of cancelled keys, attempts, cancels or deaths follow (0: no), claimed keys and
--         their VMs as words, because a table in a table costs and so does each string, then
--         cancelled keys with who asked, the claims' specs and, if they follow, attempts, who
--         cancelled them and deaths that they met}; no spec: it is gone again; slots -1 and no cancelled keys
--         where the call is no heartbeat
-- REFUSE  FENCED STALE
-- MOVES   request queued→claimed, queued→cancelling, parked→claimed, parked→cancelling, parked→queued,
--         claimed→queued, running→queued, cancelling→queued, claimed→completed, running→completed,
--         cancelling→completed, claimed→failed, running→failed, cancelling→failed, running→timed_out,
--         cancelling→timed_out, cancelling→cancelled, claimed→dead, running→dead; vm clean→claimed,
--         claimed→dirty; evacuation →scheduled, scheduled→accepted, parked→accepted, accepted→finished,
--         accepted→failed
-- REPEAT  the same lane and seq return the same answer and take effect once
local owner, host, epoch = ARGV[1], ARGV[2], ARGV[3]
local lane, seq = 'lane' .. ARGV[4], tonumber(ARGV[5])
local want, beat = tonumber(ARGV[7]), tonumber(ARGV[8])
local npools, nfinish = tonumber(ARGV[10]), tonumber(ARGV[11])
local passes_on = want == 0 and nfinish == 0
local me, slots, token = K.owner(owner), K.slots(owner), epoch .. '.' .. ARGV[6]
local mine = redis.call('HMGET', me, 'epoch', lane, 'idle')
if mine[1] ~= epoch then
  return fail('FENCED', owner)
end
local its = redis.call('HMGET', K.host(host), 'drain', 'incarnation', 'probation', 'canary')
local verdicts, claimed, vms, clock = '', {}, {}, now()
local last = R.lane(mine[2]) or { seq = 0 }
if seq < last.seq then
  return fail('STALE', owner)
end
local again, since = seq == last.seq, clock
local draining, ready = its[1] == '1', its[2] == ARGV[9]
local noted = beat > 0 and redis.call('EXISTS', K.cancels, K.later) or 0
if again then
  pass_when_full()
  since, verdicts, claimed = last.since, last.verdicts, words(last.keys)
else
  local moved, dirty = '', {}
  if nfinish > 0 then
    verdicts, moved, dirty = settle(owner, host, endings(12 + npools, nfinish), clock,
      { probation = its[3], canary = its[4] })
  end
  if moved == '' then
    pass_when_full()
  end
  if noted > 0 then
    promote(clock)
  end
  local idle, on_trial = mine[3] or '0', false
  if its[3] then
    want, on_trial = trial(host, want, clock)
  end
  if (want > 0 or passes_on) and ready and not draining then
    local pools = { unpack(ARGV, 12, 11 + npools) }
    for _, pool in ipairs(want == 0 and {} or npools > 16 and clean_in(host, pools) or pools) do
      local clean = K.clean(host, pool)
      local able = want > 0 and math.min(want, redis.call('LLEN', clean)) or 0
      local its_pool = able > 0 and redis.call('HMGET', K.pool(pool), 'paused', 'tickets', 'running')
      if its_pool and its_pool[1] ~= '1' then
        local keys = dequeue(pool, able, tonumber(its_pool[2] or 0), tonumber(its_pool[3] or 0), owner,
          host, clock)
        if #keys > 0 then
          local got, fields, n = redis.call('LPOP', clean, int(#keys)), {}, #claimed
          -- What a slot holds stands before all else.
          local rest = W.slot({ what = '', token = token, since = clock, phase = 'claimed', limit = 0 })
          for i = 1, #keys do
            claimed[n + i], vms[n + i] = keys[i], got[i]
            fields[2 * i - 1], fields[2 * i] = keys[i], got[i] .. rest
          end
          redis.call('HSET', slots, unpack(fields))
          hold(keys, owner)
          redis.call('HINCRBY', K.pool(pool), 'tickets', int(#keys))
          want = want - #keys
          if on_trial then
            redis.call('HSET', K.host(host), 'canary', W.canary({ key = keys[1], owner = owner }))
          end
        end
        if #keys < able and not on_trial then
          -- VMs are ready and nothing waits: the next submit wakes this host.
          redis.call('SADD', K.idle(pool), host)
        end
      end
    end
    if want > 0 then
      idle = '1'
    elseif idle == '1' or passes_on then
      -- Others of the host may be idle still: they look, and list it again. A call that
      -- has no wish at all took a ring that it does not need.
      idle = '0'
      not_idle(host, pools)
    end
  end
  local names = table.concat(claimed, ' ')
  if names ~= '' or moved ~= '' then
    local fields = names ~= '' and { 'claimed', names, 'token', token, vms_now(dirty, vms) } or { vms_now(dirty, vms) }
    event('exchange', owner, moved, fields)
  end
  if names ~= '' and moved == '' then
    -- Else settle did.
    ring(K.factory_bell(host))
  end
  redis.call('HSET', me, 'idle', idle, lane, W.lane({ seq = seq, since = clock, verdicts = verdicts, keys = names }))
end
local held_now, stop = -1, {}
if beat > 0 then
  heartbeat(owner, host, clock, beat)
  held_now, stop = redis.call('HLEN', slots), noted > 0 and cancelled(owner) or {}
end
local n, some = #claimed, 0
local row = { verdicts, held_now, draining and 1 or 0, ready and 1 or 0, since, n, #stop, some, '', '' }
local function lay(parts, count)
  local at = #row
  for i = 1, count do
    row[at + i] = parts[i]
  end
end
lay(stop, #stop)
if n > 0 then
  local specs = redis.call('HMGET', K.specs, unpack(claimed))
  if again then
    for i, text in ipairs(redis.call('HMGET', slots, unpack(claimed))) do
      -- A slot that was emptied meanwhile, or claimed anew, is not this call's.
      local vm = holds(text, token)
      vms[i], specs[i] = vm or '-', vm and specs[i] or false
    end
  end
  some = redis.call('EXISTS', K.attempts, K.cancels, K.deaths)
  row[8], row[9], row[10] = some, table.concat(claimed, ' '), table.concat(vms, ' ')
  lay(specs, n)
  if some > 0 then
    lay(redis.call('HMGET', K.attempts, unpack(claimed)), n)
    lay(redis.call('HMGET', K.cancels, unpack(claimed)), n)
    lay(redis.call('HMGET', K.deaths, unpack(claimed)), n)
  end
end
return row
