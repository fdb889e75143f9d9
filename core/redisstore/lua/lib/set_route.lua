-- Set whose requests of a pool go to one of its leased pools, by the latter's holders; nil: nobody's.
-- The pool's fields submitter:<submitter> and class:<class> have the leased pools in order of their
-- names, of which the first counts.
local function set_route(pool, leased, its)
  local goes, set, gone = {}, {}, {}
  for _, submitter in ipairs(its and words(its.submitters) or {}) do
    goes['submitter:' .. submitter] = true
  end
  if its and its.class ~= '' then
    goes['class:' .. its.class] = true
  end
  local function write(field, names)
    table.sort(names)
    set[#set + 1], set[#set + 2] = field, table.concat(names, ' ')
  end
  local all = redis.call('HGETALL', K.pool(pool))
  for i = 1, #all, 2 do
    if string.find(all[i], ':', 1, true) then
      local names, has = {}, false
      for _, name in ipairs(words(all[i + 1])) do
        if name == leased then
          has = true
        else
          names[#names + 1] = name
        end
      end
      if goes[all[i]] then
        names[#names + 1] = leased
      end
      if #names == 0 then
        gone[#gone + 1] = all[i]
      elseif has ~= (goes[all[i]] or false) then
        write(all[i], names)
      end
      goes[all[i]] = nil
    end
  end
  for field in pairs(goes) do
    write(field, { leased })
  end
  if #set > 0 then
    redis.call('HSET', K.pool(pool), unpack(set))
  end
  if #gone > 0 then
    redis.call('HDEL', K.pool(pool), unpack(gone))
  end
end
