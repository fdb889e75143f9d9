-- Share out the waiting work of pools among the hosts that would make VMs for it: each makes
-- what no other has promised, and all together one more than waits, since a making may fail. A
-- promise holds while it is kept up and begun: who dies, or has no room after all, blocks nobody.
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
    local n, begun, till, from = string.match(all[j + 1], '^(%d+)|(%d+)|(%d+)|(%d+)$')
    n, begun, till, from = tonumber(n), tonumber(begun), tonumber(till), tonumber(from)
    if all[j] == host then
      before = n > begun and begun >= creating and from <= clock and from
    elseif till < clock or till > clock + lasts then
      redis.call('HDEL', K.promises(pool), all[j])
    else
      others = others + (clock - from > overdue and begun or n)
    end
  end
  local waiting = 1
  for _, n in ipairs(redis.call('HMGET', K.counts, pool .. ':high', pool .. ':normal', pool .. ':low')) do
    waiting = waiting + tonumber(n or 0)
  end
  local here = redis.call('LLEN', K.assigned(host, pool))
  local grant = math.min(more, math.max(0, waiting - others - clean - creating, here - clean - creating))
  if creating + grant == 0 then
    redis.call('HDEL', K.promises(pool), host)
  else
    pass_when_full()
    if grant > 0 and before then
      since = before
    end
    redis.call('HSET', K.promises(pool), host,
      table.concat({ int(creating + grant), int(creating), int(clock + lasts), int(since) }, '|'))
  end
  out[#out + 1] = grant
end
return out
