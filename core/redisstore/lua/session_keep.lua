-- Store a session of the site.
-- ARGV    1 hash of its token, 2 what it holds, 3 for how long, ms
-- RETURN  1, or 0 if the session was ended: a request in flight does not bring it back
-- REFUSE  -
-- MOVES   -
-- REPEAT  writes the same
local key = K.web_session(ARGV[1])
if redis.call('GET', key) == '' then
  return 0
end
redis.call('SET', key, ARGV[2], 'PX', ARGV[3])
return 1
