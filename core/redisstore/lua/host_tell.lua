-- File a watchdog's word on a host, for an overseer to act on. It passes when Redis is full: a
-- host may only be let back by it, and the oldest reports go.
-- ARGV    1 host, 2 failed or recovered, 3 why, 4 who says so, 5 reports that are kept, about
-- RETURN  1
-- REFUSE  -
-- MOVES   -
-- REPEAT  files it twice; acted on twice it changes nothing more
pass_when_full()
redis.call('XADD', K.reports, 'MAXLEN', '~', ARGV[5], '*',
  'host', ARGV[1], 'event', ARGV[2], 'reason', ARGV[3], 'by', ARGV[4])
return 1
