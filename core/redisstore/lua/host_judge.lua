-- Move hosts between up and suspect by their owners' proofs of life.
-- ARGV    1 suspect when late by ms, 2 down when late by ms, 3 when Redis began to serve, ms
-- RETURN  the hosts that are late enough to be down and are not yet
-- REFUSE  -
-- MOVES   host up→suspect, suspect→up
-- REPEAT  judges again
local clock, start = now(), tonumber(ARGV[3])
local suspects, down = {}, {}
for _, owner in ipairs(late(tonumber(ARGV[1]), start, clock)) do
  suspects[owner] = true
end
local all = redis.call('ZRANGE', K.hosts, 0, -1, 'WITHSCORES')
for i = 1, #all, 2 do
  local host, since = all[i], math.max(tonumber(all[i + 1]), start)
  local state = redis.call('HGET', K.host(host), 'state')
  local overdue = clock - since >= tonumber(ARGV[1])
  if overdue and state == 'up' and next(suspects) then
    redis.call('HSET', K.host(host), 'state', 'suspect')
    event('host suspect', '-', host)
    state = 'suspect'
  elseif not overdue and state == 'suspect' then
    redis.call('HSET', K.host(host), 'state', 'up')
    event('host up', '-', host)
  end
  if state == 'suspect' and clock - since >= tonumber(ARGV[2]) then
    down[#down + 1] = host
  end
end
return down
