-- File a watchdog's report on a host, for an overseer to act on. It is accepted when Redis is full,
-- since it may be what lets a host back; the oldest reports are dropped.
-- ARGV    1 host, 2 failed or recovered, 3 why, 4 reporter, 5 reports that are kept, about
-- RETURN  1
-- REFUSE  -
-- MOVES   -
-- REPEAT  files it twice; acting on it twice has no further effect
pass_when_full()
redis.call('XADD', K.reports, 'MAXLEN', '~', ARGV[5], '*',
  'host', ARGV[1], 'event', ARGV[2], 'reason', ARGV[3], 'by', ARGV[4])
return 1
