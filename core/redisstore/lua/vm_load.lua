-- Count the VMs and waiting requests of the named pools on a host.
-- ARGV    1 host, 2 the host's vmfactory, 3 incarnation of Redis, then the pools
-- RETURN  the host's settings; its targets, empty if there are none or no round of placement was of
--         late, and 1 if they hold for waiting work, too; 1 if the host has reconciled with this
--         incarnation: else it may have VMs that are not counted; then per known pool: settings, clean,
--         creating, dirty or destroying, quarantined, all VMs, waiting requests that the host may
--         take, up to its max; of those whose submitter's turn is far, one each
-- REFUSE  -
-- MOVES   -
-- REPEAT  reads only
local host = ARGV[1]
local its = redis.call('HMGET', K.host(host), 'settings', 'targets', 'incarnation')
local planned, clock = R.planned(redis.call('HGET', K.meta, 'planned')), now()
-- A round that is yet to come was written before the clock was set back.
local known = planned and planned.at <= clock and clock - planned.at < 600000
local fresh = known and planned.till >= clock
local out = { its[1] or '', known and its[2] or '', fresh and '1' or '0', its[3] == ARGV[3] and '1' or '0' }
local lines = {}
for _, priority in ipairs(priorities()) do
  lines[#lines + 1] = priority
  local soon = line_of(priority, clock, clock)
  if soon ~= priority then
    lines[#lines + 1] = soon
  end
end
local pool_of, all, creating, dirty, quarantined = {}, {}, {}, {}, {}
local function count(into, pool)
  into[pool] = (into[pool] or 0) + 1
end
local vms = redis.call('HGETALL', K.vms(host))
for i = 1, #vms, 2 do
  local pool = R.vm(vms[i + 1]).pool
  pool_of[vms[i]] = pool
  count(all, pool)
end
for _, text in ipairs(redis.call('HVALS', K.slots(ARGV[2]))) do
  local slot = R.slot(text)
  count(slot.phase == 'creating' and creating or dirty, slot.what)
end
for _, vm in ipairs(redis.call('LRANGE', K.dirty(host), 0, -1)) do
  count(dirty, pool_of[vm] or '')
end
for _, vm in ipairs(redis.call('HKEYS', K.quarantined(host))) do
  count(quarantined, pool_of[vm] or '')
end
local looks = 1000
for i = 4, #ARGV do
  local pool = ARGV[i]
  local set = redis.call('HMGET', K.pool(pool), 'settings', 'max', 'running')
  if set[1] then
    local most, each = tonumber(set[2]), tonumber(set[3] or 0)
    local waiting, any = 0, select(2, waiting_in(pool)) ~= 0
    if any then
      waiting = redis.call('LLEN', K.assigned(host, pool))
      waiting = waiting + redis.call('LLEN', K.parked(pool)) + redis.call('LLEN', K.apart(pool))
    end
    for _, line in ipairs(any and lines or {}) do
      local turns = K.turns(pool, line)
      -- Each of them has one at least.
      waiting = waiting + redis.call('LLEN', turns)
      if waiting < most then
        for _, submitter in ipairs(redis.call('LRANGE', turns, 0, 63)) do
          looks = looks - 1
          if waiting >= most or looks < 0 then
            break
          end
          local its_own = redis.call('LLEN', K.queue(pool, line, submitter))
          waiting = waiting + (each > 0 and math.min(its_own, each) or its_own) - 1
        end
      end
    end
    local n = #out
    out[n + 1], out[n + 2], out[n + 3] = set[1], redis.call('LLEN', K.clean(host, pool)), creating[pool] or 0
    out[n + 4], out[n + 5], out[n + 6] = dirty[pool] or 0, quarantined[pool] or 0, all[pool] or 0
    out[n + 7] = math.min(waiting, most)
  end
end
return out
