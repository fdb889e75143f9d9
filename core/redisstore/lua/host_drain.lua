-- Set or clear a host's drain flag. Every claim reads it, and it outlives the host's death. What is
-- assigned to a drained host is requeued.
-- ARGV    1 host, 2 the flag: 1 or 0, 3 ms until what it holds must move elsewhere; 0: never
-- RETURN  1
-- REFUSE  NOTFOUND
-- MOVES   evacuation scheduled→failed
-- REPEAT  sets the same; the deadline starts again
local host = ARGV[1]
if redis.call('EXISTS', K.host(host)) == 0 then
  return fail('NOTFOUND', host)
end
pass_when_full()
set_drain(host, ARGV[2] == '1', tonumber(ARGV[3]), now())
ring(K.bell(host))
return 1
