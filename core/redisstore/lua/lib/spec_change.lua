-- Which change of its request a spec is from; 0: as it was submitted.
local function spec_change(spec)
  local head = '^{"id":"[^"]*","gen":%d+,"pool":"[^"]*","priority":"[^"]*","submitter":"[^"]*"'
  spec = spec or ''
  return string.match(spec, head .. ',"change":(%d+)') or string.match(spec, head .. ',"due":%d+,"change":(%d+)') or '0'
end
