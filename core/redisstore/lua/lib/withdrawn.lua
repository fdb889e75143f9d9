-- Forget a request or task that waits no more: its end stands in the result store.
local function withdrawn(key)
  forget({ key }, 'failed', now(), 'it was withdrawn')
  add_tombstones({ key })
  event('withdraw', '-', key)
end
