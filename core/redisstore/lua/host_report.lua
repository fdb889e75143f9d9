-- Act on a watchdog's report on a host. A host that failed is down at once, its owners are fenced,
-- and it claims nothing until it has recovered.
-- ARGV    1 host, 2 failed or recovered, 3 reporter, 4 why, 5 its entry in the stream of
--         reports; nothing: it is none
-- RETURN  1; 0: a later report was acted on
-- REFUSE  NOTFOUND
-- MOVES   host up→down, suspect→down, down→up; vm clean→lost, dirty→lost, quarantined→lost; evacuation
--         scheduled→failed
-- REPEAT  the first report stands; nothing is lost twice. A report that is handled after a later
--         one of the same host, because its first reader did not act on it, changes nothing
local host, clock = ARGV[1], now()
local its = redis.call('HMGET', K.host(host), 'state', 'failed')
if not its[1] then
  return fail('NOTFOUND', host)
end
local function parts(id)
  local ms, n = string.match(id or '', '^(%d+)-(%d+)$')
  return tonumber(ms or 0), tonumber(n or 0)
end
if ARGV[5] ~= '' then
  local ms, n = parts(ARGV[5])
  local last_ms, last_n = parts(redis.call('HGET', K.host(host), 'reported'))
  if ms < last_ms or ms == last_ms and n < last_n then
    return 0
  end
  pass_when_full()
  redis.call('HSET', K.host(host), 'reported', ARGV[5])
end
local failed = ARGV[2] == 'failed'
if failed == (its[2] and true or false) then
  return 1
end
pass_when_full()
if failed then
  set_failed(host, its[1], ARGV[3], ARGV[4], clock)
else
  redis.call('HDEL', K.host(host), 'failed')
  local due = tonumber(redis.call('ZSCORE', K.hosts, host) or 0)
  if due >= clock then
    -- Its owners came back while it was not trusted: they go on.
    redis.call('HSET', K.host(host), 'state', 'up', 'epoch', next_epoch('host:' .. host, clock), 'since', clock)
    event('host up', '-', host)
  else
    -- They may have come back and gone again, and said meanwhile what is there.
    lose(host, clock)
  end
  ring(K.factory_bell(host))
end
event('host ' .. ARGV[2], ARGV[3], host, { 'why', ARGV[4] })
return 1
