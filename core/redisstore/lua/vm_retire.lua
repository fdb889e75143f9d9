-- Take clean VMs off their list and make them dirty; others stay as they are.
-- ARGV    1 owner, 2 epoch, 3 host, then the VMs
-- RETURN  those taken
-- REFUSE  FENCED
-- MOVES   vm clean→dirty
-- REPEAT  those already taken are not clean any more and are skipped
local owner, host = ARGV[1], ARGV[3]
if redis.call('HGET', K.owner(owner), 'epoch') ~= ARGV[2] then
  return fail('FENCED', owner)
end
local taken = {}
for i = 4, #ARGV do
  local known = R.vm(redis.call('HGET', K.vms(host), ARGV[i]))
  if known and redis.call('LREM', K.clean(host, known.pool), 1, ARGV[i]) == 1 then
    redis.call('RPUSH', K.dirty(host), ARGV[i])
    taken[#taken + 1] = ARGV[i]
  end
end
if #taken > 0 then
  ring(K.factory_bell(host))
  event('retire', owner, table.concat(taken, ' '))
end
return taken
