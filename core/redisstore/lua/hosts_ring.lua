-- Ring the bells of some hundreds of hosts, because something changed that concerns all of them.
-- ARGV    1 how many of the hosts were rung before
-- RETURN  how many were rung
-- REFUSE  -
-- MOVES   -
-- REPEAT  rings them again
pass_when_full()
return ring_hosts(tonumber(ARGV[1]))
