-- List owners whose proof of life is late, and those fenced but not yet emptied.
-- ARGV    1 late by ms, 2 when Redis began to serve, ms
-- RETURN  owners
-- REFUSE  -
-- MOVES   -
-- REPEAT  lists those late by then
return late(tonumber(ARGV[1]), tonumber(ARGV[2]), now())
