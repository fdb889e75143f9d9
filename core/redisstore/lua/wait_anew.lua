-- Record that requests wait again from now on: Redis had lost them, and they may have run.
-- ARGV    the keys
-- RETURN  how many of them it has
-- REFUSE  -
-- MOVES   -
-- REPEAT  they wait since the last one
local fields, stamp = {}, int(now())
for i, has in ipairs(redis.call('HMGET', K.specs, unpack(ARGV))) do
  if has then
    fields[#fields + 1] = ARGV[i]
    fields[#fields + 1] = stamp
  end
end
if #fields > 0 then
  pass_when_full()
  redis.call('HSET', K.waits, unpack(fields))
end
return #fields / 2
