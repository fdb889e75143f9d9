-- Move hosts between up and suspect by their owners' heartbeats, some hundreds at a time.
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
local function judge(host, due)
  local state = redis.call('HGET', K.host(host), 'state')
  if state == 'up' and due <= suspect_due then
    redis.call('HSET', K.host(host), 'state', 'suspect')
    redis.call('SADD', K.suspects, host)
    event('host suspect', '-', host)
    state = 'suspect'
  elseif state == 'suspect' and clock - math.max(due, start) < suspect then
    redis.call('HSET', K.host(host), 'state', 'up')
    event('host up', '-', host)
    state = 'up'
  end
  if state ~= 'suspect' then
    redis.call('SREM', K.suspects, host)
  elseif due <= down_due then
    out[#out + 1] = host
  end
end
-- Of those that are late most may be down since long ago: if there are many, others are looked at each time.
local late, most = redis.call('ZCOUNT', K.hosts, '-inf', suspect_due), 500
local first, seen = late > most and clock % late or 0, {}
local all = redis.call('ZRANGEBYSCORE', K.hosts, '-inf', suspect_due, 'WITHSCORES', 'LIMIT', first, most)
for i = 1, #all, 2 do
  seen[all[i]] = true
  judge(all[i], tonumber(all[i + 1]))
end
for _, host in ipairs(redis.call('SRANDMEMBER', K.suspects, most)) do
  if not seen[host] then
    judge(host, tonumber(redis.call('ZSCORE', K.hosts, host) or 0))
  end
end
table.sort(out)
return out
