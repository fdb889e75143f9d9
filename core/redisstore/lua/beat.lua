-- Record an owner's heartbeat, and requeue retries whose pause is over. A fenced owner is refused:
-- its epoch is over.
-- ARGV    1 owner, 2 epoch, 3 ms until the next heartbeat, 4 host,
--         5 incarnation of Redis
-- RETURN  {slots held, draining, {cancelled key, who, ...}, ready}
-- REFUSE  FENCED
-- MOVES   task delayed→queued; evacuation →scheduled
-- REPEAT  recorded again
local owner, host = ARGV[1], ARGV[4]
if redis.call('HGET', K.owner(owner), 'epoch') ~= ARGV[2] then
  return fail('FENCED', owner)
end
local its = redis.call('HMGET', K.host(host), 'drain', 'incarnation')
pass_when_full()
local clock = now()
heartbeat(owner, host, clock, tonumber(ARGV[3]))
local stop = {}
if redis.call('EXISTS', K.cancels, K.later, K.tasks_later) > 0 then
  promote(clock)
  promote_tasks(clock)
  stop = cancelled(owner)
end
return { redis.call('HLEN', K.slots(owner)), its[1] == '1' and 1 or 0, stop, its[2] == ARGV[5] and 1 or 0 }
