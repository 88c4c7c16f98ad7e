-- Reads the window. Creates no hash for a workspace without one.
--
-- ARGV[3]  '1' for the operations as well
-- returns  { used, ms the clock was ahead, "operation:total operation:total" }

local w = load_window()
local ops = {}
if w.exists then
  save(w)
  if ARGV[3] == '1' then
    load_ops(w)
    for _, o in ipairs(w.ops) do
      if o.total > 0 then ops[#ops + 1] = o.name .. ':' .. int(o.total) end
    end
  end
end
return { w.used, w.ahead, table.concat(ops, ' ') }
