-- One event a call, naming all it moved and, of an exchange, all it claimed.
local function event(op, by, moved, claimed)
  redis.call('XADD', K.events, 'MAXLEN', '~', '10000', '*', 'op', op, 'by', by, 'moved', moved, unpack(claimed or {}))
end
