-- Those of the pools of which a host has clean VMs.
local function clean_in(host, pools)
  return there(pools, function(pool)
    return K.clean(host, pool)
  end)
end
