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
local suspect_due, down_due = overdue(suspect, start, clock) or 0, overdue(down, start, clock) or 0
local out = {}
local all = redis.call('ZRANGE', K.hosts, 0, -1, 'WITHSCORES')
for i = 1, #all, 2 do
  local host, due = all[i], tonumber(all[i + 1])
  local state = redis.call('HGET', K.host(host), 'state')
  if state == 'up' and due <= suspect_due then
    redis.call('HSET', K.host(host), 'state', 'suspect')
    event('host suspect', '-', host)
    state = 'suspect'
  elseif state == 'suspect' and clock - math.max(due, start) < suspect then
    redis.call('HSET', K.host(host), 'state', 'up')
    event('host up', '-', host)
    state = 'up'
  end
  if state == 'suspect' and due <= down_due then
    out[#out + 1] = host
  end
end
return out
