-- Finish n claims, prove the owner's life, and claim up to k pairs of request and VM.
-- ARGV    1 owner, 2 host, 3 epoch, 4 lane, 5 seq, 6 token number, 7 want,
--         8 ms until the next proof of life, 9 incarnation of Redis, 10 number of pools,
--         11 number of finishes, then the pools, then per finish: key, token, outcome
-- RETURN  {verdicts, slots held, draining, ready, {cancelled key, ...}, since when,
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
local me, slots = K.owner(owner), K.slots(owner)
local mine = redis.call('HMGET', me, 'epoch', lane)
if mine[1] ~= epoch then
  return fail('FENCED', owner)
end
local its = redis.call('HMGET', K.host(host), 'state', 'drain', 'incarnation')
if its[1] == 'down' then
  return fail('FENCED', owner)
end
local verdicts, claimed, vms, clock = '', {}, {}, now()
local last, last_clock, last_verdicts, last_claims = string.match(mine[2] or '0|0||', '^(%d+)|(%d+)|(.-)|(.*)$')
last = tonumber(last)
if seq < last then
  return fail('STALE', owner)
end
local again, since = seq == last, clock
local ready = its[3] == ARGV[9]
if again then
  verdicts, since = last_verdicts, last_clock
  for key in string.gmatch(last_claims, '%S+') do
    claimed[#claimed + 1] = key
  end
else
  -- A first write that frees memory lets the others pass when Redis is full.
  redis.call('HDEL', me, 'full')
  local moved = ''
  if nfinish > 0 then
    local items = {}
    for i = 1, 3 * nfinish do
      items[i] = ARGV[11 + npools + i]
    end
    verdicts, moved = settle(owner, host, items, clock)
  end
  local ticket = tonumber(ARGV[6])
  if want > 0 and ready and its[2] ~= '1' then
    for p = 1, npools do
      local pool = ARGV[11 + p]
      local clean = K.clean(host, pool)
      local able = 0
      if want > 0 and redis.call('HGET', K.pool(pool), 'paused') ~= '1' then
        able = math.min(want, redis.call('LLEN', clean))
      end
      if able > 0 then
        local keys = dequeue(pool, able, ticket)
        ticket = ticket + able
        if #keys > 0 then
          local got, fields, n = redis.call('LPOP', clean, #keys), {}, #claimed
          local tail = '|' .. epoch .. '.' .. ARGV[6] .. '|' .. clock .. '|claimed'
          for i = 1, #keys do
            claimed[n + i], vms[n + i] = keys[i], got[i]
            fields[2 * i - 1], fields[2 * i] = keys[i], got[i] .. tail
          end
          redis.call('HSET', slots, unpack(fields))
          want = want - #keys
          ring(K.factory_bell(host))
        end
        if #keys < able then
          -- VMs are ready and nothing waits: whoever submits next wakes this host.
          redis.call('SADD', K.idle(pool), host)
        elseif want == 0 and redis.call('LLEN', clean) > 0 and waits(pool) then
          ring(K.bell(host))
        end
      end
    end
  end
  if #claimed > 0 then
    event('claim', owner, table.concat(claimed, ' '))
  end
  if moved ~= '' then
    event('finish', owner, moved)
  end
  if #claimed > 0 or nfinish > 0 then
    redis.call('HSET', me, lane, ARGV[5] .. '|' .. clock .. '|' .. verdicts .. '|' .. table.concat(claimed, ' '))
  end
end
redis.call('ZADD', K.owners, 'XX', clock + beat, owner)
redis.call('ZADD', K.hosts, 'XX', 'GT', clock + beat, host)
local marked = redis.call('EXISTS', K.cancels) == 1
local cancelled, specs, attempts, marks = {}, {}, {}, {}
if #claimed > 0 then
  specs = redis.call('HMGET', K.specs, unpack(claimed))
  if redis.call('EXISTS', K.attempts) == 1 then
    attempts = redis.call('HMGET', K.attempts, unpack(claimed))
  end
  if marked then
    marks = redis.call('HMGET', K.cancels, unpack(claimed))
  end
  if again then
    local slot = redis.call('HMGET', slots, unpack(claimed))
    for i = 1, #claimed do
      vms[i] = slot[i] and held(slot[i]) or ''
      specs[i] = slot[i] and specs[i]
    end
  end
end
if marked then
  local keys = redis.call('HKEYS', slots)
  if #keys > 0 then
    local asked = redis.call('HMGET', K.cancels, unpack(keys))
    for i = 1, #keys do
      if asked[i] then
        cancelled[#cancelled + 1] = keys[i]
      end
    end
  end
end
return { verdicts, redis.call('HLEN', slots), its[2] == '1' and 1 or 0, ready and 1 or 0, cancelled, since,
  claimed, vms, specs, attempts, marks }
