-- Finish n claims, prove the owner's life, and claim up to k pairs of request and VM.
-- ARGV    1 owner, 2 host, 3 epoch, 4 lane, 5 seq, 6 token number, 7 want,
--         8 ms until the next proof of life, 9 incarnation of Redis, 10 number of pools,
--         11 number of finishes, then the pools, then per finish: key, token, outcome
-- RETURN  {verdicts, slots held, draining, ready, {cancelled key, who, ...}, since when,
--         {key, ...}, {vm, ...}, {spec, ...}, {attempts, ...}, {who cancelled, ...}}: the last
--         five by claim; no spec: it is gone again; no attempts or cancels at all: empty
-- REFUSE  FENCED STALE
-- MOVES   request queued→claimed, queued→cancelling, claimed→queued, running→queued,
--         cancelling→queued, claimed→completed, running→completed, cancelling→completed,
--         claimed→failed, running→failed, cancelling→failed, running→timed_out,
--         cancelling→timed_out, cancelling→cancelled, claimed→dead, running→dead;
--         vm clean→claimed, claimed→dirty
-- REPEAT  the same lane and seq answer the same and act once
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
local its = redis.call('HMGET', K.host(host), 'drain', 'incarnation')
local verdicts, claimed, vms, clock = '', {}, {}, now()
local last, last_clock, last_verdicts, last_claims = string.match(mine[2] or '0|0||', '^(%d+)|(%d+)|(.-)|(.*)$')
last = tonumber(last)
if seq < last then
  return fail('STALE', owner)
end
local again, since = seq == last, clock
local draining, ready = its[1] == '1', its[2] == ARGV[9]
if again then
  verdicts, since = last_verdicts, last_clock
  for key in string.gmatch(last_claims, '%S+') do
    claimed[#claimed + 1] = key
  end
else
  pass_when_full()
  local moved = ''
  if nfinish > 0 then
    local items = {}
    for i = 1, 3 * nfinish do
      items[i] = ARGV[11 + npools + i]
    end
    verdicts, moved = settle(owner, host, items, clock)
  end
  local idle = mine[3] or '0'
  if (want > 0 or passes_on) and ready and not draining then
    for p = 1, want > 0 and npools or 0 do
      local pool = ARGV[11 + p]
      local clean = K.clean(host, pool)
      local able = want > 0 and math.min(want, redis.call('LLEN', clean)) or 0
      local its_pool = able > 0 and redis.call('HMGET', K.pool(pool), 'paused', 'tickets')
      if its_pool and its_pool[1] ~= '1' then
        local keys = dequeue(pool, able, tonumber(its_pool[2] or 0))
        if #keys > 0 then
          local got, fields, n = redis.call('LPOP', clean, #keys), {}, #claimed
          local tail = '|' .. token .. '|' .. clock .. '|claimed'
          for i = 1, #keys do
            claimed[n + i], vms[n + i] = keys[i], got[i]
            fields[2 * i - 1], fields[2 * i] = keys[i], got[i] .. tail
          end
          redis.call('HSET', slots, unpack(fields))
          redis.call('HINCRBY', K.pool(pool), 'tickets', #keys)
          want = want - #keys
          ring(K.factory_bell(host))
        end
        if #keys < able then
          -- VMs are ready and nothing waits: whoever submits next wakes this host.
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
      not_idle(host, ARGV, 12, 11 + npools)
    end
  end
  if #claimed > 0 then
    event('claim', owner, table.concat(claimed, ' '))
  end
  if moved ~= '' then
    event('finish', owner, moved)
  end
  local answer = ARGV[5] .. '|' .. clock .. '|' .. verdicts .. '|' .. table.concat(claimed, ' ')
  redis.call('HSET', me, 'idle', idle, lane, answer)
end
redis.call('ZADD', K.owners, 'XX', clock + beat, owner)
redis.call('ZADD', K.hosts, 'XX', 'GT', clock + beat, host)
local specs, attempts, marks = {}, {}, {}
if #claimed > 0 then
  specs = redis.call('HMGET', K.specs, unpack(claimed))
  if redis.call('EXISTS', K.attempts) == 1 then
    attempts = redis.call('HMGET', K.attempts, unpack(claimed))
  end
  if redis.call('EXISTS', K.cancels) == 1 then
    marks = redis.call('HMGET', K.cancels, unpack(claimed))
  end
  if again then
    local slot = redis.call('HMGET', slots, unpack(claimed))
    for i = 1, #claimed do
      -- A slot that was emptied meanwhile, or claimed anew, is not this call's.
      local mine_still = slot[i] and string.find(slot[i], '|' .. token .. '|', 1, true)
      vms[i] = mine_still and held(slot[i]) or ''
      specs[i] = mine_still and specs[i] or false
    end
  end
end
return { verdicts, redis.call('HLEN', slots), draining and 1 or 0, ready and 1 or 0, cancelled(owner), since,
  claimed, vms, specs, attempts, marks }
