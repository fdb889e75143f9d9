-- Note which pools' VMs cannot be made on the host, in place of what was noted before.
-- ARGV    1 owner, 2 epoch, 3 host, 4 the pools with the reasons as JSON, empty for none
-- RETURN  1
-- REFUSE  FENCED
-- MOVES   -
-- REPEAT  notes it again
local owner, host = ARGV[1], ARGV[3]
if redis.call('HGET', K.owner(owner), 'epoch') ~= ARGV[2] then
  return fail('FENCED', owner)
end
pass_when_full()
if ARGV[4] == '' then
  redis.call('HDEL', K.host(host), 'broken')
else
  redis.call('HSET', K.host(host), 'broken', ARGV[4])
end
return 1
