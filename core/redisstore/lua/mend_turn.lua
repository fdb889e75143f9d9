-- Make a submitter's turn agree with its waiting requests.
-- ARGV    1 pool, 2 line, 3 submitter
-- RETURN  1
-- REFUSE  -
-- MOVES   -
-- REPEAT  does the same
pass_when_full()
right_turn(ARGV[1], ARGV[2], ARGV[3])
wake(ARGV[1], 1, now())
return 1
