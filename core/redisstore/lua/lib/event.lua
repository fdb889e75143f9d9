-- One event a call, naming all it moved.
local function event(op, by, moved)
  redis.call('XADD', K.events, 'MAXLEN', '~', 10000, '*', 'op', op, 'by', by, 'moved', moved)
end
