-- Share out the waiting work of pools among the hosts that would create VMs for it: each creates
-- what no other has promised, and all together one more than waits, since a creation may fail. A
-- promise holds while it is renewed and begun, so a host that dies, or has no room after all,
-- blocks nobody.
-- ARGV    1 host, then per pool: itself, its clean VMs there, those in creation, how many more
--         the host would make
-- RETURN  per pool: how many of those it is to make
-- REFUSE  -
-- MOVES   -
-- REPEAT  grants the same, unless others were granted some meanwhile
local host, clock, out = ARGV[1], now(), {}
local lasts, overdue = 15000, 10000
for i = 2, #ARGV, 4 do
  local pool, clean, creating, more = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  local others, since, before = 0, clock, nil
  local all = redis.call('HGETALL', K.promises(pool))
  for j = 1, #all, 2 do
    local its = R.promise(all[j + 1])
    if all[j] == host then
      before = its.makes > its.begun and its.begun >= creating and its.since <= clock and its.since
    elseif its.till < clock or its.till > clock + lasts then
      redis.call('HDEL', K.promises(pool), all[j])
    else
      others = others + (clock - its.since > overdue and its.begun or its.makes)
    end
  end
  local waiting = 1 + select(2, waiting_in(pool))
  local here = redis.call('LLEN', K.assigned(host, pool))
  local grant = math.min(more, math.max(0, waiting - others - clean - creating, here - clean - creating))
  local known = redis.call('SISMEMBER', K.pools, pool) == 1
  if not known then
    -- It was removed since the host looked.
    grant = 0
  end
  if not known or creating + grant == 0 then
    redis.call('HDEL', K.promises(pool), host)
  else
    pass_when_full()
    if grant > 0 and before then
      since = before
    end
    redis.call('HSET', K.promises(pool), host,
      W.promise({ makes = creating + grant, begun = creating, till = clock + lasts, since = since }))
  end
  out[#out + 1] = grant
end
return out
