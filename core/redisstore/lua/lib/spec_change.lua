-- Which change of its request a spec is from; 0: as it was submitted.
local function spec_change(spec)
  return string.match(spec or '', '^{"id":"[^"]*","gen":%d+,"pool":"[^"]*","priority":"[^"]*","submitter":"[^"]*"'
    .. ',"change":(%d+)') or '0'
end
