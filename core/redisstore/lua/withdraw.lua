-- Remove a waiting request whose end is in the result store.
-- ARGV    1 key
-- RETURN  1, or 0 if it does not wait
-- REFUSE  -
-- MOVES   request queued→cancelled, queued→timed_out, queued→failed, parked→cancelled, parked→timed_out,
--         parked→failed; evacuation scheduled→failed, parked→failed
-- REPEAT  the second run returns 0
local key = ARGV[1]
if not remove_waiting(key) then
  return 0
end
drop_specs({ key })
withdrawn(key)
return 1
