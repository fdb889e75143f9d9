-- Make the turns of a lane of tasks and of its kind agree with their waiting tasks.
-- ARGV    1 priority, 2 kind, 3 lane
-- RETURN  1
-- REFUSE  -
-- MOVES   -
-- REPEAT  does the same
pass_when_full()
right_task_turn(ARGV[1], ARGV[2], ARGV[3])
ring(K.tasks_bell)
return 1
