-- Take a host off the idle lists of pools, because one of its owners is not idle any more. Others of it may be: they
-- are woken, and list it again.
local function not_idle(host, pools)
  if #never_idle(host, pools) > 0 then
    ring(K.bell(host))
  end
end
