-- When the next thing of a rate comes, µs: as it was kept, but no further ahead than can be,
-- unless Redis' clock was set back since. This, too_early and next_arrival are the generic cell
-- rate algorithm of ITU-T I.371 and of the ATM Forum's Traffic Management 4.0, in its form of
-- virtual scheduling.
local function in_rhythm(arrival, every, burst, us)
  return math.min(arrival, us + burst * every)
end
