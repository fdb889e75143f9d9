-- End a session of the site.
-- ARGV    1 hash of its token, 2 for how long requests in flight may still try to store it, ms
-- RETURN  1
-- REFUSE  -
-- MOVES   -
-- REPEAT  writes the same
local key = K.web_session(ARGV[1])
if redis.call('EXISTS', key) == 1 then
  pass_when_full()
  redis.call('SET', key, '', 'PX', ARGV[2])
end
return 1
