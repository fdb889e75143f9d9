-- Record a heartbeat of an owner, and so of its host: the next one is due in beat ms.
local function heartbeat(owner, host, clock, beat)
  end_silence(clock, beat)
  redis.call('ZADD', K.owners, 'XX', clock + beat, owner)
  redis.call('ZADD', K.hosts, 'XX', 'GT', clock + beat, host)
end
