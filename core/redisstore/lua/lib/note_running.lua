-- Count requests of a pool that limits them as running, per submitter and priority.
local function note_running(pool, keys)
  for _, key in ipairs(keys) do
    local _, priority, submitter = spec_head(key)
    if priority then
      local whose = pool .. ':' .. priority .. ':' .. submitter
      redis.call('HSET', K.running, key, whose)
      count('running:' .. whose, 1)
    end
  end
end
