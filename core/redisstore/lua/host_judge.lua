-- Move hosts between up and suspect by their owners' heartbeats.
-- ARGV    1 suspect when late by ms, 2 down when late by ms, 3 when Redis began to serve, ms
-- RETURN  the hosts that are late enough to be down and are not yet
-- REFUSE  -
-- MOVES   host up→suspect, suspect→up
-- REPEAT  judges again
local clock = now()
pass_when_full()
bring_near(clock)
local start = began(tonumber(ARGV[3]), clock)
local suspect, down = tonumber(ARGV[1]), tonumber(ARGV[2])
local may_suspect, may_down = overdue(suspect, start, clock), overdue(down, start, clock)
local out = {}
local all = redis.call('ZRANGE', K.hosts, 0, -1, 'WITHSCORES')
for i = 1, #all, 2 do
  local host, late = all[i], clock - math.max(tonumber(all[i + 1]), start)
  local state = redis.call('HGET', K.host(host), 'state')
  if state == 'up' and late >= suspect and may_suspect then
    redis.call('HSET', K.host(host), 'state', 'suspect')
    event('host suspect', '-', host)
    state = 'suspect'
  elseif state == 'suspect' and late < suspect then
    redis.call('HSET', K.host(host), 'state', 'up')
    event('host up', '-', host)
    state = 'up'
  end
  if state == 'suspect' and late >= down and may_down then
    out[#out + 1] = host
  end
end
return out
