-- One event for each call, with all moves and, for an exchange, all claims.
local function event(op, by, moved, claimed)
  redis.call('XADD', K.events, 'MAXLEN', '~', '10000', '*', 'op', op, 'by', by, 'moved', moved, unpack(claimed or {}))
end
