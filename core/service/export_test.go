package service

// RemoveAbandoned is one step of SweepScratch.
var RemoveAbandoned = removeAbandoned
