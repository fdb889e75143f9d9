-- A spec as that of another pool.
local function in_pool(spec, pool)
  return (string.gsub(spec, '^({"id":"[^"]*","gen":%d+,"pool":")[^"]*', '%1' .. pool, 1))
end
