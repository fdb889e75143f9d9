-- Empty slots of an owner that is not there to do it: of the one before, or of a fenced one.
-- ARGV    1 owner, 2 epoch, 3 host, 4 number of items, then they in runs: token, outcome,
--         count, key, ...
-- RETURN  how many moved
-- REFUSE  FENCED
-- MOVES   request claimed→queued, running→queued, cancelling→queued, claimed→completed,
--         running→completed, cancelling→completed, claimed→failed, running→failed,
--         cancelling→failed, running→timed_out, cancelling→timed_out, cancelling→cancelled,
--         claimed→dead, running→dead; vm claimed→dirty, creating→dirty, destroying→dirty,
--         claimed→lost, creating→lost, destroying→lost
-- REPEAT  what moved is not in its slot any more and is skipped
local owner, host = ARGV[1], ARGV[3]
if redis.call('HGET', K.owner(owner), 'epoch') ~= ARGV[2] then
  return fail('FENCED', owner)
end
local verdicts, moved = settle(owner, host, endings(5, tonumber(ARGV[4])), now(), true)
if moved ~= '' then
  event('settle', owner, moved)
end
return select(2, string.gsub(verdicts, '1', ''))
