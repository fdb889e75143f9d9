-- Add pieces to the live output of a claim. Beyond the limits its own oldest pieces are dropped,
-- then other outputs of its submitter, then of anybody; ended ones before others, the oldest first.
-- ARGV    1 request, 2 token, 3 ms to keep what is not written any more, 4 most pieces, 5 most bytes of a
--         submitter, 6 most bytes in all, then per piece: stream, offset, data
-- RETURN  1
-- REFUSE  -
-- MOVES   -
-- REPEAT  adds the pieces again: its caller does not repeat it
local id, keep, clock = ARGV[1] .. ':' .. ARGV[2], tonumber(ARGV[3]), now()
local stream, most = K.output(ARGV[1], ARGV[2]), tonumber(ARGV[5])
local function size(data)
  return #data + 128
end
local its, ended, added = R.output(redis.call('HGET', K.outputs_sizes, id)), false, 0
if its and redis.call('EXISTS', stream) == 0 then
  drop_output(id)
  its = nil
end
its = its or { bytes = 0, pieces = 0, who = select(3, spec_head(ARGV[1])) or '-' }
local bytes, pieces, who = its.bytes, its.pieces, its.who
for i = 7, #ARGV, 3 do
  redis.call('XADD', stream, '*', 's', ARGV[i], 'o', ARGV[i + 1], 'd', ARGV[i + 2])
  added, pieces = added + size(ARGV[i + 2]), pieces + 1
  ended = ended or ARGV[i] == 'end'
end
while bytes + added > most or pieces > tonumber(ARGV[4]) do
  local over = {}
  for _, piece in ipairs(redis.call('XRANGE', stream, '-', '+', 'COUNT', 8)) do
    if pieces > 1 and (bytes + added > most or pieces > tonumber(ARGV[4])) then
      over[#over + 1] = piece[1]
      added, pieces = added - size(piece[2][6]), pieces - 1
    end
  end
  if #over == 0 then
    break
  end
  redis.call('XDEL', stream, unpack(over))
end
redis.call('PEXPIRE', stream, keep)
redis.call('HSET', K.outputs_sizes, id, W.output({ bytes = bytes + added, pieces = pieces, who = who }))
-- Behind all that ended, until it ended itself.
local at = int(ended and clock or clock + keep)
redis.call('ZADD', K.outputs, at, id)
redis.call('ZADD', K.outputs_of(who), at, id)
local sum, all = 0, 0
if added ~= 0 then
  sum = redis.call('HINCRBY', K.outputs_sums, who, int(added))
  all = redis.call('HINCRBY', K.outputs_sums, '*', int(added))
end
-- Those that went by themselves still count: two for each that is new.
for _, old in ipairs(redis.call('ZRANGE', K.outputs, 0, 1)) do
  if redis.call('EXISTS', output_of(old)) == 0 then
    all = all - drop_output(old)
  end
end
local function make_room(list, over)
  for _, old in ipairs(over > 0 and redis.call('ZRANGE', list, 0, 31) or {}) do
    if over > 0 and old ~= id then
      local freed = drop_output(old)
      over, all = over - freed, all - freed
    end
  end
end
make_room(K.outputs_of(who), sum - most)
make_room(K.outputs, all - tonumber(ARGV[6]))
return 1
